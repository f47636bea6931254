import { describe, expect, test } from 'vitest'
import { checkServer } from './redis-link.ts'

const FINE = {
  redis_version: '7.0.15',
  role: 'master',
  cluster_enabled: '0',
  loading: '0',
  maxmemory: '100000000',
  maxmemory_policy: 'volatile-ttl'
}
const check = (over: Record<string, string> = {}) =>
  checkServer(
    `# Server\r\n${Object.entries({ ...FINE, ...over })
      .map(([name, value]) => `${name}:${value}`)
      .join('\r\n')}\r\n`
  )

describe('the server of a cache', () => {
  test('passes with its defaults, and when it hides its configuration', () => {
    expect(check()).toEqual({ problem: null, warnings: [] })
    expect(checkServer('').problem).toBeNull()
  })

  test.each([
    [{ redis_version: '6.0.16' }, '6.2 or later is needed'],
    [{ role: 'slave' }, 'a replica'],
    [{ cluster_enabled: '1' }, 'a cluster'],
    [{ loading: '1' }, 'loading']
  ])('cannot serve with %o', (over, why) => {
    expect(check(over).problem).toContain(why)
  })

  test.each([
    [{ maxmemory: '0' }, 'no memory limit'],
    [{ maxmemory_policy: 'noeviction' }, 'refuses writes'],
    [{ maxmemory_policy: 'allkeys-lru' }, 'may drop sessions'],
    [{ maxmemory_policy: 'volatile-random' }, 'may drop sessions']
  ])('is worth a warning with %o', (over, why) => {
    expect(check(over)).toMatchObject({ problem: null, warnings: [expect.stringContaining(why)] })
  })
})

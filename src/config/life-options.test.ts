import { expect, test } from 'vitest'
import { readConfiguration } from './read-files.ts'
import { resolveServeOptions } from './resolve.ts'

const resolve = (environment: Record<string, string>) =>
  resolveServeOptions({
    flags: {},
    environment,
    configuration: readConfiguration([]),
    defaultDataDirectory: '/data',
    workingDirectory: '/work',
    cpuCount: 3
  })

test('life_url says where to send heartbeats; only its host is ever shown', () => {
  const { options, listed } = resolve({ SCRAPDECK_LIFE_URL: 'https://me:geheim@hc.example/geheim?a=geheim' })
  expect(options.heartbeat).toEqual({ url: 'https://me:geheim@hc.example/geheim?a=geheim', everySeconds: 60 })
  expect(JSON.stringify(listed)).not.toContain('geheim')
  expect(JSON.stringify(listed)).toContain('https://hc.example/…')
  expect(resolve({}).options.heartbeat).toBeNull()
})

test('an invalid address or too short an interval is refused without being shown', () => {
  expect(() => resolve({ SCRAPDECK_LIFE_URL: 'geheim' })).toThrow('life_url is the address of a check')
  expect(() => resolve({ SCRAPDECK_LIFE_URL: 'file:///geheim' })).toThrow(/^(?!.*geheim)/s)
  expect(() => resolve({ SCRAPDECK_LIFE_EVERY: '9' })).toThrow('at least 10 seconds')
})

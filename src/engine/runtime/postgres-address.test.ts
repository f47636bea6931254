import { describe, expect, test } from 'vitest'
import { parsePostgresAddress } from './postgres-address.ts'

describe('the address of a database', () => {
  test('names server, database and namespace, and shows no password', () => {
    const address = parsePostgresAddress('postgres://ann:secret@db.example:5433/crawls?namespace=eu&sslmode=require')
    expect(address).toEqual({
      url: 'postgres://ann:secret@db.example:5433/crawls?sslmode=require',
      name: 'db.example:5433/crawls (eu)',
      schema: 'eu'
    })
  })

  test('uses the password of a file instead of its own, whatever it contains', () => {
    const { url, name } = parsePostgresAddress('postgresql://ann@db.example/crawls', 'p@ss/w:rd')
    expect(decodeURIComponent(new URL(url).password)).toBe('p@ss/w:rd')
    expect(name).toBe('db.example/crawls')
  })

  test.each([
    ['db.example', 'not a URL'],
    ['mysql://db.example/crawls', 'cannot be at mysql:'],
    ['postgres://db.example', 'names no database'],
    ['postgres://db.example/crawls?namespace=Bad-Name', 'namespace'],
    ['postgres://db.example/crawls?namespace=a"b', 'namespace']
  ])('%s is refused with an explanation', (text, words) => {
    expect(() => parsePostgresAddress(text)).toThrow(words)
  })
})

import { describe, expect, it } from 'vitest'
import { parseCacheAddress } from './cache-address.ts'

describe('the address of a cache', () => {
  it('has a port, a database and a namespace, and a password that messages never show', () => {
    expect(parseCacheAddress('redis://cache.example')).toEqual({
      host: 'cache.example',
      port: 6379,
      username: null,
      password: null,
      database: 0,
      isTls: false,
      namespace: 'scrapdeck',
      name: 'cache.example:6379'
    })
    expect(parseCacheAddress('rediss://me:p%40ss@[::1]:6380/3?namespace=staging')).toMatchObject({
      host: '::1',
      port: 6380,
      username: 'me',
      password: 'p@ss',
      database: 3,
      isTls: true,
      namespace: 'staging',
      name: '[::1]:6380/3 (staging)'
    })
    expect(parseCacheAddress('redis://:old@h', 'new').password).toBe('new')
  })

  it.each([
    ['cache', 'is not a URL'],
    ['http://cache', 'cannot be at http:'],
    ['redis://', 'names no host'],
    ['redis://h/x', 'not a number'],
    ['redis://h?namespace=A-B', 'namespace'],
    ['redis://h?ttl=3', 'no parameter "ttl"']
  ])('%s is refused with the reason', (text, why) => {
    expect(() => parseCacheAddress(text)).toThrow(why)
  })
})

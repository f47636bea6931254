import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { makeTemporaryDirectory } from '../../../testing/temporary-directory.ts'
import { LogCache, type LogCacheLimits } from './gzip-cache.ts'

/** A cache over logs in memory, which notes each unpacking. */
async function open(limits?: LogCacheLimits) {
  const temporary = await makeTemporaryDirectory()
  onTestFinished(temporary.remove)
  const directory = join(temporary.path, 'cache')
  const cache = LogCache.open(directory, limits === undefined ? {} : { limits })
  const unpacked: string[] = []
  const read = async (key: string, offset: number, limitBytes: number) => {
    const openPacked = async () => {
      unpacked.push(key)
      return Readable.from([gzipSync(`the log of ${key}`)])
    }
    const { bytes, ...place } = await cache.read(key, openPacked, { offset, limitBytes })
    return { ...place, text: Buffer.from(bytes).toString() }
  }
  return { cache, directory, unpacked, read, files: () => readdir(directory) }
}

test('a log is unpacked once, however often and at once its ranges are read', async () => {
  const { read, unpacked } = await open()
  const whole = 'the log of a'
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: -20, max: 20 }), fc.nat(20), async (offset, limitBytes) => {
      const start = offset < 0 ? Math.max(0, whole.length + offset) : Math.min(offset, whole.length)
      const expected = { offset: start, sizeBytes: whole.length, text: whole.slice(start, start + limitBytes) }
      expect(await Promise.all([read('a', offset, limitBytes), read('a', offset, limitBytes)])).toEqual([
        expected,
        expected
      ])
    })
  )
  expect(unpacked).toEqual(['a'])
})

test.each([
  ['entries', { bytes: 1_000, entries: 2 }],
  ['bytes', { bytes: 25, entries: 10 }]
])('what was not used for longest goes when there are too many %s', async (_what, limits) => {
  const { read, unpacked, files } = await open(limits)
  for (const key of ['a', 'b', 'a', 'c']) await read(key, 0, 1)
  await expect.poll(files).toHaveLength(2)
  for (const key of ['a', 'c', 'b']) await read(key, 0, 1)
  expect(unpacked).toEqual(['a', 'b', 'c', 'b'])
})

test('a log that alone is too large is still kept while it is the newest', async () => {
  const { read, unpacked } = await open({ bytes: 1, entries: 10 })
  for (const key of ['a', 'a', 'b', 'b']) await read(key, 0, 1)
  expect(unpacked).toEqual(['a', 'b'])
})

test('many logs read at once all arrive, though few of them can be kept', async () => {
  const { read } = await open({ bytes: 1_000, entries: 1 })
  const keys = Array.from({ length: 20 }, (_, index) => String(index))
  const texts = await Promise.all(keys.map(async (key) => (await read(key, 11, 5)).text))
  expect(texts).toEqual(keys)
})

test('a damaged or missing log fails and leaves nothing; the next read tries again', async () => {
  const { cache, read, files } = await open()
  const cut = gzipSync('x'.repeat(10_000)).subarray(0, 20)
  await expect(cache.read('a', async () => Readable.from([cut]), { offset: 0, limitBytes: 1 })).rejects.toThrow()
  const missing = () => Promise.reject(new Error('it is missing'))
  await expect(cache.read('a', missing, { offset: 0, limitBytes: 1 })).rejects.toThrow('it is missing')
  expect(await files()).toEqual([])
  expect((await read('a', 0, 3)).text).toBe('the')
})

test('what an earlier engine left is removed at the start', async () => {
  const { read, directory, files } = await open()
  await read('a', 0, 1)
  LogCache.open(directory)
  expect(await files()).toEqual([])
})

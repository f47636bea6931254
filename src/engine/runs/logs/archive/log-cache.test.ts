import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { makeTemporaryDirectory } from '../../../testing/temporary-directory.ts'
import { LogCache, type LogCacheLimits } from './log-cache.ts'

async function open(limits?: LogCacheLimits) {
  const temporary = await makeTemporaryDirectory()
  onTestFinished(temporary.remove)
  const directory = join(temporary.path, 'cache')
  const cache = LogCache.open(directory, limits === undefined ? {} : { limits })
  const copied: string[] = []
  const use = (key: string) =>
    cache.fileOf(key, async () => {
      copied.push(key)
      return Readable.from([Buffer.from(`the log of ${key}`)])
    })
  const read = async (key: string) => readFile((await use(key)).path, 'utf8')
  return { cache, directory, copied, use, read, files: () => readdir(directory) }
}

test('a log is copied once, however often it is read at the same time', async () => {
  const { read, copied } = await open()
  expect(await Promise.all([read('a'), read('a'), read('a')])).toEqual(Array(3).fill('the log of a'))
  expect(await read('a')).toBe('the log of a')
  expect(copied).toEqual(['a'])
})

test.each([
  ['entries', { bytes: 1_000, entries: 2 }],
  ['bytes', { bytes: 25, entries: 10 }]
])('the least recently used log is removed when there are too many %s', async (_what, limits) => {
  const { read, copied, files } = await open(limits)
  for (const key of ['a', 'b', 'a', 'c']) await read(key)
  await expect.poll(files).toHaveLength(2)
  for (const key of ['a', 'c', 'b']) await read(key)
  expect(copied).toEqual(['a', 'b', 'c', 'b'])
})

test('a log that is too large on its own is still kept while it is the newest', async () => {
  const { read, copied } = await open({ bytes: 1, entries: 10 })
  for (const key of ['a', 'a', 'b', 'b']) await read(key)
  expect(copied).toEqual(['a', 'b'])
})

test('many logs read at once are all copied, although only a few of them can be kept', async () => {
  const { use, copied, files } = await open({ bytes: 1_000, entries: 1 })
  const keys = Array.from({ length: 20 }, (_, index) => String(index))
  await Promise.all(keys.map(use))
  expect(copied).toEqual(keys)
  await expect.poll(files).toHaveLength(1)
})

test('a log that cannot be read to its end fails and leaves nothing; the next read tries again', async () => {
  const { cache, read, files } = await open()
  const cut = async () =>
    Readable.from(
      (async function* () {
        yield Buffer.from('the')
        throw new Error('the connection broke')
      })()
    )
  await expect(cache.fileOf('a', cut)).rejects.toThrow('the connection broke')
  await expect(cache.fileOf('a', () => Promise.reject(new Error('it is missing')))).rejects.toThrow('it is missing')
  expect(await files()).toEqual([])
  expect(await read('a')).toBe('the log of a')
})

test('leftovers of an earlier engine are removed at the start', async () => {
  const { read, directory, files } = await open()
  await read('a')
  LogCache.open(directory)
  expect(await files()).toEqual([])
})

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Readable } from 'node:stream'
import { gunzipSync } from 'node:zlib'
import { aJobId, anAttemptNumber } from '../../shared/testing/ids.ts'
import { openFilesystemBlobStore } from '../blobs/filesystem/filesystem-blob-store.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { makeTemporaryDirectory, type TemporaryDirectory } from '../testing/temporary-directory.ts'
import type { WantedBytes } from './byte-window.ts'
import { archiveLog, archiveName, packSmallLog, readPackedLog } from './log-archive.ts'

const NAME = archiveName(aJobId('018f'.padEnd(32, '0')), anAttemptNumber(2))
let directory: TemporaryDirectory
let blobs: BlobStore

beforeEach(async () => {
  directory = await makeTemporaryDirectory()
  blobs = await openFilesystemBlobStore(directory.path)
})
afterEach(() => directory.remove())

/** What a node gives for a log of these bytes. */
function nodeWith(log: Uint8Array, asked: WantedBytes[] = []) {
  return async (range: WantedBytes) => {
    asked.push(range)
    const offset = Math.min(range.offset, log.length)
    return { offset, sizeBytes: log.length, bytes: log.slice(offset, offset + range.limitBytes) }
  }
}

function lines(sizeBytes: number): Buffer {
  const text = Array.from({ length: Math.ceil(sizeBytes / 20) }, (_, index) => `${`line ${index}`.padEnd(19, '.')}\n`)
  return Buffer.from(text.join('')).subarray(0, sizeBytes)
}

const archived = async () => gunzipSync(await blobs.read(NAME))

describe('a log', () => {
  test.each([0, 1, 999_999, 1_000_000, 1_000_001, 3_500_000])(
    'of %i bytes is copied whole, a megabyte at a time',
    async (size) => {
      const log = lines(size)
      const asked: WantedBytes[] = []
      await archiveLog({ read: nodeWith(log, asked), blobs, name: NAME })
      expect((await archived()).equals(log)).toBe(true)
      expect(Math.max(...asked.map((range) => range.limitBytes))).toBeLessThanOrEqual(1_000_000)
    }
  )

  test('over the limit keeps both ends and says what is missing', async () => {
    const log = lines(10_000)
    await archiveLog({ read: nodeWith(log), blobs, name: NAME, maxBytes: 4000 })
    const kept = (await archived()).toString()
    const missing = '\n[Scrapdeck left out 6000 bytes here: the log exceeds the size limit]\n'
    expect(kept).toBe(`${log.subarray(0, 2000)}${missing}${log.subarray(8000)}`)
  })

  test('that is not there leaves nothing', async () => {
    await expect(archiveLog({ read: async () => null, blobs, name: NAME })).rejects.toMatchObject({
      code: 'LOG_NOT_FOUND'
    })
    expect(await blobs.list('logs/')).toEqual([])
  })

  test('that is pruned while it is copied leaves nothing', async () => {
    const whole = nodeWith(lines(3_000_000))
    const read = async (range: WantedBytes) => (range.offset > 1_500_000 ? null : whole(range))
    await expect(archiveLog({ read, blobs, name: NAME })).rejects.toMatchObject({ code: 'LOG_NOT_FOUND' })
    expect(await blobs.list('logs/')).toEqual([])
  })

  test('whose node stops answering rejects with what the node said', async () => {
    const whole = nodeWith(lines(3_000_000))
    const read = async (range: WantedBytes) => {
      if (range.offset > 1_500_000) throw new Error('the node broke off')
      return whole(range)
    }
    await expect(archiveLog({ read, blobs, name: NAME })).rejects.toThrow('the node broke off')
    expect(await blobs.has(NAME)).toBe(false)
  })

  test('that finds no room rejects with what the disk said', async () => {
    const full: BlobStore = {
      ...blobs,
      async write() {
        throw new Error('the disk is full')
      }
    }
    const archiving = archiveLog({
      read: nodeWith(lines(3_000_000)),
      blobs: full,
      name: NAME
    })
    await expect(archiving).rejects.toThrow('the disk is full')
  })

  test('is given up when asked to', async () => {
    const aborting = new AbortController()
    const archiving = archiveLog({
      read: async (_range, signal) => {
        aborting.abort()
        signal?.throwIfAborted()
        return null
      },
      blobs,
      name: NAME,
      signal: aborting.signal
    })
    await expect(archiving).rejects.toMatchObject({ name: 'AbortError' })
    expect(await blobs.has(NAME)).toBe(false)
  })
})

describe('a small log', () => {
  const inHand = (log: Uint8Array) => ({ offset: 0, sizeBytes: log.length, bytes: log })

  test.each([0, 1, 65_536])('of %i bytes is packed whole, and read in any range', async (size) => {
    const packed = await packSmallLog(inHand(lines(size)))
    const range = await readPackedLog(Readable.from([packed!]), { offset: -30, limitBytes: 20 })
    const start = Math.max(0, size - 30)
    const bytes = Uint8Array.from(lines(size).subarray(start, start + 20))
    expect(range).toEqual({ offset: start, sizeBytes: size, bytes })
  })

  test('that is not small, or not whole in hand, is not', async () => {
    expect(await packSmallLog(inHand(lines(65_537)))).toBeNull()
    expect(await packSmallLog({ ...inHand(lines(100)), offset: 1 })).toBeNull()
    expect(await packSmallLog({ ...inHand(lines(100)), sizeBytes: 101 })).toBeNull()
  })
})

describe('an archived log', () => {
  test('is read in any range, by offsets of the text itself', async () => {
    const log = lines(2_500_000)
    await archiveLog({ read: nodeWith(log), blobs, name: NAME })
    const read = async (offset: number, limitBytes: number) => {
      const range = await readPackedLog(await blobs.openRead(NAME), { offset, limitBytes })
      return { ...range, bytes: Buffer.from(range.bytes).toString() }
    }
    const part = (from: number, to: number) => ({
      offset: from,
      sizeBytes: log.length,
      bytes: log.toString('utf8', from, to)
    })
    expect(await read(0, 100)).toEqual(part(0, 100))
    expect(await read(1_234_567, 300_000)).toEqual(part(1_234_567, 1_534_567))
    expect(await read(-1000, 300_000)).toEqual(part(2_499_000, 2_500_000))
    expect(await read(-1000, 10)).toEqual(part(2_499_000, 2_499_010))
    expect(await read(-9_000_000, 10)).toEqual(part(0, 10))
    expect(await read(2_499_990, 300_000)).toEqual(part(2_499_990, 2_500_000))
    expect(await read(9_000_000, 10)).toEqual(part(2_500_000, 2_500_000))
  })

  test('that is damaged rejects instead of looking short', async () => {
    await archiveLog({ read: nodeWith(lines(100_000)), blobs, name: NAME })
    await blobs.write(NAME, (await blobs.read(NAME)).slice(0, 200))
    await expect(readPackedLog(await blobs.openRead(NAME), { offset: 0, limitBytes: 1 })).rejects.toThrow()
  })
})

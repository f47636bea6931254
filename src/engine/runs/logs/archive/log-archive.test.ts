import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { execFileSync } from 'node:child_process'
import { readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { aJobId, anAttemptNumber } from '../../../../shared/testing/ids.ts'
import { openFilesystemBlobStore } from '../../../storage/blobs/filesystem/filesystem-blob-store.ts'
import type { BlobStore } from '../../../storage/blobs/blob-store.ts'
import { systemClock } from '../../../runtime/clock.ts'
import { systemRandom } from '../../../runtime/random.ts'
import type { ArchivedLog } from '../../../model/records.ts'
import { makeTemporaryDirectory, type TemporaryDirectory } from '../../../testing/temporary-directory.ts'
import { cutBytes, type LogBytes, type WantedBytes } from '../../../runtime/byte-window.ts'
import { openLogThreads } from '../scan/log-scans.ts'
import { LogCache } from './log-cache.ts'
import { archiveName, LogArchive } from './log-archive.ts'
import { LogCopies } from './log-copies.ts'
import { spoolsIn } from './spool.ts'
import { packSmallLog } from './small-log.ts'

const JOB = aJobId('018f'.padEnd(32, '0'))
const FIRST = anAttemptNumber(1)
const NAME = archiveName(JOB, FIRST)
/** Shared by all tests, because starting a thread takes longer than most of them. */
const threads = openLogThreads(systemClock, 1)
afterAll(() => threads.close())
let directory: TemporaryDirectory
let blobs: BlobStore
let archive: LogArchive

beforeEach(async () => {
  directory = await makeTemporaryDirectory({ inMemory: true })
  blobs = await openFilesystemBlobStore(join(directory.path, 'blobs'))
  archive = openArchive()
})
afterEach(async () => {
  await directory.remove()
})

function openArchive(path = directory.path): LogArchive {
  const cache = LogCache.open(join(directory.path, 'cache'))
  return new LogArchive({ blobs, threads, cache, directory: path, random: systemRandom })
}

const nodeWith = (log: Uint8Array) => async (range: WantedBytes) => cutBytes(log, range)

function lines(sizeBytes: number): Buffer {
  const text = Array.from({ length: Math.ceil(sizeBytes / 20) }, (_, index) => `${`line ${index}`.padEnd(19, '.')}\n`)
  return Buffer.from(text.join('')).subarray(0, sizeBytes)
}

/** Copies a log into the archive and returns how it is stored. */
async function keep(log: Uint8Array): Promise<ArchivedLog> {
  const { rawBytes, packedBytes } = await archive.copy(JOB, FIRST, nodeWith(log))
  await archive.copies.remove(JOB, FIRST)
  return { packed: null, sizes: { rawBytes, storedBytes: packedBytes } }
}

const readAll = async (log: ArchivedLog, sizeBytes: number) =>
  Buffer.from((await archive.read(JOB, FIRST, log, { offset: 0, limitBytes: sizeBytes + 1 }))!.bytes)

describe('a log', () => {
  test.each([0, 1, 1_048_575, 1_048_576, 1_048_577, 3_500_000])('of %i bytes is kept whole', async (size) => {
    const log = lines(size)
    const kept = await keep(log)
    expect(kept.sizes?.rawBytes).toBe(size)
    expect((await readAll(kept, size)).equals(log)).toBe(true)
    expect(await archive.copies.list()).toEqual([])
    expect(await readdir(join(directory.path, 'drafts'))).toEqual([])
  })

  test('is read in any range, as from the file itself', async () => {
    const log = lines(2_500_000)
    const kept = await keep(log)
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: -3_000_000, max: 3_000_000 }), fc.nat(300_000), async (offset, limitBytes) => {
        const range = await archive.read(JOB, FIRST, kept, { offset, limitBytes })
        const expected = cutBytes(log, { offset, limitBytes })
        expect({ ...range, bytes: 0 }).toEqual({ ...expected, bytes: 0 })
        expect(Buffer.from(range!.bytes).equals(expected.bytes)).toBe(true)
      }),
      { numRuns: 60 }
    )
  })

  test('in the archive is a file that zstd can read', async () => {
    const zstd = findZstd()
    const log = lines(2_500_000)
    await keep(log)
    if (zstd === null) return
    const unpacked = execFileSync(zstd, ['-dc', join(directory.path, 'blobs', NAME)], { maxBuffer: 10_000_000 })
    expect(unpacked.equals(log)).toBe(true)
  })

  test('that does not exist leaves nothing', async () => {
    await expect(archive.copy(JOB, FIRST, async () => null)).rejects.toMatchObject({ code: 'LOG_NOT_FOUND' })
    expect(await blobs.list('logs/')).toEqual([])
  })

  test('whose node stops responding is continued where it broke off, even by another engine', async () => {
    const log = lines(3_000_000)
    const asked: number[] = []
    const read = async (range: WantedBytes) => {
      asked.push(range.offset)
      if (range.offset > 1_500_000 && asked.length < 5) throw new Error('the node broke off')
      return cutBytes(log, range)
    }
    await expect(archive.copy(JOB, FIRST, read)).rejects.toThrow('the node broke off')
    expect(await blobs.has(NAME)).toBe(false)
    archive = openArchive()
    asked.push(0, 0, 0, 0)
    const { rawBytes, packedBytes } = await archive.copy(JOB, FIRST, read)
    expect(asked.filter((offset) => offset === 0)).toHaveLength(5)
    const kept = { packed: null, sizes: { rawBytes, storedBytes: packedBytes } }
    expect((await readAll(kept, log.length)).equals(log)).toBe(true)
  })

  test('is kept as far as it was copied; the copy stays until its owner has recorded that', async () => {
    expect(await archive.keepCopied(JOB, FIRST, null)).toBeNull()
    for (const size of [100, 3_000_000]) {
      const log = lines(size)
      await archive.copies.advance(JOB, FIRST, nodeWith(log))
      const kept = (await archive.keepCopied(JOB, FIRST, null))!
      expect(await archive.keepCopied(JOB, FIRST, kept)).toBeNull()
      // A new engine finds both the archived log and the copy.
      archive = openArchive()
      expect((await readAll(kept, size)).equals(log)).toBe(true)
      expect(await archive.copies.list()).toEqual([{ jobId: JOB, number: FIRST }])
      const range = { offset: size - 10, limitBytes: 20 }
      expect(Buffer.from((await archive.copies.readIfAny(JOB, FIRST, range))!.bytes).equals(log.subarray(-10))).toBe(
        true
      )
      expect(await archive.copies.readIfAny(JOB, FIRST, { offset: size + 1, limitBytes: 20 })).toBeNull()
      await archive.copies.remove(JOB, FIRST)
      expect(await archive.copies.list()).toEqual([])
      expect(await archive.copies.readIfAny(JOB, FIRST, range)).toBeNull()
    }
  })

  test('that is endless is kept up to a limit, and the copy says that there is more', async () => {
    const copies = new LogCopies(spoolsIn(join(directory.path, 'few')), 1_500_000)
    const log = lines(4_000_000)
    for (const maxBytes of [1_000_000, 1_000_000]) await copies.advance(JOB, FIRST, nodeWith(log), { maxBytes })
    const progress = await copies.advance(JOB, FIRST, nodeWith(log))
    expect(progress).toEqual({ copiedBytes: 1_500_000, sizeBytes: 4_000_000 })
    const end = (await copies.read(JOB, FIRST, { offset: -20, limitBytes: 20 })).bytes
    expect(Buffer.from(end).equals(log.subarray(1_499_980, 1_500_000))).toBe(true)
  })

  test.each([0, 10, 40_000])('that a crash cut off after %i bytes stays as it was copied', async (size) => {
    const log = lines(50_000)
    await archive.copies.advance(JOB, FIRST, nodeWith(log))
    await archive.copies.advance(JOB, FIRST, nodeWith(log.subarray(0, size)))
    expect(await archive.copies.sizeBytes(JOB, FIRST)).toBe(50_000)
  })

  test('whose copy grows while it is archived is not archived with the wrong end', async () => {
    const log = lines(2 * 1_048_576 + 5_000)
    await archive.copies.advance(JOB, FIRST, nodeWith(log.subarray(0, 1_048_576 + 5_000)))
    const source = await archive.copies.fileOf(JOB, FIRST)
    // The remainder of the copy is as long as before but starts one frame later.
    await archive.copies.advance(JOB, FIRST, nodeWith(log))
    await expect(archive.seal(JOB, FIRST, source)).rejects.toMatchObject({ code: 'LOG_DAMAGED' })
    const kept = (await archive.keepCopied(JOB, FIRST, null))!
    expect((await readAll(kept, log.length)).equals(log)).toBe(true)
  })

  test('that was not copied at all, or is deleted while it is copied, leaves nothing', async () => {
    await expect(archive.copies.advance(JOB, FIRST, async () => null)).rejects.toMatchObject({ code: 'LOG_NOT_FOUND' })
    const log = lines(3_000_000)
    const removed: Promise<void>[] = []
    await archive.copies.advance(JOB, FIRST, async (range) => {
      if (range.offset > 0 && removed.length === 0) removed.push(archive.copies.remove(JOB, FIRST))
      return cutBytes(log, range)
    })
    await Promise.all(removed)
    expect([await archive.copies.list(), await archive.copies.sizeBytes(JOB, FIRST)]).toEqual([[], 0])
    // In any order of these calls, there is one copy at the end.
    const both = [nodeWith(Buffer.alloc(0)), nodeWith(log)].map((read) => archive.copies.advance(JOB, FIRST, read))
    await Promise.all([...both, archive.copies.remove(JOB, FIRST), archive.copies.advance(JOB, FIRST, nodeWith(log))])
    expect(await archive.copies.sizeBytes(JOB, FIRST)).toBe(3_000_000)
  })

  test('that was replaced under its name is copied from its beginning', async () => {
    await archive.copies.advance(JOB, FIRST, nodeWith(lines(50_000)))
    const kept = await keep(Buffer.from('the new log\n'))
    expect((await readAll(kept, 100)).toString()).toBe('the new log\n')
  })

  test('without room on the disk rejects with the error of the disk, and is not lost', async () => {
    const full = {
      ...blobs,
      async adopt() {
        throw new Error('the disk is full')
      }
    }
    const cache = LogCache.open(join(directory.path, 'cache'))
    const other = new LogArchive({ blobs: full, threads, cache, directory: directory.path, random: systemRandom })
    await expect(other.copy(JOB, FIRST, nodeWith(lines(3_000_000)))).rejects.toThrow('the disk is full')
    expect(await archive.copies.sizeBytes(JOB, FIRST)).toBe(3_000_000)
  })

  test('stops being copied on request', async () => {
    const aborting = new AbortController()
    const read = async (_range: WantedBytes, signal?: AbortSignal) => {
      aborting.abort()
      signal?.throwIfAborted()
      return null
    }
    await expect(archive.copy(JOB, FIRST, read, aborting.signal)).rejects.toMatchObject({ name: 'AbortError' })
    expect(await blobs.has(NAME)).toBe(false)
  })

  test('that is damaged rejects instead of looking short or different', async () => {
    const log = lines(2_000_000)
    const kept = await keep(log)
    const path = join(directory.path, 'blobs', NAME)
    const bytes = await readFile(path)
    for (const at of [100, bytes.length - 20, bytes.length - 3]) {
      const broken = Buffer.from(bytes)
      broken[at] = broken[at]! ^ 0xff
      await writeFile(path, broken)
      archive = openArchive()
      await expect(readAll(kept, log.length), `byte ${at}`).rejects.toMatchObject({ code: 'LOG_DAMAGED' })
    }
    await writeFile(path, bytes)
    await truncate(path, bytes.length - 1000)
    archive = openArchive()
    await expect(readAll(kept, log.length)).rejects.toMatchObject({ code: 'LOG_DAMAGED' })
  })

  test('that was deleted does not exist', async () => {
    const kept = await keep(lines(100_000))
    await archive.delete(JOB, FIRST)
    expect(await archive.read(JOB, FIRST, kept, { offset: 0, limitBytes: 1 })).toBeNull()
  })
})

describe('a small log', () => {
  const inHand = (log: Uint8Array) => ({ offset: 0, sizeBytes: log.length, bytes: log })

  test.each([0, 1, 8_193, 65_536])('of %i bytes is packed whole, and read in any range', async (size) => {
    const packed = await packSmallLog(inHand(lines(size)))
    const wanted = { offset: -30, limitBytes: 20 }
    const sizes = { rawBytes: size, storedBytes: packed!.length }
    const range = await archive.read(JOB, FIRST, { packed, sizes }, wanted)
    expect(Buffer.from(range!.bytes)).toEqual(Buffer.from(cutBytes(lines(size), wanted).bytes))
  })

  test('is not packed if it is too large or incomplete', async () => {
    expect(await packSmallLog(inHand(lines(65_537)))).toBeNull()
    expect(await packSmallLog({ ...inHand(lines(100)), offset: 1 })).toBeNull()
    expect(await packSmallLog({ ...inHand(lines(100)), sizeBytes: 101 })).toBeNull()
  })
})

describe('a node that sends wrong parts of a log', () => {
  const copy = (read: (range: WantedBytes) => LogBytes) => {
    let asked = 0
    return archive.copies.advance(JOB, FIRST, async (range) => {
      if (++asked > 100) throw new Error('It is asked for ever')
      return read(range)
    })
  }

  test('ends its copy if the log becomes shorter again and again', async () => {
    const copying = copy(({ offset }) => {
      const bytes = new Uint8Array(offset === 0 ? 1_000 : 0)
      return { offset: 0, sizeBytes: offset === 0 ? 2_000 : 1, bytes }
    })
    await expect(copying).rejects.toMatchObject({ code: 'NODE_ANSWER_INVALID' })
  })

  test('gets another try if its response starts at the wrong offset', async () => {
    const copying = copy(({ offset }) => ({ offset: offset + 1, sizeBytes: 2_000, bytes: new Uint8Array(10) }))
    await expect(copying).rejects.toMatchObject({ code: 'NODE_ANSWER_INVALID' })
  })

  test('gets no requests beyond the size that the log had at first, however it grows', async () => {
    const progress = await copy(({ offset }) => {
      const bytes = Buffer.alloc(1_000)
      return { offset, sizeBytes: offset + 3_000, bytes }
    })
    expect(progress).toEqual({ copiedBytes: 3_000, sizeBytes: 5_000 })
  })
})

function findZstd(): string | null {
  try {
    return execFileSync('which', ['zstd'], { encoding: 'utf8' }).trim()
  } catch {
    return null
  }
}

test('the next engine deletes what a crash left of a log that was being archived, and nothing else', async () => {
  const drafts = join(directory.path, 'drafts')
  await keep(lines(100_000))
  await writeFile(join(drafts, 'left'), 'half a log')
  archive = openArchive()
  const log = await keep(lines(200_000))
  expect(await readdir(drafts)).toEqual([])
  await writeFile(join(drafts, 'in progress'), 'half a log')
  await keep(lines(100_000))
  expect(await readdir(drafts)).toEqual(['in progress'])
  expect(log.sizes?.rawBytes).toBe(200_000)
})

test('logs are archived again once there is a writable directory', async () => {
  const path = join(directory.path, 'copies')
  const plain = join(directory.path, 'plain.log')
  await writeFile(plain, lines(100_000))
  // A file in place of the directory.
  await writeFile(path, '')
  archive = openArchive(path)
  const seal = () => archive.seal(JOB, FIRST, { kind: 'plain', path: plain, sizeBytes: 100_000 })
  await expect(seal()).rejects.toThrow()
  await rm(path)
  expect((await seal()).rawBytes).toBe(100_000)
})

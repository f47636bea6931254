import { randomBytes } from 'node:crypto'
import { readdir, readFile, rename, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import fc from 'fast-check'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { type EncryptionKeys, NO_KEYS, parseEncryptionKeys } from '../../../runtime/encryption-keys.ts'
import { silentLogger } from '../../../runtime/logger.ts'
import { systemClock } from '../../../runtime/clock.ts'
import { systemRandom } from '../../../runtime/random.ts'
import { makeTemporaryDirectory } from '../../../testing/temporary-directory.ts'
import type { BlobStore } from '../blob-store.ts'
import { openDirectoryBlobs } from '../directory/open-directory-blobs.ts'
import { openFilesystemBlobStore } from '../filesystem/filesystem-blob-store.ts'
import { describeBlobStore } from '../testing/conformance.ts'
import { SealedBlobStore } from './sealed-blob-store.ts'
import { FRAME_BYTES, HEADER_BYTES, planFrames, SEALED_FRAME_BYTES, TAG_BYTES } from './sealed-format.ts'

const newKey = () => randomBytes(32).toString('hex')
const keysFrom = (...lines: string[]): EncryptionKeys => parseEncryptionKeys(lines.join('\n'), 'a test')
const KEYS = keysFrom(newKey())

describeBlobStore('sealed blobs in files, as any blobs', async (directory) => {
  const open = async () => new SealedBlobStore(await openFilesystemBlobStore(join(directory, 'blobs')), KEYS)
  return { store: await open(), reopen: open }
})

describeBlobStore('sealed blobs in a shared directory, as any blobs', async (directory) => {
  const base = { clock: systemClock, random: systemRandom, logger: silentLogger }
  const path = join(directory, 'shared')
  const open = async () => {
    const { store } = await openDirectoryBlobs({ ...base, path, knownMark: null })
    return new SealedBlobStore(store, KEYS)
  }
  const store = await open()
  return { store, reopen: open }
})

describeBlobStore('sealed blobs of a store that reads only whole, as any blobs', async (directory) => {
  const open = async () => {
    const stored = await openFilesystemBlobStore(join(directory, 'blobs'))
    const nullIfThere = async (name: string) => {
      await stored.localFile(name)
      return null
    }
    const whole: BlobStore = { ...stored, openAt: nullIfThere, localFile: nullIfThere }
    return new SealedBlobStore(whole, KEYS)
  }
  return { store: await open(), reopen: open }
})

describe('encrypted blobs', () => {
  let root: string
  let stored: BlobStore
  let blobs: SealedBlobStore

  beforeEach(async () => {
    const temporary = await makeTemporaryDirectory()
    onTestFinished(temporary.remove)
    root = join(temporary.path, 'blobs')
    stored = await openFilesystemBlobStore(root)
    blobs = new SealedBlobStore(stored, KEYS)
  })

  const pathOf = (name: string) => join(root, `${name}.sealed`)
  async function expectRefused(name: string, code: string, from: BlobStore = blobs): Promise<void> {
    const local = async () => {
      const { openSealedFile } = await import('./sealed-reader.ts')
      const { openFileReader } = await import('../blob-store.ts')
      const { path, seal } = (await from.localFile(name))!
      await using file = await openSealedFile(seal!, await openFileReader(path))
      await file.read(0, await file.sizeBytes())
    }
    const ranges = async () => {
      await using reader = (await from.openAt(name))!
      await reader.read(0, await reader.sizeBytes())
    }
    for (const read of [() => from.read(name), local, ranges]) await expect(read()).rejects.toMatchObject({ code })
  }

  test('return any range of the content', async () => {
    const edges = [0, 1, FRAME_BYTES - 1, FRAME_BYTES, FRAME_BYTES + 1, 4 * FRAME_BYTES, 4 * FRAME_BYTES + 1]
    const sizes = fc.oneof(fc.constantFrom(...edges), fc.nat(6 * FRAME_BYTES))
    await fc.assert(
      fc.asyncProperty(
        sizes,
        fc.array(fc.tuple(fc.nat(6 * FRAME_BYTES), fc.nat(3 * FRAME_BYTES)), { maxLength: 8 }),
        fc.array(fc.nat(3 * FRAME_BYTES), { minLength: 1, maxLength: 6 }),
        async (size, ranges, cuts) => {
          const content = randomBytes(size)
          const pieces: Buffer[] = []
          for (let at = 0, turn = 0; at < size; turn += 1) {
            const length = 1 + cuts[turn % cuts.length]!
            pieces.push(content.subarray(at, at + length))
            at += length
          }
          expect(await blobs.write('logs/a.zst', Readable.from(pieces))).toEqual({ sizeBytes: size })
          expect(await blobs.list('logs/')).toEqual([{ name: 'logs/a.zst', sizeBytes: size }])
          expect(content.equals(await blobs.read('logs/a.zst'))).toBe(true)
          await using reader = (await blobs.openAt('logs/a.zst'))!
          for (const [offset, length] of ranges) {
            const range = await reader.read(offset, length)
            expect(content.subarray(offset, offset + length).equals(range)).toBe(true)
          }
        }
      ),
      { numRuns: 40 }
    )
  })

  test('store neither the content nor a part of it', async () => {
    await blobs.write('logs/a.zst', Buffer.from('a needle in the log'.repeat(10_000)))
    await blobs.write('logs/a.zst', Buffer.from('a needle in the log'.repeat(10_000)))
    expect(await readdir(join(root, 'logs'))).toEqual(['a.zst.sealed'])
    expect((await readFile(pathOf('logs/a.zst'))).includes('needle')).toBe(false)
  })

  test('are refused, and never returned, after one changed bit anywhere', async () => {
    const size = 2 * FRAME_BYTES + 100
    await fc.assert(
      fc.asyncProperty(fc.nat(planSize(size) - 1), fc.nat(7), async (at, bit) => {
        await blobs.write('logs/a.zst', randomBytes(size))
        const bytes = await readFile(pathOf('logs/a.zst'))
        bytes[at]! ^= 1 << bit
        await writeFile(pathOf('logs/a.zst'), bytes)
        // These bytes are the key's id, so the header now names an unknown key.
        await expectRefused('logs/a.zst', at >= 8 && at < 16 ? 'ENCRYPTION_KEY_MISSING' : 'BLOB_DAMAGED')
      }),
      { numRuns: 60 }
    )
  })

  test('are refused if a file was cut off, even at the end of a frame', async () => {
    const size = 3 * FRAME_BYTES
    const ends = [0, 1, 2].map((frames) => HEADER_BYTES + frames * SEALED_FRAME_BYTES)
    for (const end of [0, 10, ...ends, ends[1]! + 1, ends[1]! + TAG_BYTES, planSize(size) - 1]) {
      await blobs.write('logs/a.zst', randomBytes(size))
      await truncate(pathOf('logs/a.zst'), end)
      await expectRefused('logs/a.zst', 'BLOB_DAMAGED')
      await using reader = await blobs.openAt('logs/a.zst').catch(() => null)
      expect(reader).toBe(null)
    }
  })

  test('are refused if frames were swapped, repeated or left out', async () => {
    const header = [0, HEADER_BYTES] as const
    const frame = (index: number) =>
      [HEADER_BYTES + index * SEALED_FRAME_BYTES, HEADER_BYTES + (index + 1) * SEALED_FRAME_BYTES] as const
    for (const order of [
      [1, 0, 2, 3],
      [0, 2, 1, 3],
      [0, 0, 2, 3],
      [0, 1, 3],
      [1, 2, 3],
      [0, 1, 2, 3, 3]
    ]) {
      await blobs.write('logs/a.zst', randomBytes(3 * FRAME_BYTES + 100))
      const bytes = await readFile(pathOf('logs/a.zst'))
      const parts = [header, ...order.map(frame)].map(([from, to]) => bytes.subarray(from, to))
      await writeFile(pathOf('logs/a.zst'), Buffer.concat(parts))
      await expectRefused('logs/a.zst', 'BLOB_DAMAGED')
    }
  })

  test('are refused if a file with the same key has another name', async () => {
    await blobs.write('logs/a.zst', Buffer.from('of a'))
    await blobs.write('logs/b.zst', Buffer.from('of b'))
    await rename(pathOf('logs/a.zst'), pathOf('logs/b.zst'))
    await expectRefused('logs/b.zst', 'BLOB_DAMAGED')
  })

  test('can be read from before there was a key, and are then replaced by encrypted ones', async () => {
    await stored.write('eggs/a', Buffer.from('plain'))
    expect(Buffer.from(await blobs.read('eggs/a')).toString()).toBe('plain')
    expect(await buffer(await blobs.openRead('eggs/a'))).toEqual(Buffer.from('plain'))
    expect([await blobs.has('eggs/a'), await blobs.keyIdOf('eggs/a')]).toEqual([true, null])
    await blobs.write('eggs/a', Buffer.from('sealed'))
    expect(await readdir(join(root, 'eggs'))).toEqual(['a.sealed'])
    expect(await blobs.keyIdOf('eggs/a')).toBe(KEYS.newest!.id)
  })

  test('use a new key for what is written from then on, and the old one for what it encrypted', async () => {
    const [first, second] = [newKey(), newKey()]
    const before = new SealedBlobStore(stored, keysFrom(first))
    await before.write('logs/a.zst', Buffer.from('with the first key'))
    const both = new SealedBlobStore(stored, keysFrom(second, first))
    await both.write('logs/b.zst', Buffer.from('with the second key'))
    expect(Buffer.from(await both.read('logs/a.zst')).toString()).toBe('with the first key')
    const behind = new SealedBlobStore(stored, keysFrom(first, second))
    expect(Buffer.from(await behind.read('logs/b.zst')).toString()).toBe('with the second key')
  })

  test('do not undo a write or deletion during re-encryption', async () => {
    const [first, second] = [newKey(), newKey()]
    const content = randomBytes(40 * FRAME_BYTES)
    const before = new SealedBlobStore(stored, keysFrom(first))
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('write', 'delete'), fc.nat(20), async (verb, turns) => {
        await before.write('logs/a.zst', content)
        const both = new SealedBlobStore(stored, keysFrom(second, first))
        const resealing = both.reseal('logs/a.zst')
        resealing.catch(() => {})
        for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve))
        if (verb === 'write') await both.write('logs/a.zst', Buffer.from('new'))
        else await both.delete('logs/a.zst')
        await resealing.catch((error) => expect(error).toMatchObject({ code: 'NOT_FOUND' }))
        if (verb === 'delete') expect(await both.has('logs/a.zst')).toBe(false)
        else expect(Buffer.from(await both.read('logs/a.zst')).toString()).toBe('new')
      }),
      { numRuns: 30 }
    )
    await before.write('logs/b.zst', content)
    const both = new SealedBlobStore(stored, keysFrom(second, first))
    expect(await both.reseal('logs/b.zst')).toBe(true)
    expect(await both.keyIdOf('logs/b.zst')).toBe(keysFrom(second).newest!.id)
    expect(content.equals(await new SealedBlobStore(stored, keysFrom(second)).read('logs/b.zst'))).toBe(true)
  })

  test('are refused without their key, with its id, and stay in lists', async () => {
    await blobs.write('logs/a.zst', Buffer.from('sealed'))
    for (const keys of [keysFrom(newKey()), NO_KEYS]) {
      const other = new SealedBlobStore(stored, keys)
      await expectRefused('logs/a.zst', 'ENCRYPTION_KEY_MISSING', other)
      await expect(other.read('logs/a.zst')).rejects.toThrow(KEYS.newest!.id)
      expect(await other.list('logs/')).toEqual([{ name: 'logs/a.zst', sizeBytes: 6 }])
    }
  })

  test('leave no file open if a stream is abandoned before it is read', async () => {
    await blobs.write('eggs/a', randomBytes(10 * FRAME_BYTES))
    const openFiles = async () => (await readdir('/proc/self/fd').catch(() => [])).length
    const before = await openFiles()
    const streams = await Promise.all(Array.from({ length: 20 }, () => blobs.openRead('eggs/a')))
    for (const stream of streams) stream.destroy()
    await expect.poll(openFiles).toBeLessThanOrEqual(before)
  })
})

const planSize = (plainBytes: number): number => {
  const size = HEADER_BYTES + plainBytes + Math.max(1, Math.ceil(plainBytes / FRAME_BYTES)) * TAG_BYTES
  expect(planFrames(size)?.plainBytes).toBe(plainBytes)
  return size
}

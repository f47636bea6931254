import { randomUUID } from 'node:crypto'
import { createHash } from 'node:crypto'
import { closeSync, fstatSync, openSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { makeTemporaryDirectory } from '../../../testing/temporary-directory.ts'
import type { BlobStore, LocalFile } from '../blob-store.ts'
import { fileBytes } from '../sealed/sealed-reader.ts'

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const textOf = async (bytes: Promise<Uint8Array>) => Buffer.from(await bytes).toString()

function readLocal({ path, seal }: LocalFile): string {
  const descriptor = openSync(path, 'r')
  try {
    const file = fileBytes(descriptor, fstatSync(descriptor).size, seal)
    const content = Buffer.alloc(file.sizeBytes)
    return content.toString('utf8', 0, file.read(content, 0, content.length))
  } finally {
    closeSync(descriptor)
  }
}

/** `open` returns an empty store; `reopen` opens the same store as another engine. */
export function describeBlobStore(
  name: string,
  open: (directory: string) => Promise<{ store: BlobStore; reopen(): Promise<BlobStore> }>
): void {
  describe(name, () => {
    let directory: string
    let blobs: BlobStore
    let reopen: () => Promise<BlobStore>

    beforeEach(async () => {
      const temporary = await makeTemporaryDirectory()
      onTestFinished(temporary.remove)
      directory = temporary.path
      ;({ store: blobs, reopen } = await open(directory))
    })

    const draft = async (content: Uint8Array | string) => {
      const path = join(directory, `draft-${randomUUID()}`)
      await writeFile(path, content)
      return path
    }

    test('bytes come back as they were written, whole and as a stream', async () => {
      for (const content of [Buffer.from([0, 255, 10, 13, 0]), Buffer.alloc(0)]) {
        expect(await blobs.write('eggs/abc', content)).toEqual({ sizeBytes: content.length })
        expect(Buffer.from(await blobs.read('eggs/abc'))).toEqual(content)
        expect(await buffer(await blobs.openRead('eggs/abc'))).toEqual(content)
        expect(await blobs.has('eggs/abc')).toBe(true)
      }
    })

    test.each([1_000_000, 8 * 1024 * 1024, 20_000_001])('a stream of %i bytes is written in order', async (size) => {
      const content = Buffer.alloc(size)
      for (let at = 0; at < size; at += 997) content[at] = at % 251
      const pieces = Array.from({ length: 20 }, (_, index) =>
        content.subarray(Math.floor((size * index) / 20), Math.floor((size * (index + 1)) / 20))
      )
      expect(await blobs.write('logs/big.zst', Readable.from(pieces))).toEqual({ sizeBytes: size })
      for (const store of [blobs, await reopen()])
        expect(sha256(await store.read('logs/big.zst'))).toBe(sha256(content))
    })

    test('a stream that breaks off leaves nothing, and keeps the old content', async () => {
      await blobs.write('logs/a.gz', Buffer.from('old'))
      async function* broken(sizeBytes: number) {
        yield Buffer.alloc(sizeBytes)
        throw new Error('connection lost')
      }
      for (const size of [10, 9_000_000]) {
        await expect(blobs.write('logs/a.gz', Readable.from(broken(size)))).rejects.toThrow('connection lost')
        await expect(blobs.write('logs/b.gz', Readable.from(broken(size)))).rejects.toThrow('connection lost')
      }
      expect(await textOf(blobs.read('logs/a.gz'))).toBe('old')
      expect(await blobs.list('logs/')).toEqual([{ name: 'logs/a.gz', sizeBytes: 3 }])
    })

    test('a blob has its name only once it is complete', async () => {
      let whileWriting: unknown
      async function* watched() {
        yield Buffer.from('first half, ')
        whileWriting = [await blobs.has('logs/a.gz'), await blobs.list('logs/')]
        yield Buffer.from('second half')
      }
      await blobs.write('logs/a.gz', Readable.from(watched()))
      expect(whileWriting).toEqual([false, []])
      expect(await blobs.list('logs/')).toEqual([{ name: 'logs/a.gz', sizeBytes: 23 }])
    })

    test('a complete file is moved in; another file replaces it', async () => {
      for (const content of ['whole', 'another', 'x'.repeat(9_000_000)]) {
        const path = await draft(content)
        await blobs.adopt('logs/a.zst', path)
        await expect(readFile(path)).rejects.toMatchObject({ code: 'ENOENT' })
        expect(await textOf(blobs.read('logs/a.zst'))).toBe(content)
        const local = await blobs.localFile('logs/a.zst')
        if (local !== null) expect(readLocal(local)).toBe(content)
        expect(await textOf((await reopen()).read('logs/a.zst'))).toBe(content)
      }
      await expect(blobs.adopt('logs/../x', await draft(''))).rejects.toMatchObject({ code: 'BAD_INPUT' })
    })

    test('a blob that one engine replaced is not read in its old form by another', async () => {
      const other = await reopen()
      await blobs.write('logs/a.zst', Buffer.from('short'))
      expect(await textOf(other.read('logs/a.zst'))).toBe('short')
      await blobs.write('logs/a.zst', Buffer.from('longer now'))
      const isNew = async () => (await textOf(other.read('logs/a.zst'))) === 'longer now'
      await expect.poll(isNew, { timeout: 10_000, interval: 500 }).toBe(true)
    })

    test.each([50_000, 9_000_000])('ranges of %i bytes are read as from a file', async (size) => {
      const content = Buffer.alloc(size)
      for (let at = 0; at < size; at += 101) content[at] = at % 251
      await blobs.adopt('logs/a.zst', await draft(content))
      for (const store of [blobs, await reopen()]) {
        const reader = await store.openAt('logs/a.zst')
        if (reader === null) return
        await using _ = reader
        expect(await reader.sizeBytes()).toBe(size)
        for (const [offset, length] of [
          [0, 1],
          [0, size],
          [size - 10, 100],
          [size, 10],
          [12_345, 20_000],
          [5, 0]
        ] as const) {
          const range = Buffer.from(await reader.read(offset, length))
          expect([offset, range.equals(content.subarray(offset, offset + length))]).toEqual([offset, true])
        }
      }
    })

    test('two concurrent writers of one name leave one complete version', async () => {
      const contents = ['a', 'b'].map((letter) => letter.repeat(200_000))
      const stores = [blobs, await reopen()]
      await Promise.all(contents.map((content, index) => stores[index]!.write('eggs/x', Buffer.from(content))))
      expect(contents).toContain(await textOf(blobs.read('eggs/x')))
      expect(await blobs.list('eggs/')).toEqual([{ name: 'eggs/x', sizeBytes: 200_000 }])
    })

    test('several writers can write the same egg at once, and again', async () => {
      const egg = Buffer.from('an egg')
      const name = `eggs/${sha256(egg)}`
      const stores = [blobs, await reopen(), await reopen()]
      await Promise.all(stores.map((store) => store.write(name, egg)))
      await blobs.write(name, egg)
      expect(await blobs.list('eggs/')).toEqual([{ name, sizeBytes: 6 }])
      expect(await textOf((await reopen()).read(name))).toBe('an egg')
    })

    test('a missing blob is NOT_FOUND, and deleting it is not an error', async () => {
      for (const read of ['read', 'openRead', 'openAt', 'localFile'] as const)
        await expect(blobs[read]('eggs/none')).rejects.toMatchObject({ code: 'NOT_FOUND' })
      expect(await blobs.has('eggs/none')).toBe(false)
      await blobs.delete('eggs/none')
      expect(await blobs.deleteUnused('eggs/none')).toBe(true)
      expect(await blobs.list('eggs/')).toEqual([])
    })

    test('a deleted blob is gone, and one that is being read is read to its end', async () => {
      await blobs.write('eggs/x', Buffer.alloc(100_000))
      const stream = await blobs.openRead('eggs/x')
      await blobs.delete('eggs/x')
      expect((await buffer(stream)).length).toBe(100_000)
      expect(await blobs.has('eggs/x')).toBe(false)
      await expect(blobs.read('eggs/x')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    })

    test('a list has all names with the prefix, in order', async () => {
      for (const blob of ['logs/b-2.gz', 'logs/a-1.gz', 'logs/b-1.gz', 'eggs/b-1'])
        await blobs.write(blob, Buffer.from(blob))
      expect(await blobs.list('logs/b-')).toEqual([
        { name: 'logs/b-1.gz', sizeBytes: 11 },
        { name: 'logs/b-2.gz', sizeBytes: 11 }
      ])
    })

    test.each([
      ...['', 'eggs', 'eggs/', '/eggs/x', '../x', 'eggs/../x', 'eggs/..', 'eggs/.', 'eggs/.draft-1', 'eggs/a/b'],
      ...['eggs\\x', 'eggs/a\\b', 'eggs/a\0', 'eggs/a b', 'eggs/a\n', 'Eggs/x', `eggs/${'a'.repeat(201)}`]
    ])('the name %j is refused by every method', async (refused) => {
      const verbs = [
        () => blobs.write(refused, Buffer.from('x')),
        () => blobs.read(refused),
        () => blobs.openRead(refused),
        () => blobs.openAt(refused),
        () => blobs.localFile(refused),
        () => blobs.has(refused),
        () => blobs.delete(refused),
        () => blobs.deleteUnused(refused)
      ]
      for (const verb of verbs) await expect((async () => verb())()).rejects.toMatchObject({ code: 'BAD_INPUT' })
    })

    test.each(['', '..', '../', '/', 'eggs/../', 'eggs/a/'])('the prefix %j is refused', async (prefix) => {
      await expect(blobs.list(prefix)).rejects.toMatchObject({ code: 'BAD_INPUT' })
    })
  })
}

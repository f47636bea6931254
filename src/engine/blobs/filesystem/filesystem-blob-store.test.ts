import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'
import type { BlobStore } from '../blob-store.ts'
import { openFilesystemBlobStore } from './filesystem-blob-store.ts'

describe('blobs in files', () => {
  let directory: string
  let root: string
  let blobs: BlobStore

  beforeEach(async () => {
    const temporary = await makeTemporaryDirectory()
    onTestFinished(temporary.remove)
    directory = temporary.path
    root = join(directory, 'blobs')
    blobs = await openFilesystemBlobStore(root)
  })

  test('bytes come back as they were written, whole and as a stream', async () => {
    const content = Buffer.from([0, 255, 10, 13, 0])
    expect(await blobs.write('eggs/abc', content)).toEqual({ sizeBytes: 5 })
    expect(Buffer.from(await blobs.read('eggs/abc'))).toEqual(content)
    expect(await buffer(await blobs.openRead('eggs/abc'))).toEqual(content)
    expect(await blobs.has('eggs/abc')).toBe(true)
  })

  test('a stream of many pieces is written in order', async () => {
    const pieces = Array.from({ length: 100 }, (_, index) => Buffer.alloc(10_000, index))
    const { sizeBytes } = await blobs.write('logs/big.gz', Readable.from(pieces))
    const hash = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
    expect(sizeBytes).toBe(1_000_000)
    expect(hash(await blobs.read('logs/big.gz'))).toBe(hash(Buffer.concat(pieces)))
  })

  test('a stream that breaks off leaves nothing, and the old content in its place', async () => {
    await blobs.write('logs/a.gz', Buffer.from('old'))
    async function* broken() {
      yield Buffer.from('new, but')
      throw new Error('connection lost')
    }
    await expect(blobs.write('logs/a.gz', Readable.from(broken()))).rejects.toThrow('connection lost')
    await expect(blobs.write('logs/b.gz', Readable.from(broken()))).rejects.toThrow('connection lost')
    expect(Buffer.from(await blobs.read('logs/a.gz')).toString()).toBe('old')
    expect(await readdir(join(root, 'logs'))).toEqual(['a.gz'])
  })

  test('a blob has its name only once it is whole', async () => {
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

  test('a complete file is moved in, and is a file here', async () => {
    const path = join(directory, 'draft')
    await writeFile(path, 'whole')
    await blobs.adopt('logs/a.zst', path)
    expect(Buffer.from(await blobs.read('logs/a.zst')).toString()).toBe('whole')
    expect(await readFile((await blobs.localPath('logs/a.zst'))!, 'utf8')).toBe('whole')
    expect(await readdir(directory)).not.toContain('draft')
    await expect(blobs.localPath('logs/b.zst')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(blobs.adopt('logs/../x', path)).rejects.toMatchObject({ code: 'BAD_INPUT' })
  })

  test('two who write one name leave one of the two, whole', async () => {
    const contents = ['a', 'b'].map((letter) => letter.repeat(200_000))
    await Promise.all(contents.map((content) => blobs.write('eggs/x', Buffer.from(content))))
    expect(contents).toContain(Buffer.from(await blobs.read('eggs/x')).toString())
  })

  test('what is not there is NOT_FOUND, and deleting it is fine', async () => {
    await expect(blobs.read('eggs/none')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(blobs.openRead('eggs/none')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(await blobs.has('eggs/none')).toBe(false)
    await blobs.delete('eggs/none')
    expect(await blobs.list('eggs/')).toEqual([])
  })

  test('a deleted blob is gone', async () => {
    await blobs.write('eggs/x', Buffer.from('x'))
    await blobs.delete('eggs/x')
    expect(await blobs.has('eggs/x')).toBe(false)
  })

  test('a list holds what begins with the prefix, in order', async () => {
    for (const name of ['logs/b-2.gz', 'logs/a-1.gz', 'logs/b-1.gz', 'eggs/b-1'])
      await blobs.write(name, Buffer.from(name))
    expect(await blobs.list('logs/b-')).toEqual([
      { name: 'logs/b-1.gz', sizeBytes: 11 },
      { name: 'logs/b-2.gz', sizeBytes: 11 }
    ])
  })

  test.each([
    '',
    'eggs',
    'eggs/',
    '/eggs/x',
    '../x',
    'eggs/../x',
    'eggs/..',
    'eggs/.',
    'eggs/.draft-1',
    'eggs/a/b',
    'eggs\\x',
    'eggs/a\\b',
    'eggs/a\0',
    'eggs/a b',
    'eggs/a\n',
    'Eggs/x',
    `eggs/${'a'.repeat(201)}`
  ])('the name %j is refused by every verb', async (name) => {
    const verbs = [
      () => blobs.write(name, Buffer.from('x')),
      () => blobs.read(name),
      () => blobs.openRead(name),
      () => blobs.has(name),
      () => blobs.delete(name)
    ]
    for (const verb of verbs) await expect(verb()).rejects.toMatchObject({ code: 'BAD_INPUT' })
  })

  test.each(['', '..', '../', '/', 'eggs/../', 'eggs/a/'])('the prefix %j is refused', async (prefix) => {
    await expect(blobs.list(prefix)).rejects.toMatchObject({ code: 'BAD_INPUT' })
  })

  test('what a crash left half written is swept away at the next start, and only that', async () => {
    await blobs.write('eggs/x', Buffer.from('x'))
    await writeFile(join(root, 'eggs', '.draft-dead'), 'half')
    await mkdir(join(directory, 'outside'))
    await writeFile(join(directory, 'outside', '.draft-foreign'), 'not ours')
    await symlink(join(directory, 'outside'), join(root, 'logs'))
    await openFilesystemBlobStore(root)
    expect(await readdir(join(root, 'eggs'))).toEqual(['x'])
    expect(await readdir(join(directory, 'outside'))).toEqual(['.draft-foreign'])
  })

  test.skipIf(process.platform === 'win32')('files and folders are for their owner alone', async () => {
    await blobs.write('eggs/x', Buffer.from('x'))
    const modes = await Promise.all(
      ['', 'eggs', 'eggs/x'].map(async (path) => (await stat(join(root, path))).mode & 0o077)
    )
    expect(modes).toEqual([0, 0, 0])
  })

  test('a directory that cannot be made is told in words', async () => {
    await writeFile(join(directory, 'file'), '')
    await expect(openFilesystemBlobStore(join(directory, 'file', 'blobs'))).rejects.toMatchObject({
      code: 'DATA_DIRECTORY_UNUSABLE'
    })
  })
})

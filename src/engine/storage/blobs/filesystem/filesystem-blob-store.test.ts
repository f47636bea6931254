import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { makeTemporaryDirectory } from '../../../testing/temporary-directory.ts'
import type { BlobStore } from '../blob-store.ts'
import { describeBlobStore } from '../testing/conformance.ts'
import { openFilesystemBlobStore } from './filesystem-blob-store.ts'

describeBlobStore('blobs in files, as any blobs', async (directory) => {
  const open = () => openFilesystemBlobStore(join(directory, 'blobs'))
  return { store: await open(), reopen: open }
})

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

  test('a stream that breaks off leaves nothing, and keeps the old content', async () => {
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

  test('a complete file is moved in, and is a local file here', async () => {
    const path = join(directory, 'draft')
    await writeFile(path, 'whole')
    await blobs.adopt('logs/a.zst', path)
    expect(Buffer.from(await blobs.read('logs/a.zst')).toString()).toBe('whole')
    const local = await blobs.localFile('logs/a.zst')
    expect(await readFile(local!.path, 'utf8')).toBe('whole')
    expect(await readdir(directory)).not.toContain('draft')
    await expect(blobs.localFile('logs/b.zst')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(blobs.adopt('logs/../x', path)).rejects.toMatchObject({ code: 'BAD_INPUT' })
  })

  test('the next start deletes what a crash left half written, and only that', async () => {
    await blobs.write('eggs/x', Buffer.from('x'))
    await writeFile(join(root, 'eggs', '.draft-dead'), 'half')
    await mkdir(join(directory, 'outside'))
    await writeFile(join(directory, 'outside', '.draft-foreign'), 'not ours')
    await symlink(join(directory, 'outside'), join(root, 'logs'))
    await openFilesystemBlobStore(root)
    expect(await readdir(join(root, 'eggs'))).toEqual(['x'])
    expect(await readdir(join(directory, 'outside'))).toEqual(['.draft-foreign'])
  })

  test.skipIf(process.platform === 'win32')('files and folders are for their owner only', async () => {
    await blobs.write('eggs/x', Buffer.from('x'))
    const modes = await Promise.all(
      ['', 'eggs', 'eggs/x'].map(async (path) => (await stat(join(root, path))).mode & 0o077)
    )
    expect(modes).toEqual([0, 0, 0])
  })

  test('a directory that cannot be created is reported with an explanation', async () => {
    await writeFile(join(directory, 'file'), '')
    await expect(openFilesystemBlobStore(join(directory, 'file', 'blobs'))).rejects.toMatchObject({
      code: 'DATA_DIRECTORY_UNUSABLE'
    })
  })
})

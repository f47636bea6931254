import { randomBytes } from 'node:crypto'
import { createReadStream, type Dirent } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { ScrapdeckError } from '../../../../shared/errors.ts'
import { sentence } from '../../../../shared/texts/errors/storage.ts'
import { BLOB_NAME, BLOB_PREFIX, type BlobStore, openFileReader } from '../blob-store.ts'

/** A blob's name cannot start with a dot, so drafts are never listed or read as blobs. */
export const DRAFT = '.draft-'

export interface DirectoryRules {
  explain<T>(path: string, work: () => Promise<T>): Promise<T>
  makeFolder(folder: string): Promise<void>
  deleteUnused(path: string): Promise<boolean>
}

/** Creates the directory, and removes drafts that a crash left behind. Rejects with DATA_DIRECTORY_UNUSABLE. */
export async function openFilesystemBlobStore(root: string): Promise<BlobStore> {
  await explain(root, async () => {
    await mkdir(root, { recursive: true, mode: 0o700 })
    await sweepDrafts(root)
  })
  return blobsInDirectory(root, {
    explain,
    makeFolder: async (folder) => void (await mkdir(folder, { recursive: true, mode: 0o700 })),
    async deleteUnused(path) {
      await rm(path, { force: true })
      return true
    }
  })
}

/** The blobs of a private or shared directory. Each is written to a draft, which is renamed when it is complete. */
export function blobsInDirectory(root: string, { explain, makeFolder, deleteUnused }: DirectoryRules): BlobStore {
  const place = { root, makeFolder, syncFolder: shareSyncs(syncFolderNow) }

  function pathOf(name: string): string {
    if (!BLOB_NAME.test(name)) throw new ScrapdeckError('BAD_INPUT', sentence('storage.blob_name_invalid', { name }))
    return join(root, name)
  }

  return {
    async write(name, content) {
      const path = pathOf(name)
      return explain(path, () => writeWhole(place, path, content))
    },

    async read(name) {
      const path = pathOf(name)
      return orNotFound(name, () => readFile(path))
    },

    async openRead(name) {
      const path = pathOf(name)
      // Open the file here, so that a missing blob fails now and not in the middle of a response.
      const file = await orNotFound(name, () => open(path))
      return createReadStream('', { fd: file, autoClose: true })
    },

    async openAt(name) {
      const path = pathOf(name)
      return orNotFound(name, () => openFileReader(path))
    },

    async adopt(name, source) {
      const path = pathOf(name)
      await explain(path, () => moveIn(place, path, source))
    },

    async localFile(name) {
      const path = pathOf(name)
      await orNotFound(name, () => stat(path))
      return { path, seal: null }
    },

    async has(name) {
      const path = pathOf(name)
      return (await sizeOf(path)) !== null
    },

    async delete(name) {
      await rm(pathOf(name), { force: true })
    },

    async deleteUnused(name) {
      return deleteUnused(pathOf(name))
    },

    async list(prefix) {
      if (!BLOB_PREFIX.test(prefix)) {
        throw new ScrapdeckError('BAD_INPUT', sentence('storage.blob_prefix_invalid', { prefix }))
      }
      const folder = prefix.slice(0, prefix.indexOf('/') + 1)
      const names = (await filesIn(join(root, folder)))
        .map((file) => folder + file.name)
        .filter((name) => name.startsWith(prefix) && BLOB_NAME.test(name))
        .sort()
      const sizes = await Promise.all(names.map(async (name) => ({ name, sizeBytes: await sizeOf(join(root, name)) })))
      return sizes.flatMap(({ name, sizeBytes }) => (sizeBytes === null ? [] : [{ name, sizeBytes }]))
    }
  }
}

interface Place extends Pick<DirectoryRules, 'makeFolder'> {
  root: string
  syncFolder: (path: string) => Promise<void>
}

/** Writes a draft, syncs it, renames it, and syncs the folder, so the name exists only once every byte is on disk. */
async function writeWhole(place: Place, path: string, content: Uint8Array | Readable): Promise<{ sizeBytes: number }> {
  const folder = dirname(path)
  const draft = join(folder, DRAFT + randomBytes(8).toString('hex'))
  try {
    const file = await openDraft(place, draft)
    const sizeBytes = await writeDraft(file, content)
    await rename(draft, path)
    await place.syncFolder(folder)
    return { sizeBytes }
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

async function moveIn(place: Place, path: string, source: string): Promise<void> {
  // Sync the file here and not in the caller, because no other blob store needs this. The disk combines simultaneous
  // syncs.
  await syncFile(source)
  try {
    await rename(source, path).catch(async (error: unknown) => {
      if (!isMissing(error)) throw error
      await addFolder(place, dirname(path))
      await rename(source, path)
    })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    await writeWhole(place, path, createReadStream(source))
    await rm(source, { force: true })
  }
  await place.syncFolder(dirname(path))
}

/** Creates the folder only after a failure, because checking every time would cost as much as writing a small log. */
async function openDraft(place: Place, draft: string): Promise<FileHandle> {
  const openIt = () => open(draft, 'wx', 0o600)
  try {
    return await openIt()
  } catch (error) {
    if (!isMissing(error)) throw error
    await addFolder(place, dirname(draft))
    return openIt()
  }
}

async function addFolder({ root, makeFolder }: Place, folder: string): Promise<void> {
  await makeFolder(folder)
  await syncFolderNow(root)
}

async function writeDraft(file: FileHandle, content: Uint8Array | Readable): Promise<number> {
  try {
    if (content instanceof Readable) await writeStream(file, content)
    else await file.writeFile(content)
    await file.sync()
    return content instanceof Readable ? (await file.stat()).size : content.length
  } finally {
    await file.close()
  }
}

async function writeStream(file: FileHandle, content: Readable): Promise<void> {
  for await (const chunk of content) await file.writeFile(chunk)
}

/** Callers that arrive during a sync share the next one, because the current one may have missed their renames. */
function shareSyncs(syncNow: (path: string) => Promise<void>): (path: string) => Promise<void> {
  const running = new Map<string, Promise<void>>()
  const next = new Map<string, Promise<void>>()
  const begin = (path: string): Promise<void> => {
    const sync = syncNow(path).finally(() => running.delete(path))
    running.set(path, sync)
    return sync
  }
  return (path) => {
    const now = running.get(path)
    if (now === undefined) return begin(path)
    let shared = next.get(path)
    if (shared === undefined) {
      const after = () => {
        next.delete(path)
        return begin(path)
      }
      next.set(path, (shared = now.then(after, after)))
    }
    return shared
  }
}

async function syncFile(path: string): Promise<void> {
  // Windows syncs only files that are open for writing.
  await using file = await open(path, 'r+')
  await file.sync()
}

async function syncFolderNow(path: string): Promise<void> {
  // Windows cannot open folders. Its file system keeps renames in order without a sync.
  if (process.platform === 'win32') return
  await using folder = await open(path)
  await folder.sync().catch((error: unknown) => {
    // Some network file systems do not support syncing a folder.
    if (!['EINVAL', 'ENOTSUP', 'EOPNOTSUPP'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  })
}

async function sweepDrafts(root: string): Promise<void> {
  for (const draft of await listDrafts(root)) await rm(draft, { force: true })
}

export async function listDrafts(root: string): Promise<string[]> {
  const drafts: string[] = []
  for (const folder of await readdir(root, { withFileTypes: true })) {
    if (!folder.isDirectory()) continue
    for (const file of await filesIn(join(root, folder.name)))
      if (file.name.startsWith(DRAFT)) drafts.push(join(root, folder.name, file.name))
  }
  return drafts
}

async function filesIn(folder: string): Promise<Dirent[]> {
  try {
    return (await readdir(folder, { withFileTypes: true })).filter((file) => file.isFile())
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

async function sizeOf(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

async function orNotFound<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isMissing(error)) throw error
    throw new ScrapdeckError('NOT_FOUND', sentence('storage.no_blob', { name }), { cause: error })
  }
}

export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}

async function explain<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? ''
    const problem = PROBLEMS[code]
    if (problem === undefined) throw error
    throw new ScrapdeckError('DATA_DIRECTORY_UNUSABLE', sentence('storage.file_not_written', { path, problem }), {
      cause: error
    })
  }
}

const PROBLEMS: Record<string, string> = {
  ENOSPC: 'the disk is full. Free some space.',
  EDQUOT: 'the disk quota is used up. Free some space.',
  EFBIG: 'the file is larger than this system allows.',
  EACCES: 'permission denied. Give the user that runs Scrapdeck write permission there.',
  EPERM: 'permission denied. Give the user that runs Scrapdeck write permission there.',
  EROFS: 'the file system is read-only. Choose another data directory.',
  ENOTDIR: 'a part of the path is not a directory. Choose another data directory.',
  EEXIST: 'a part of the path is not a directory. Choose another data directory.'
}

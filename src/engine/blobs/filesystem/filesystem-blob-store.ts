import { randomBytes } from 'node:crypto'
import { createReadStream, type Dirent } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { BLOB_NAME, BLOB_PREFIX, type BlobStore } from '../blob-store.ts'
import { openFileReader } from '../file-reader.ts'

/** Drafts start with a dot, which names must not: they are never listed or read as blobs. */
const DRAFT = '.draft-'

/**
 * Stores blobs as files in a directory, which is created if missing. Drafts left by a crash are removed at the start.
 * Rejects with DATA_DIRECTORY_UNUSABLE if the directory cannot be used.
 */
export async function openFilesystemBlobStore(root: string): Promise<BlobStore> {
  await explain(root, async () => {
    await mkdir(root, { recursive: true, mode: 0o700 })
    await sweepDrafts(root)
  })
  const syncFolder = shareSyncs(syncFolderNow)

  function pathOf(name: string): string {
    if (!BLOB_NAME.test(name)) throw new ScrapdeckError('BAD_INPUT', `${JSON.stringify(name)} is not a valid blob name`)
    return join(root, name)
  }

  return {
    async write(name, content) {
      const path = pathOf(name)
      return explain(path, () => writeWhole(root, path, content, syncFolder))
    },

    async read(name) {
      const path = pathOf(name)
      return orNotFound(name, () => readFile(path))
    },

    async openRead(name) {
      const path = pathOf(name)
      // Opened here, not by the stream, so that a missing blob fails now and not in the middle of a response.
      const file = await orNotFound(name, () => open(path))
      return createReadStream('', { fd: file, autoClose: true })
    },

    async openAt(name) {
      const path = pathOf(name)
      return orNotFound(name, () => openFileReader(path))
    },

    async adopt(name, source) {
      const path = pathOf(name)
      await explain(path, () => moveIn(root, path, source, syncFolder))
    },

    async localPath(name) {
      const path = pathOf(name)
      await orNotFound(name, () => stat(path))
      return path
    },

    async has(name) {
      const path = pathOf(name)
      return (await sizeOf(path)) !== null
    },

    async delete(name) {
      await rm(pathOf(name), { force: true })
    },

    async deleteUnused(name) {
      // The directory is one engine's alone: nobody else is about to refer to a blob.
      await rm(pathOf(name), { force: true })
      return true
    },

    async list(prefix) {
      if (!BLOB_PREFIX.test(prefix)) {
        throw new ScrapdeckError('BAD_INPUT', `${JSON.stringify(prefix)} is not a valid blob name prefix`)
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

/** Draft, fsync, rename, fsync of the folder: the name exists only once every byte is on disk. */
async function writeWhole(
  root: string,
  path: string,
  content: Uint8Array | Readable,
  syncFolder: (path: string) => Promise<void>
): Promise<{ sizeBytes: number }> {
  const folder = dirname(path)
  const draft = join(folder, DRAFT + randomBytes(8).toString('hex'))
  try {
    const file = await openDraft(root, draft)
    const sizeBytes = await writeDraft(file, content)
    await rename(draft, path)
    await syncFolder(folder)
    return { sizeBytes }
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

/** A rename if both are on one file system, which is the rule; otherwise a copy. */
async function moveIn(
  root: string,
  path: string,
  source: string,
  syncFolder: (path: string) => Promise<void>
): Promise<void> {
  // Here and not where it is written: several syncs at once are one for the disk, and other stores need none.
  await syncFile(source)
  try {
    await rename(source, path).catch(async (error: unknown) => {
      if (!isMissing(error)) throw error
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      await syncFolderNow(root)
      await rename(source, path)
    })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    await writeWhole(root, path, createReadStream(source), syncFolder)
    await rm(source, { force: true })
  }
  await syncFolder(dirname(path))
}

/** Creates the folder only on failure: checking each time would cost as much as writing a small log. */
async function openDraft(root: string, draft: string): Promise<FileHandle> {
  const openIt = () => open(draft, 'wx', 0o600)
  try {
    return await openIt()
  } catch (error) {
    if (!isMissing(error)) throw error
    await mkdir(dirname(draft), { recursive: true, mode: 0o700 })
    await syncFolderNow(root)
    return openIt()
  }
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

/** Callers that arrive during a sync share the next one: their renames may be too late for the current one. */
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
  // Windows syncs only what is open for writing.
  await using file = await open(path, 'r+')
  await file.sync()
}

async function syncFolderNow(path: string): Promise<void> {
  // Windows cannot open folders, and its file system keeps renames in order without this.
  if (process.platform === 'win32') return
  await using folder = await open(path)
  await folder.sync()
}

async function sweepDrafts(root: string): Promise<void> {
  for (const folder of await readdir(root, { withFileTypes: true })) {
    if (!folder.isDirectory()) continue
    for (const file of await filesIn(join(root, folder.name))) {
      if (file.name.startsWith(DRAFT)) await rm(join(root, folder.name, file.name), { force: true })
    }
  }
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
    throw new ScrapdeckError('NOT_FOUND', `There is no file ${name} in the blob store`, { cause: error })
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}

/** Turns disk errors into messages for the operator; others (such as a broken stream) pass unchanged. */
async function explain<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? ''
    const problem = PROBLEMS[code]
    if (problem === undefined) throw error
    throw new ScrapdeckError('DATA_DIRECTORY_UNUSABLE', `${path} cannot be written: ${problem}`, { cause: error })
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

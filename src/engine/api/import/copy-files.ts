import { constants, copyFile, lstat, mkdir, readdir, rename, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** `path` is relative to the directory. */
export interface FoundFile {
  path: string
  sizeBytes: number
}

/** Returns no files if the directory does not exist. Does not follow links. */
export async function listFiles(directory: string): Promise<FoundFile[]> {
  const found: FoundFile[] = []
  const walk = async (prefix: string): Promise<void> => {
    for (const entry of await readdir(join(directory, prefix), { withFileTypes: true })) {
      const path = join(prefix, entry.name)
      if (entry.isDirectory()) await walk(path)
      else if (entry.isFile()) found.push({ path, sizeBytes: (await lstat(join(directory, path))).size })
    }
  }
  await walk('').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  return found
}

/**
 * Keeps the modification time, which pruning uses. Does not create a hard link, because a job that runs again under its
 * old id would write into the original. Returns false if a file with that name exists.
 */
export async function copyOnce(from: string, to: string): Promise<boolean> {
  if ((await lstat(to).catch(() => null)) !== null) return false
  await mkdir(dirname(to), { recursive: true })
  const draft = `${to}.part`
  await copyFile(from, draft, constants.COPYFILE_FICLONE)
  const { atime, mtime } = await lstat(from)
  await utimes(draft, atime, mtime)
  await rename(draft, to)
  return true
}

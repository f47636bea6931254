import { constants } from 'node:fs'
import { type FileHandle, open, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Windows has neither. */
const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants
const NOT_THERE = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EMLINK', 'ENXIO'])

function nullIfNotThere(error: NodeJS.ErrnoException): null {
  if (NOT_THERE.has(error.code ?? '')) return null
  throw error
}

/**
 * Opens the regular file of this name below `root`; null: there is none. A spider may put links into its folder, also
 * in place of a folder above, while this runs: what they lead to is not read.
 */
export async function openOwnFile(root: string, name: string): Promise<FileHandle | null> {
  const file = await open(join(root, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(nullIfNotThere)
  if (file === null) return null
  const isOwn = await isAt(file, root, name).catch(nullIfNotThere)
  if (isOwn === true) return file
  await file.close()
  return null
}

async function isAt(file: FileHandle, root: string, name: string): Promise<boolean> {
  const info = await file.stat({ bigint: true })
  const path = join(await realpath(root), name)
  if (!info.isFile() || (await realpath(path)) !== path) return false
  return (await stat(path, { bigint: true })).ino === info.ino
}

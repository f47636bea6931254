import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { type FileHandle, open, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Opens a file that a spider may have created. null: not a regular file. Never reads a device, and never blocks on a
 * pipe, which would occupy one of the process's few threads forever.
 */
export async function openRegularFile(path: string): Promise<FileHandle | null> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    if ((await file.stat()).isFile()) return file
  } catch (error) {
    await file.close()
    throw error
  }
  await file.close()
  return null
}

const LARGEST_SETTINGS_BYTES = 4 * 1024 * 1024

/** The text of a settings file, or null if there is none. Throws like `open`. Never blocks on a pipe. */
export function readSettingsFile(path: string): string | null {
  let file: number
  try {
    file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    throw error
  }
  try {
    const info = fstatSync(file)
    if (!info.isFile()) return null
    if (info.size > LARGEST_SETTINGS_BYTES) throw new Error(`${path} is larger than 4 MB`)
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

/** Windows lacks O_NOFOLLOW and O_NONBLOCK. */
const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants
const NOT_THERE = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EMLINK', 'ENXIO'])

function nullIfNotThere(error: NodeJS.ErrnoException): null {
  if (NOT_THERE.has(error.code ?? '')) return null
  throw error
}

/**
 * Opens a regular file below `root`; null: there is none. Does not follow links, because a spider can create links in
 * its folder, even in place of a parent folder during this call.
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

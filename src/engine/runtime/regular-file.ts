import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

/**
 * Opens a file for reading that a spider may have put there; null if it is not a regular file. Rejects like `open`.
 * Never blocks on a pipe (each would occupy one of the process's few threads forever), and never reads a device.
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

/** The text of a settings file; null if there is none. Throws like `open`; never blocks on a pipe. */
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

import { constants } from 'node:fs'
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

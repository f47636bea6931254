import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

/**
 * Opens a file for reading that a spider may have put there; null when it is no regular file; rejects as `open` does. A
 * pipe must not be waited for (each would hold one of this process's few threads for ever), nor a device be read.
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

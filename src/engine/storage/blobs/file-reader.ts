import { type FileHandle, open } from 'node:fs/promises'
import type { BlobReader } from './blob-store.ts'

/** Ranges of a file on this machine. An open file is read to its end even if it is deleted meanwhile. */
export async function openFileReader(path: string): Promise<BlobReader> {
  return readerOf(await open(path))
}

/** Closes the file when it is disposed. */
export function readerOf(file: FileHandle): BlobReader {
  return {
    sizeBytes: async () => (await file.stat()).size,
    async read(offset, length) {
      const bytes = Buffer.allocUnsafe(length)
      let filled = 0
      while (filled < length) {
        const { bytesRead } = await file.read(bytes, filled, length - filled, offset + filled)
        if (bytesRead === 0) break
        filled += bytesRead
      }
      return bytes.subarray(0, filled)
    },
    [Symbol.asyncDispose]: () => file.close()
  }
}

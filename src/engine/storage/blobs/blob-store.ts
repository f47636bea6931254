import type { Readable } from 'node:stream'
import type { FileSeal } from './sealed/sealed-format.ts'
import { type FileHandle, open } from 'node:fs/promises'

/**
 * The only place for large files. Scrapdeck chooses the names: `eggs/<sha256>`, `logs/<job id>-<attempt>.zst`. Writes
 * are atomic: a blob appears under its name only after its last byte is stored.
 */
export interface BlobStore {
  write(name: string, content: Uint8Array | Readable): Promise<{ sizeBytes: number }>
  /** Rejects with ScrapdeckError NOT_FOUND if there is none. */
  read(name: string): Promise<Uint8Array>
  openRead(name: string): Promise<Readable>
  /** For ranges. null: this store reads blobs only whole. Rejects as `read` does. */
  openAt(name: string): Promise<BlobReader | null>
  /** Moves a complete file of this engine's into the store: it is durable there, synced before or not. */
  adopt(name: string, path: string): Promise<void>
  /**
   * Where a blob is a file on this machine, if necessary after it was fetched; null: it cannot be one. A fetched file
   * may be removed once several others were. Rejects as `read` does.
   */
  localFile(name: string): Promise<LocalFile | null>
  has(name: string): Promise<boolean>
  /** Deleting a blob that does not exist is not an error. */
  delete(name: string): Promise<void>
  /**
   * Deletes a blob to which nothing refers. false: it stays for now, because it was written so recently that another
   * engine may be about to refer to it.
   */
  deleteUnused(name: string): Promise<boolean>
  list(prefix: string): Promise<{ name: string; sizeBytes: number }[]>
}

/** `seal`: what opens it; null: it has the content as it is. */
export interface LocalFile {
  path: string
  seal: FileSeal | null
}

/** All ranges are of one content, even if the blob is replaced or deleted meanwhile: a read rejects otherwise. */
export interface BlobReader extends AsyncDisposable {
  sizeBytes(): Promise<number>
  /** Fewer bytes than `length` only at the end. */
  read(offset: number, length: number): Promise<Uint8Array>
}

/** `eggs/<sha256>`, `logs/<job id>-<attempt>.zst`: one folder and one file, so a name cannot escape its directory. */
export const BLOB_NAME = /^[a-z]{1,20}\/[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$/
export const BLOB_PREFIX = /^[a-z]{1,20}\/(?:[A-Za-z0-9_-][A-Za-z0-9._-]{0,199})?$/

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

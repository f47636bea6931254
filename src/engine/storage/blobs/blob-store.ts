import type { Readable } from 'node:stream'
import type { FileSeal } from './sealed/sealed-format.ts'
import { type FileHandle, open } from 'node:fs/promises'

/** Stores all large files. Writes are atomic: a blob appears only when its last byte is stored. */
export interface BlobStore {
  write(name: string, content: Uint8Array | Readable): Promise<{ sizeBytes: number }>
  /** Rejects with NOT_FOUND. */
  read(name: string): Promise<Uint8Array>
  openRead(name: string): Promise<Readable>
  /** Opens a blob for reading ranges; null: this store reads only whole blobs. Rejects like `read`. */
  openAt(name: string): Promise<BlobReader | null>
  adopt(name: string, path: string): Promise<void>
  /**
   * Fetches the blob if necessary; null: the store cannot provide a local file. The store can remove a fetched file
   * after it has fetched several others. Rejects like `read`.
   */
  localFile(name: string): Promise<LocalFile | null>
  has(name: string): Promise<boolean>
  delete(name: string): Promise<void>
  /**
   * Deletes a blob that nothing refers to. Returns false if the blob is so new that another engine may still be about
   * to refer to it.
   */
  deleteUnused(name: string): Promise<boolean>
  list(prefix: string): Promise<{ name: string; sizeBytes: number }[]>
}

/** `seal` decrypts the file; null: the file is not encrypted. */
export interface LocalFile {
  path: string
  seal: FileSeal | null
}

/**
 * All reads return the same content. After the blob is replaced or deleted, they reject or still return the old
 * content.
 */
export interface BlobReader extends AsyncDisposable {
  sizeBytes(): Promise<number>
  /** Returns fewer bytes than `length` only at the end of the blob. */
  read(offset: number, length: number): Promise<Uint8Array>
}

/** One folder and one file name, so that a blob's name cannot point outside the directory. */
export const BLOB_NAME = /^[a-z]{1,20}\/[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$/
export const BLOB_PREFIX = /^[a-z]{1,20}\/(?:[A-Za-z0-9_-][A-Za-z0-9._-]{0,199})?$/

/** The open file can be read to its end even if the blob is deleted in the meantime. */
export async function openFileReader(path: string): Promise<BlobReader> {
  return readerOf(await open(path))
}

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

import type { Readable } from 'node:stream'

/**
 * The only place for large files. Scrapdeck chooses the names: `eggs/<sha256>`, `logs/<job id>-<attempt>.zst`. Writes
 * are atomic: a blob appears under its name only after its last byte is on disk.
 */
export interface BlobStore {
  write(name: string, content: Uint8Array | Readable): Promise<{ sizeBytes: number }>
  /** Rejects with ScrapdeckError NOT_FOUND if there is none. */
  read(name: string): Promise<Uint8Array>
  openRead(name: string): Promise<Readable>
  /** Moves a complete file of this engine's into the store. */
  adopt(name: string, path: string): Promise<void>
  /** Where a blob is a file on this machine; null: it is none. Rejects as `read` does. */
  localPath(name: string): Promise<string | null>
  has(name: string): Promise<boolean>
  /** Deleting a blob that does not exist is not an error. */
  delete(name: string): Promise<void>
  list(prefix: string): Promise<{ name: string; sizeBytes: number }[]>
}

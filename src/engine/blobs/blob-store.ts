import type { Readable } from 'node:stream'

/**
 * The only place for large files. Scrapdeck chooses the names: `eggs/<sha256>`, `logs/<job id>-<attempt>.gz`. Writes
 * are atomic: a blob appears under its name only after its last byte is on disk.
 */
export interface BlobStore {
  write(name: string, content: Uint8Array | Readable): Promise<{ sizeBytes: number }>
  /** Rejects with ScrapdeckError NOT_FOUND if there is none. */
  read(name: string): Promise<Uint8Array>
  openRead(name: string): Promise<Readable>
  has(name: string): Promise<boolean>
  /** Deleting a blob that does not exist is not an error. */
  delete(name: string): Promise<void>
  list(prefix: string): Promise<{ name: string; sizeBytes: number }[]>
}

import type { Readable } from 'node:stream'

/**
 * The only place for large files. Names are made by us: `eggs/<sha256>`, `logs/<job id>-<attempt>.gz`.
 * A write is whole or absent: it appears under its name only after the last byte is on the disk.
 */
export interface BlobStore {
  write(name: string, content: Uint8Array | Readable): Promise<{ sizeBytes: number }>
  /** Rejects with ScrapdeckError NOT_FOUND when there is none. */
  read(name: string): Promise<Uint8Array>
  openRead(name: string): Promise<Readable>
  has(name: string): Promise<boolean>
  /** Deleting what is not there is fine. */
  delete(name: string): Promise<void>
  list(prefix: string): Promise<{ name: string; sizeBytes: number }[]>
}

import { zstdCompress, zstdCompressSync } from 'node:zlib'
import { promisify } from 'node:util'
import type { LogBytes } from '../../../runtime/byte-window.ts'
import { frameOptions, unpackFrameSync } from './frames.ts'

export const SMALL_LOG_MAX_BYTES = 65_536
// Up to this size, a worker thread costs more than the work itself: 130 µs of CPU instead of 30, and no less time in
// this thread (7 kB, Node 24).
const AT_ONCE_MAX_BYTES = 8_192
const compress = promisify(zstdCompress)

/**
 * Packs a complete log that is small enough to be stored with its attempt (Store.markLogArchived). Null: it needs a
 * file. A file with its rename and two syncs took a fifth of a core at 200 runs per second. For blobs this small,
 * SQLite is the better file system (https://sqlite.org/fasterthanfs.html).
 */
export async function packSmallLog({ offset, sizeBytes, bytes }: LogBytes): Promise<Uint8Array | null> {
  if (offset !== 0 || bytes.length !== sizeBytes || sizeBytes > SMALL_LOG_MAX_BYTES) return null
  const options = frameOptions(bytes.length)
  const packed = bytes.length <= AT_ONCE_MAX_BYTES ? zstdCompressSync(bytes, options) : await compress(bytes, options)
  // Copies the result, because posting to the store's thread copies the whole underlying buffer.
  return new Uint8Array(packed)
}

/** Throws LOG_DAMAGED. */
export function unpackSmallLog(packed: Uint8Array): Buffer {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength)
  return unpackFrameSync(bytes, SMALL_LOG_MAX_BYTES, 'most')
}

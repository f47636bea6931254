import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { createGunzip, createGzip, gzip as gzipCallback, gzipSync } from 'node:zlib'
import type { JobId, AttemptNumber } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { createByteWindow, type LogBytes, type WantedBytes } from './byte-window.ts'

export type ReadLog = (range: WantedBytes, signal?: AbortSignal) => Promise<LogBytes | null>

const gzip = promisify(gzipCallback)
const PIECE_BYTES = 1_000_000
const MAX_BYTES = 256_000_000
const SMALL_MAX_BYTES = 65_536
// Up to this size a worker thread costs more than the work: 130 µs of CPU instead of 30, and as much in this thread
// (7 kB, Node 24).
const AT_ONCE_MAX_BYTES = 8_192
// Half the time of the defaults for as few bytes.
const SMALL_GZIP = { level: 3, chunkSize: 4_096 }

/**
 * Gzips a complete log that is small enough to be stored with its attempt (Store.markLogArchived); null: use
 * `archiveLog`. Most logs are small. A file, its rename and two syncs took a fifth of a core at 200 runs per second;
 * for such small blobs SQLite is the better file system (https://sqlite.org/fasterthanfs.html).
 */
export async function packSmallLog({ offset, sizeBytes, bytes }: LogBytes): Promise<Uint8Array | null> {
  if (offset !== 0 || bytes.length !== sizeBytes || sizeBytes > SMALL_MAX_BYTES) return null
  return bytes.length <= AT_ONCE_MAX_BYTES ? gzipSync(bytes, SMALL_GZIP) : gzip(bytes)
}

/** The blob that holds the log of one attempt. */
export function archiveName(jobId: JobId, attemptNumber: AttemptNumber): string {
  return `logs/${jobId}-${attemptNumber}.gz`
}

/**
 * Copies the log of an ended run into the gzipped blob `name`, piece by piece. If it exceeds `maxBytes`, keeps the
 * first and last half of that, with a line in between that says so. If the log cannot be read to its end, rejects and
 * leaves no blob; with LOG_NOT_FOUND if there is no log (any more).
 */
export async function archiveLog(options: {
  read: ReadLog
  blobs: BlobStore
  name: string
  maxBytes?: number
  signal?: AbortSignal
}): Promise<void> {
  const { read, blobs, name, maxBytes = MAX_BYTES, signal } = options
  const packer = createGzip()
  const source = Readable.from(readPieces(read, name, maxBytes, signal), { objectMode: false })
  const writing = blobs.write(name, packer).catch((error: unknown) => {
    // It may have failed before it read anything, and then nobody would consume the source.
    packer.destroy()
    throw error
  })
  const [written, copied] = await Promise.allSettled([writing, pipeline(source, packer, { signal })])
  // If the source fails, the write fails with the same error. If the disk fails, only the write has the cause.
  if (written.status === 'rejected') throw written.reason
  if (copied.status === 'rejected') throw copied.reason
}

/** One range of a gzipped log, in bytes of the uncompressed text. */
export async function readPackedLog(packed: Readable, wanted: WantedBytes): Promise<LogBytes> {
  const window = createByteWindow(wanted)
  // gzip has no random access: everything is read, and only the range is kept.
  await pipeline(packed, createGunzip(), async (pieces: AsyncIterable<Uint8Array>) => {
    for await (const piece of pieces) window.append(piece)
  })
  return window.result()
}

async function* readPieces(
  read: ReadLog,
  name: string,
  maxBytes: number,
  signal: AbortSignal | undefined
): AsyncGenerator<Uint8Array> {
  const first = await readPiece({ offset: 0, limitBytes: Math.min(PIECE_BYTES, maxBytes) })
  if (first.sizeBytes <= maxBytes) {
    yield* copy(first, maxBytes)
    return
  }
  const half = Math.floor(maxBytes / 2)
  const tailOffset = first.sizeBytes - half
  yield* copy(await readPiece({ offset: 0, limitBytes: Math.min(PIECE_BYTES, half) }), half)
  yield Buffer.from(`\n[Scrapdeck left out ${tailOffset - half} bytes here: the log exceeds the size limit]\n`)
  yield* copy(await readPiece({ offset: tailOffset, limitBytes: Math.min(PIECE_BYTES, half) }), tailOffset + half)

  async function* copy(start: LogBytes, endOffset: number): AsyncGenerator<Uint8Array> {
    let piece = start
    while (piece.bytes.length > 0) {
      yield piece.bytes
      const offset = piece.offset + piece.bytes.length
      if (offset >= Math.min(endOffset, piece.sizeBytes)) return
      piece = await readPiece({ offset, limitBytes: Math.min(PIECE_BYTES, endOffset - offset) })
    }
  }

  async function readPiece(range: WantedBytes): Promise<LogBytes> {
    const piece = await read(range, signal)
    if (piece === null)
      throw new ScrapdeckError('LOG_NOT_FOUND', `The log for ${name} was deleted before it could be copied`)
    return piece
  }
}

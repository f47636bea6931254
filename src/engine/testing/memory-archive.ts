import type { BlobStore } from '../blobs/blob-store.ts'
import { archiveName, type LogArchivePort } from '../logs/archive/log-archive.ts'
import { unpackSmallLog } from '../logs/archive/small-log.ts'
import { cutBytes } from '../logs/byte-window.ts'
import { ScrapdeckError } from '../../shared/errors.ts'

/** The archive of logs without files and threads, whose time nobody here controls. */
export function createMemoryArchive(blobs: BlobStore): LogArchivePort {
  const notSimulated = async () => {
    throw new Error('Not simulated')
  }
  return {
    async copy(jobId, number, read, signal) {
      const pieces: Uint8Array[] = []
      for (let offset = 0; ; ) {
        const piece = await read({ offset, limitBytes: 1_000_000 }, signal)
        signal?.throwIfAborted()
        if (piece === null) throw new ScrapdeckError('LOG_NOT_FOUND', `The log of job ${jobId} was deleted`)
        if (piece.bytes.length === 0) break
        pieces.push(piece.bytes)
        offset += piece.bytes.length
      }
      const { sizeBytes } = await blobs.write(archiveName(jobId, number), Buffer.concat(pieces))
      return { rawBytes: sizeBytes, packedBytes: sizeBytes, newlines: 0 }
    },
    async read(jobId, number, log, wanted) {
      return cutBytes(
        log.packed === null ? await blobs.read(archiveName(jobId, number)) : unpackSmallLog(log.packed),
        wanted
      )
    },
    async delete(jobId, number) {
      await blobs.delete(archiveName(jobId, number))
    },
    cacheFigures: () => ({ hits: 0, misses: 0, entries: 0, bytes: 0 }),
    copies: null as never,
    seal: notSimulated,
    fileOf: notSimulated
  }
}

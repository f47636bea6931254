import type { BlobStore } from '../blobs/blob-store.ts'
import { archiveName, type LogArchivePort } from '../logs/archive/log-archive.ts'
import { unpackSmallLog } from '../logs/archive/small-log.ts'
import type { AttemptNumber, JobId } from '../../shared/contract/index.ts'
import { cutBytes } from '../logs/byte-window.ts'
import { ScrapdeckError } from '../../shared/errors.ts'

/** The archive of logs without files and threads, whose time nobody here controls. */
export function createMemoryArchive(blobs: BlobStore): LogArchivePort {
  const notSimulated = async () => {
    throw new Error('Not simulated')
  }
  const copied = new Map<string, Buffer>()
  const copyOf = (jobId: JobId, number: AttemptNumber) => copied.get(`${jobId} ${number}`) ?? Buffer.alloc(0)
  const copies: LogArchivePort['copies'] = {
    async advance(jobId, number, read, { maxBytes = Number.POSITIVE_INFINITY, signal } = {}) {
      for (let left = maxBytes; ; ) {
        const limitBytes = Math.min(left, 1_000_000)
        const piece = await read({ offset: copyOf(jobId, number).length, limitBytes }, signal)
        signal?.throwIfAborted()
        if (piece === null) throw new ScrapdeckError('LOG_NOT_FOUND', `The log of job ${jobId} was deleted`)
        const isOther = piece.sizeBytes < copyOf(jobId, number).length
        const before = isOther ? Buffer.alloc(0) : copyOf(jobId, number)
        copied.set(`${jobId} ${number}`, isOther ? before : Buffer.concat([before, piece.bytes]))
        if (isOther) continue
        left -= piece.bytes.length
        const copiedBytes = copyOf(jobId, number).length
        if (piece.bytes.length === 0 || left <= 0) return { copiedBytes, sizeBytes: piece.sizeBytes }
      }
    },
    read: async (jobId, number, wanted) => cutBytes(copyOf(jobId, number), wanted),
    sizeBytes: async (jobId, number) => copyOf(jobId, number).length,
    remove: async (jobId, number) => void copied.delete(`${jobId} ${number}`),
    fileOf: notSimulated,
    directory: ''
  }
  return {
    async copy(jobId, number, read, signal) {
      await copies.advance(jobId, number, read, { signal })
      const { sizeBytes } = await blobs.write(archiveName(jobId, number), copied.get(`${jobId} ${number}`)!)
      await copies.remove(jobId, number)
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
    copies,
    seal: notSimulated,
    fileOf: notSimulated
  }
}

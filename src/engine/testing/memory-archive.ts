import type { AttemptNumber, JobId } from '../../shared/contract/index.ts'
import type { BlobStore } from '../storage/blobs/blob-store.ts'
import { LogArchive, archiveName } from '../runs/logs/archive/log-archive.ts'
import { LogCopies } from '../runs/logs/archive/log-copies.ts'
import type { SealedLog } from '../runs/logs/archive/seal.ts'
import type { SpoolPort } from '../runs/logs/archive/spool.ts'
import { cutBytes, type LogBytes, type WantedBytes } from '../runtime/byte-window.ts'
import type { CacheFigures } from '../runtime/cache-figures.ts'
import type { ArchivedLog } from '../model/records.ts'

/** An archive of logs without files and threads, because tests cannot control their timing. */
export const createMemoryArchive = (blobs: BlobStore, tree: 'logs' | 'items' = 'logs'): LogArchive =>
  new MemoryArchive(blobs, tree)

class MemoryArchive extends LogArchive {
  readonly #blobs: BlobStore
  readonly #tree: 'logs' | 'items'

  constructor(blobs: BlobStore, tree: 'logs' | 'items') {
    const copies = new LogCopies(inMemory())
    super({ blobs, tree, copies, directory: '', ...({} as NotSimulated) })
    this.#blobs = blobs
    this.#tree = tree
  }

  override cacheFigures(): CacheFigures {
    return { hits: 0, misses: 0, entries: 0, bytes: 0 }
  }

  override async seal(jobId: JobId, number: AttemptNumber): Promise<SealedLog> {
    const { bytes } = await this.copies.read(jobId, number, { offset: 0, limitBytes: Number.MAX_SAFE_INTEGER })
    const { sizeBytes } = await this.#blobs.write(archiveName(jobId, number, this.#tree), bytes)
    return { rawBytes: sizeBytes, packedBytes: sizeBytes, newlines: 0 }
  }

  override async read(
    jobId: JobId,
    number: AttemptNumber,
    log: ArchivedLog,
    wanted: WantedBytes
  ): Promise<LogBytes | null> {
    if (log.packed !== null) return super.read(jobId, number, log, wanted)
    return cutBytes(await this.#blobs.read(archiveName(jobId, number, this.#tree)), wanted)
  }
}

type NotSimulated = Pick<ConstructorParameters<typeof LogArchive>[0], 'threads' | 'cache' | 'random'>

function inMemory() {
  const spools = new Map<string, Buffer>()
  const open = (name: string): SpoolPort => {
    const now = () => spools.get(name) ?? Buffer.alloc(0)
    return {
      get sizeBytes() {
        return now().length
      },
      async append(bytes) {
        spools.set(name, Buffer.concat([now(), bytes]))
      },
      read: async (wanted) => cutBytes(now(), wanted),
      describe: () => ({ framesPath: '', frames: [], restPath: '', restAt: 0, restBytes: now().length }),
      clear: async () => void spools.delete(name)
    }
  }
  return { list: async () => [...spools.keys()], begin: open, open: async (name: string) => open(name) }
}

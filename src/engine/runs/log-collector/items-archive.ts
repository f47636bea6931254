import type { Attempt } from '../../../shared/contract/index.ts'
import { isScrapdeckError, ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/runs.ts'
import { utcDay } from '../../../shared/time.ts'
import type { LogArchivePort } from '../logs/archive/log-archive.ts'
import type { ReadLog } from '../logs/archive/log-copies.ts'
import type { LogBytes, WantedBytes } from '../../runtime/byte-window.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { Sweep } from '../../runtime/sweep.ts'
import type { LogKey } from '../../model/records.ts'
import type { AttemptReader, ItemsStore } from '../../storage/store.ts'

export const KEPT_ITEMS_MAX_BYTES = 4 * 1024 ** 3

type Run = Pick<Attempt, 'jobId' | 'number' | 'jobid' | 'nodeId' | 'project' | 'spider'>

interface ItemsArchiveParts {
  store: ItemsStore
  /** Uses the same file format as logs. */
  archive: Pick<LogArchivePort, 'copy' | 'copies' | 'read' | 'delete'>
  /** Deletes the items file of a run on the local node, unless the directory is shared with others. */
  deleteLocal: (run: Run) => Promise<void>
  clock: Pick<Clock, 'nowMs'>
  maxBytes?: number
}

export class ItemsArchive {
  readonly #parts: ItemsArchiveParts

  constructor(parts: ItemsArchiveParts) {
    this.#parts = parts
  }

  /**
   * Copies the items of an ended run, if it wrote any. If the file cannot be read to its end, keeps the partial copy
   * for a retry and rejects with the node's error, ITEMS_NOT_FOUND (deleted in the meantime) or ITEMS_TOO_LARGE.
   */
  async keep(run: Run, read: ReadLog, signal?: AbortSignal): Promise<void> {
    const { archive, maxBytes = KEPT_ITEMS_MAX_BYTES } = this.#parts
    const first = await read({ offset: 0, limitBytes: 1 }, signal)
    if (first === null || first.sizeBytes === 0) return this.#endWithoutFile(run)
    const readBounded: ReadLog = async (range, readSignal) => {
      const piece = await read(range, readSignal)
      if (piece === null) throw deletedMeanwhile()
      if (piece.sizeBytes <= maxBytes) return piece
      const text = sentence('runs.items_too_large_to_keep', { gigabytes: inGb(piece.sizeBytes), limit: inGb(maxBytes) })
      throw new ScrapdeckError('ITEMS_TOO_LARGE', text)
    }
    const { rawBytes, packedBytes } = await archive.copy(run.jobId, run.number, readBounded, signal)
    await this.#record(run, { sizes: { rawBytes, storedBytes: packedBytes }, problem: null })
    await archive.copies.remove(run.jobId, run.number)
    await this.#parts.deleteLocal(run)
  }

  /** Records why the items of a run could not be archived, unless they were archived before a crash. */
  async giveUp(run: Run, problem: string): Promise<void> {
    const { archive } = this.#parts
    await archive.copies.remove(run.jobId, run.number)
    if ((await this.sizeBytes(run)) !== null) return
    await archive.delete(run.jobId, run.number)
    await this.#record(run, { sizes: null, problem })
  }

  async sizeBytes({ jobId, number }: Pick<Run, 'jobId' | 'number'>): Promise<number | null> {
    return (await this.#parts.store.findItems(jobId, number))?.sizes?.rawBytes ?? null
  }

  /** A range of an attempt's archived items. Null: none are archived. Rejects with ITEMS_FAILED if they are damaged. */
  async read({ jobId, number }: Pick<Run, 'jobId' | 'number'>, wanted: WantedBytes): Promise<LogBytes | null> {
    const { store, archive } = this.#parts
    const sizes = (await store.findItems(jobId, number))?.sizes ?? null
    if (sizes === null) return null
    try {
      return await archive.read(jobId, number, { packed: null, sizes }, wanted)
    } catch (error) {
      if (!isScrapdeckError(error, 'LOG_DAMAGED')) throw error
      const text = sentence('runs.archived_items_damaged', { jobId })
      throw new ScrapdeckError('ITEMS_FAILED', text, { cause: error })
    }
  }

  /** Why the items of this attempt are gone. Null: nothing was recorded. */
  async whyGone({ jobId, number }: Pick<Run, 'jobId' | 'number'>): Promise<ScrapdeckError | null> {
    const record = await this.#parts.store.findItems(jobId, number)
    if (record === null) return null
    const { deletedAtMs, problem } = record
    const data = { deletedAtMs, problem }
    if (deletedAtMs !== null) {
      const text = sentence('runs.items_deleted', { jobId, day: utcDay(deletedAtMs) })
      return new ScrapdeckError('ITEMS_NOT_FOUND', text, { data })
    }
    const why = problem ?? 'The archived file is missing'
    return new ScrapdeckError('ITEMS_NOT_FOUND', sentence('runs.items_not_kept', { jobId, why }), { data })
  }

  async #endWithoutFile(run: Run): Promise<void> {
    const { store, archive } = this.#parts
    const copied = await archive.copies.readIfAny(run.jobId, run.number, { offset: 0, limitBytes: 0 })
    if (copied === null) return
    const record = await store.findItems(run.jobId, run.number)
    if (record === null || record.sizes === null) throw deletedMeanwhile()
    await archive.copies.remove(run.jobId, run.number)
  }

  #record(
    run: Run,
    { sizes, problem }: { sizes: { rawBytes: number; storedBytes: number } | null; problem: string | null }
  ) {
    const { jobId, number, project, spider } = run
    const endedAtMs = this.#parts.clock.nowMs()
    return this.#parts.store.recordItems({
      jobId,
      number,
      project,
      spider,
      endedAtMs,
      sizes,
      problem,
      deletedAtMs: null
    })
  }
}

/** How long to keep the copied items of an ended run. If the run is found again within this time, copying continues. */
const STAYS_MS = 600_000

export function sweepLeftItems(parts: {
  store: Pick<AttemptReader, 'listAttempts'> & Pick<ItemsStore, 'findItems'>
  archive: Pick<LogArchivePort, 'copies'>
  items: Pick<ItemsArchive, 'giveUp'>
  clock: Clock
  logger: Logger
}): Sweep<LogKey> {
  const { store, archive, items, clock, logger } = parts
  return new Sweep({
    clock,
    logger,
    list: () => archive.copies.list(),
    describe: ({ jobId }) => ({ jobId }),
    words: 'what was copied of items could not be deleted yet',
    async work({ jobId, number }) {
      const attempt = (await store.listAttempts(jobId)).find((each) => each.number === number)
      const isLeft = attempt?.state === 'ended' && clock.nowMs() - (attempt.endedAtMs ?? 0) >= STAYS_MS
      if (attempt !== undefined && !isLeft) return false
      const isKnown = attempt === undefined || (await store.findItems(jobId, number)) !== null
      if (isKnown) await archive.copies.remove(jobId, number)
      else await items.giveUp(attempt, 'The node went away before the items were copied')
      return true
    }
  })
}

const deletedMeanwhile = (): ScrapdeckError =>
  new ScrapdeckError('ITEMS_NOT_FOUND', sentence('runs.items_deleted_by_node'))

const inGb = (bytes: number): string => (bytes / 1e9).toFixed(1)

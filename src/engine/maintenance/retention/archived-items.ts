import type { KeepPolicy } from '../../../shared/contract/index.ts'
import type { LogArchivePort } from '../../runs/logs/archive/log-archive.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { KeptItemsFile, LogKey } from '../../model/records.ts'
import type { ItemsStore } from '../../storage/store.ts'
import { oldFiles, type RunFile } from './old-files.ts'
import type { RunFiles } from './run-files.ts'

const LISTED_AT_ONCE = 1_000

/** The items files in the archive. They go with their jobs at the latest. */
export class ArchivedItems implements RunFiles {
  readonly #parts: { store: ItemsStore; archive: Pick<LogArchivePort, 'delete'>; clock: Pick<Clock, 'nowMs'> }

  constructor(parts: { store: ItemsStore; archive: Pick<LogArchivePort, 'delete'>; clock: Pick<Clock, 'nowMs'> }) {
    this.#parts = parts
  }

  async list(): Promise<RunFile[]> {
    const files: RunFile[] = []
    for (let after: LogKey | null = null; ; ) {
      const kept: KeptItemsFile[] = await this.#parts.store.listKeptItems(after, LISTED_AT_ONCE)
      files.push(...kept.map(fileOf))
      after = kept.at(-1) ?? null
      if (kept.length < LISTED_AT_ONCE) return files
    }
  }

  async listOld(files: readonly RunFile[], policy: KeepPolicy, nowMs: number): Promise<RunFile[]> {
    const old = oldFiles(
      files.filter(({ blobOf }) => blobOf!.job !== null),
      policy,
      nowMs
    )
    const withoutJob = files.filter(({ blobOf }) => blobOf!.job === null)
    return [
      ...withoutJob,
      ...old.filter(({ blobOf, isOverTerm }) => {
        const { hasEnded, kept, mayHaveRunTwice } = blobOf!.job!
        return hasEnded && !kept && (isOverTerm || !mayHaveRunTwice)
      })
    ]
  }

  /** The blob first: one that is left after a crash is found again by its row. */
  async delete({ blobOf }: RunFile): Promise<void> {
    const { store, archive, clock } = this.#parts
    const { job: _, ...record } = blobOf!
    await archive.delete(record.jobId, record.number)
    await store.recordItems({ ...record, sizes: null, deletedAtMs: clock.nowMs() })
  }
}

function fileOf(kept: KeptItemsFile): RunFile {
  const { jobId, number, project, spider, sizes, endedAtMs } = kept
  const name = `${jobId}-${number}`
  return { project, spider, name, sizeBytes: sizes.storedBytes, changedAtMs: endedAtMs, blobOf: kept }
}

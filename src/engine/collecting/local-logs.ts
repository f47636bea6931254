import { open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Attempt, ProjectName } from '../../shared/contract/index.ts'
import { LOCAL_NODE_ID } from '../../shared/ids.ts'
import type { LogArchivePort } from '../logs/archive/log-archive.ts'
import { packSmallLog, SMALL_LOG_MAX_BYTES } from '../logs/archive/small-log.ts'
import { readFully } from '../logs/read-file.ts'
import { type Clock, sleep } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { ArchivedLog } from '../store/records.ts'
import type { AttemptReader, AttemptStore } from '../store/store.ts'

interface LocalLogsParts {
  store: Pick<AttemptReader, 'findAttemptsOnNode'> & Pick<AttemptStore, 'markLogArchived'>
  archive: Pick<LogArchivePort, 'seal'>
  /** PROJECT/SPIDER/JOBID.log */
  directory: string
  /** The directory is ours alone: an archived log need not be there a second time. */
  deletesFiles: boolean
  clock: Clock
  logger: Logger
}

const ENDING = '.log'
/** So long a log stays where its spider wrote it, for whoever looks there. */
const STAYS_MS = 600_000
const PAUSE_MS = 20
const MOST_IN_A_SWEEP = 2_000

/** Moves the logs of local runs into the archive some time after they have ended, one after the other. */
export class LocalLogs {
  readonly #parts: LocalLogsParts
  readonly #stopping = new AbortController()
  /** Archived, and left in place because the directory is somebody else's. */
  readonly #done = new Set<string>()
  #sweeping: Promise<number> | null = null

  constructor(parts: LocalLogsParts) {
    this.#parts = parts
  }

  /** Resolves with how many were archived. While a sweep is in progress, returns that one. */
  sweep(): Promise<number> {
    return (this.#sweeping ??= this.#sweep().finally(() => {
      this.#sweeping = null
    }))
  }

  stop(): void {
    this.#stopping.abort()
  }

  async #sweep(): Promise<number> {
    const { directory, clock, logger } = this.#parts
    const { signal } = this.#stopping
    let archived = 0
    for await (const { project, spider, jobid } of listLogs(directory)) {
      if (signal.aborted || archived >= MOST_IN_A_SWEEP) break
      const path = join(directory, project, spider, jobid + ENDING)
      if (this.#done.has(path)) continue
      try {
        const { mtimeMs, size } = await stat(path)
        if (clock.nowMs() - mtimeMs < STAYS_MS) continue
        const attempt = await this.#attemptOf(project, spider, jobid)
        if (attempt === null) continue
        if (!attempt.logArchived) {
          await this.#archive(attempt, path, size)
          archived += 1
        }
        if (this.#parts.deletesFiles) await rm(path, { force: true })
        else this.#done.add(path)
      } catch (error) {
        if (!signal.aborted) logger.warn({ error, path }, 'a log could not be archived; it stays where it is')
      }
      await sleep(clock, PAUSE_MS, signal)
    }
    return archived
  }

  /** null: the file is of no run that has ended. */
  async #attemptOf(project: ProjectName, spider: string, jobid: string): Promise<Attempt | null> {
    const attempts = await this.#parts.store.findAttemptsOnNode(LOCAL_NODE_ID, [{ project, jobid }])
    const attempt = attempts.find((each) => each.spider === spider)
    return attempt?.state === 'ended' ? attempt : null
  }

  async #archive({ jobId, number }: Attempt, path: string, sizeBytes: number): Promise<void> {
    const { store, archive } = this.#parts
    const small = await packedLog(path, sizeBytes)
    if (small !== null) return store.markLogArchived(jobId, number, small)
    const source = { kind: 'plain', path, sizeBytes } as const
    const { rawBytes, packedBytes } = await archive.seal(jobId, number, source, this.#stopping.signal)
    await store.markLogArchived(jobId, number, { packed: null, sizes: { rawBytes, storedBytes: packedBytes } })
  }
}

async function packedLog(path: string, sizeBytes: number): Promise<ArchivedLog | null> {
  if (sizeBytes > SMALL_LOG_MAX_BYTES) return null
  await using file = await open(path)
  const bytes = await readFully(file, 0, sizeBytes)
  const small = await packSmallLog({ offset: 0, sizeBytes: bytes.length, bytes })
  return small && { packed: small, sizes: { rawBytes: bytes.length, storedBytes: small.length } }
}

/** Every file that may be a log, in no order. */
async function* listLogs(
  directory: string
): AsyncGenerator<{ project: ProjectName; spider: string; jobid: string }, void> {
  for (const project of await namesIn(directory, 'folders')) {
    for (const spider of await namesIn(join(directory, project), 'folders')) {
      for (const file of await namesIn(join(directory, project, spider), 'files')) {
        if (file.endsWith(ENDING)) {
          yield { project: project as ProjectName, spider, jobid: file.slice(0, -ENDING.length) }
        }
      }
    }
  }
}

async function namesIn(directory: string, wanted: 'folders' | 'files'): Promise<string[]> {
  try {
    const entries = await readdir(directory, { withFileTypes: true })
    return entries.flatMap((entry) => ((wanted === 'files' ? entry.isFile() : entry.isDirectory()) ? [entry.name] : []))
  } catch {
    // No run has written there yet, or the folder went in the meantime.
    return []
  }
}

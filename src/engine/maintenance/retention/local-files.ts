import { lstat, readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Attempt, KeepPolicy, ProjectName } from '../../../shared/contract/index.ts'
import { LOCAL_NODE_ID } from '../../../shared/ids.ts'
import type { AttemptReader, JobReader, ItemsStore } from '../../storage/store.ts'
import { oldFiles, type RunFile, type RunFiles } from './old-files.ts'
import type { LogArchivePort } from '../../runs/logs/archive/log-archive.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { KeptItemsFile, LogKey } from '../../model/records.ts'

const CHECKED_AT_ONCE = 100

export interface LocalFilesParts {
  store: Pick<AttemptReader & JobReader, 'findAttemptsOnNode' | 'getJobs'>
  directory: string | null
  isNeeded: (jobid: string) => boolean
  recordDeletion?: (attempt: Attempt) => Promise<void>
}

export class LocalFiles implements RunFiles {
  readonly #parts: LocalFilesParts

  constructor(parts: LocalFilesParts) {
    this.#parts = parts
  }

  async list(): Promise<RunFile[]> {
    const { directory } = this.#parts
    if (directory === null) return []
    const files: RunFile[] = []
    for (const project of await namesIn(directory, 'folders')) {
      for (const spider of await namesIn(join(directory, project), 'folders')) {
        for (const name of await namesIn(join(directory, project, spider), 'files')) {
          const found = await lstat(join(directory, project, spider, name)).catch(() => null)
          if (found?.isFile() !== true) continue
          files.push({ project, spider, name, sizeBytes: found.size, changedAtMs: found.mtimeMs })
        }
      }
    }
    return files
  }

  /**
   * Returns the files that the policy deletes, except those of live runs and kept jobs. Files of jobs that may have run
   * twice are included only if they are older than the policy's `days`.
   */
  async listOld(files: readonly RunFile[], policy: KeepPolicy, nowMs: number): Promise<RunFile[]> {
    const { store, isNeeded } = this.#parts
    const old = oldFiles(files, policy, nowMs).filter(({ name }) => !jobidsOf(name).some(isNeeded))
    const gone: RunFile[] = []
    for (let at = 0; at < old.length; at += CHECKED_AT_ONCE) {
      const some = old.slice(at, at + CHECKED_AT_ONCE)
      const runs = some.flatMap(({ project, name }) =>
        jobidsOf(name).map((jobid) => ({ project: project as ProjectName, jobid }))
      )
      const attempts = await store.findAttemptsOnNode(LOCAL_NODE_ID, runs)
      const jobs = new Map((await store.getJobs(attempts.map(({ jobId }) => jobId))).map((job) => [job.id, job]))
      const jobOf = new Map(attempts.map(({ project, jobid, jobId }) => [`${project}\0${jobid}`, jobs.get(jobId)]))
      gone.push(
        ...some.filter(({ project, name, isOverTerm }) =>
          jobidsOf(name).every((jobid) => {
            const job = jobOf.get(`${project}\0${jobid}`)
            return job === undefined || (!job.kept && job.state === 'ended' && (isOverTerm || !job.mayHaveRunTwice))
          })
        )
      )
    }
    return gone
  }

  async delete({ project, spider, name }: RunFile): Promise<void> {
    const { directory, store, recordDeletion } = this.#parts
    if (directory === null) return
    if (recordDeletion !== undefined) {
      const runs = jobidsOf(name).map((jobid) => ({ project: project as ProjectName, jobid }))
      for (const attempt of await store.findAttemptsOnNode(LOCAL_NODE_ID, runs)) await recordDeletion(attempt)
    }
    await unlink(join(directory, project, spider, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
  }
}

/** File names are JOBID.log, JOBID.jl or longer, and a jobid can contain dots. */
function jobidsOf(name: string): string[] {
  const jobids = [name]
  for (let at = name.lastIndexOf('.'); at > 0; at = name.lastIndexOf('.', at - 1)) jobids.push(name.slice(0, at))
  return jobids
}

/** Does not follow links, which could lead to other users' files. */
async function namesIn(directory: string, wanted: 'folders' | 'files'): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return []
    throw error
  })
  return entries.filter((one) => (wanted === 'files' ? one.isFile() : one.isDirectory())).map(({ name }) => name)
}

const LISTED_AT_ONCE = 1_000

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

  /** Deletes the blob before updating its row, so that after a crash, the row still names a remaining blob. */
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

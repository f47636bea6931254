import { open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Attempt, ProjectName } from '../../../shared/contract/index.ts'
import { LOCAL_NODE_ID } from '../../../shared/ids.ts'
import type { LogArchivePort } from '../logs/archive/log-archive.ts'
import { SMALL_LOG_MAX_BYTES } from '../logs/archive/small-log.ts'
import { readFully } from '../logs/archive/spool.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { Sweep } from '../../runtime/sweep.ts'
import type { ArchivedLog, LogKey } from '../../model/records.ts'
import type { AttemptReader, AttemptStore } from '../../storage/store.ts'

interface LocalLogsParts {
  store: Pick<AttemptReader, 'findAttemptsOnNode'> & Pick<AttemptStore, 'markLogArchived'>
  archive: Pick<LogArchivePort, 'seal' | 'pack'>
  /** Contains PROJECT/SPIDER/JOBID.log. */
  directory: string
  /** Whether archived logs may be deleted here: only if the directory is not shared with others. */
  deletesFiles: boolean
  clock: Clock
  logger: Logger
}

const ENDING = '.log'
/** How long an archived log stays where its spider wrote it, for users who look there. */
const STAYS_MS = 600_000

interface LocalLog {
  project: ProjectName
  spider: string
  jobid: string
}

export function sweepLocalLogs(parts: LocalLogsParts): Sweep<LocalLog> {
  const { store, directory, deletesFiles, clock, logger } = parts
  /** Paths of archived logs that stay in place because the directory is shared. */
  const done = new Set<string>()
  const pathOf = ({ project, spider, jobid }: LocalLog) => join(directory, project, spider, jobid + ENDING)

  async function keep(log: LocalLog, signal: AbortSignal): Promise<boolean> {
    const path = pathOf(log)
    if (done.has(path)) return false
    const { mtimeMs, size } = await stat(path)
    if (clock.nowMs() - mtimeMs < STAYS_MS) return false
    const attempt = await attemptOf(log)
    if (attempt === null) return false
    const isNew = !attempt.logArchived && attempt.logDeletedAtMs === null
    if (isNew) await archiveLog(parts, attempt, path, size, signal)
    if (deletesFiles) await rm(path, { force: true })
    else done.add(path)
    return isNew
  }

  async function attemptOf({ project, spider, jobid }: LocalLog): Promise<Attempt | null> {
    const attempts = await store.findAttemptsOnNode(LOCAL_NODE_ID, [{ project, jobid }])
    const attempt = attempts.find((each) => each.spider === spider)
    return attempt?.state === 'ended' ? attempt : null
  }

  return new Sweep({
    clock,
    logger,
    work: keep,
    describe: (log) => ({ path: pathOf(log) }),
    list: () => listLogs(directory),
    words: 'a log could not be archived; it stays where it is'
  })
}

async function archiveLog(
  { store, archive }: LocalLogsParts,
  { jobId, number }: Attempt,
  path: string,
  sizeBytes: number,
  signal: AbortSignal
): Promise<void> {
  const small = await packedLog(archive, { jobId, number }, path, sizeBytes)
  if (small !== null) return store.markLogArchived(jobId, number, small)
  const { rawBytes, packedBytes } = await archive.seal(jobId, number, { kind: 'plain', path, sizeBytes }, signal)
  await store.markLogArchived(jobId, number, { packed: null, sizes: { rawBytes, storedBytes: packedBytes } })
}

async function packedLog(
  archive: LocalLogsParts['archive'],
  { jobId, number }: LogKey,
  path: string,
  sizeBytes: number
): Promise<ArchivedLog | null> {
  if (sizeBytes > SMALL_LOG_MAX_BYTES) return null
  await using file = await open(path)
  const bytes = await readFully(file, 0, sizeBytes)
  const small = await archive.pack(jobId, number, { offset: 0, sizeBytes: bytes.length, bytes })
  return small && { packed: small, sizes: { rawBytes: bytes.length, storedBytes: small.length } }
}

async function* listLogs(directory: string): AsyncGenerator<LocalLog, void> {
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
    // An unreadable directory counts as empty. Before the first run, there is none.
    return []
  }
}

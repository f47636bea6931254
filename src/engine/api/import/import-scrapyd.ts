import { openDirectoryBlobs } from '../../storage/blobs/directory/open-directory-blobs.ts'
import { openS3Blobs } from '../../storage/blobs/s3/open-s3-blobs.ts'
import type { JobId, ProjectName, VersionName } from '../../../shared/contract/index.ts'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { LOCAL_NODE_ID, nextAttempt } from '../../../shared/ids.ts'
import { asParam, say } from '../../../shared/texts/message.ts'
import { showUnseen } from '../../../shared/unseen.ts'
import { IncomingFiles } from '../../storage/blobs/incoming-files.ts'
import { knownMarkOf } from '../../storage/blobs/blobs-place.ts'
import { openFilesystemBlobStore } from '../../storage/blobs/filesystem/filesystem-blob-store.ts'
import { SealedBlobStore } from '../../storage/blobs/sealed/sealed-blob-store.ts'
import type { SharedBlobs } from '../../storage/blobs/shared-blobs.ts'
import { readFileRange } from '../../nodes/local/runs/file-range.ts'
import { CLOSING_TAIL_BYTES } from '../../runs/log-parser/closing-stats.ts'
import { judgeOutcome } from '../../jobs/outcome/outcome.ts'
import { inspectEgg } from '../../projects/egg-inspection.ts'
import { EggTree } from '../../projects/egg-tree.ts'
import { problemOfPathPart } from '../../projects/names.ts'
import { Projects } from '../../projects/projects.ts'
import { type Clock, systemClock } from '../../runtime/clock.ts'
import { type EncryptionOptions, openEncryptionKeys, recordKeys } from '../../runtime/encryption-keys.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { makePrivateDirectory, openDataDirectory } from '../../runtime/private-directory.ts'
import { systemRandom } from '../../runtime/random.ts'
import { openRegularFile } from '../../runtime/regular-file.ts'
import type { PostgresAddress } from '../../runtime/postgres-address.ts'
import type { S3Address } from '../../runtime/s3-address.ts'
import { readScrapydDatabase } from '../../storage/scrapyd-databases.ts'
import { readSharedQueueTable } from '../../storage/shared-queue-table.ts'
import { openSqliteStore } from '../../storage/sqlite/open-sqlite-store.ts'
import type { AttemptChange } from '../../model/attempt-change.ts'
import { type AttemptStart, type NewJob, PLAIN_JOB } from '../../model/records.ts'
import type { AttemptReader, JobStore, ProjectSettingsStore, SettingStore, VersionStore } from '../../storage/store.ts'
import { copyOnce, listFiles } from './copy-files.ts'
import { parseScrapydTime, readPendingJob, projectsOfSharedQueue } from './pending-jobs.ts'

export interface ImportOptions {
  /** The Scrapyd's directories. null: not on this disk. */
  source: {
    eggs: string
    logs: string | null
    items: string | null
    databases: string | null
    /** Projects in the `[settings]` section of scrapyd.conf, even those without an egg. */
    settingsProjects: string[]
    sharedQueue?: { address: PostgresAddress; executionRef: string | null } | undefined
  }
  dataDirectory: string
  directories?: { eggs?: string; logs?: string | null; items?: string | null }
  blobsDirectory?: string | null
  s3?: { address: S3Address; credentialsFile: string | null; cacheBytes: number } | null
  encryption?: EncryptionOptions | null
  dryRun: boolean
  report: (line: string) => void
  clock?: Clock
}

export interface ImportCounts {
  eggs: Count
  pending: Count
  finished: Count
  logs: Count
  items: Count
}

export interface Count {
  taken: number
  known: number
  skipped: number
}

const BATCH = 500
/** The maximum size of an egg, the same as for uploads. */
const LARGEST_EGG_BYTES = 200 * 1024 * 1024
/** How much of an imported log is read. Nothing else reads these logs, so the tail must contain even long stats. */
const IMPORTED_TAIL_BYTES = 8 * CLOSING_TAIL_BYTES
const REPORT_EVERY_MS = 2_000

/**
 * Imports the eggs, jobs, logs and items of a stopped Scrapyd. Can be interrupted and repeated, because each item is
 * written whole and recognized by its content. Rejects with DATA_DIRECTORY_IN_USE while an engine uses the data
 * directory.
 */
export async function importScrapyd(options: ImportOptions): Promise<ImportCounts> {
  const { dataDirectory, dryRun } = options
  const clock = options.clock ?? systemClock
  const isNew = !existsSync(join(dataDirectory, 'scrapdeck.sqlite'))
  const workDirectory = dryRun && isNew ? await mkdtemp(join(tmpdir(), 'scrapdeck-dry-')) : dataDirectory
  try {
    openDataDirectory(workDirectory)
    const store = await openSqliteStore({ path: join(workDirectory, 'scrapdeck.sqlite'), clock, logger: silentLogger })
    try {
      return await importInto(store, workDirectory, options, clock)
    } finally {
      await store.close()
    }
  } finally {
    if (workDirectory !== dataDirectory) await rm(workDirectory, { recursive: true, force: true })
  }
}

/** Returns null in a dry run, or if the blobs are in the data directory. */
async function openShared(
  store: Pick<SettingStore, 'getSetting'>,
  dataDirectory: string,
  { s3 = null, blobsDirectory = null, dryRun }: ImportOptions,
  clock: Clock
): Promise<SharedBlobs | null> {
  const base = { clock, random: systemRandom, logger: silentLogger }
  if (dryRun || (s3 === null && blobsDirectory === null)) return null
  if (blobsDirectory !== null) {
    const knownMark = knownMarkOf(await store.getSetting('blobs.directory'), blobsDirectory)
    return openDirectoryBlobs({ ...base, path: blobsDirectory, knownMark })
  }
  return openS3Blobs({ ...s3!, ...base, cacheDirectory: join(dataDirectory, 'blob-cache') })
}

async function importInto(
  store: JobStore & VersionStore & ProjectSettingsStore & AttemptReader & Pick<SettingStore, 'getSetting'>,
  dataDirectory: string,
  options: ImportOptions,
  clock: Clock
): Promise<ImportCounts> {
  const { source } = options
  // Names are untrusted, and terminals act on some characters.
  const report = (line: string) => options.report(showUnseen(line))
  const skipIn = (count: Count, words: string) => {
    count.skipped++
    report(`skipped ${words}`)
  }
  const local = join(dataDirectory, 'local')
  if (!options.dryRun) makePrivateDirectory(local)
  const directories = {
    eggs: join(local, 'eggs'),
    logs: join(local, 'logs'),
    items: join(local, 'items'),
    ...options.directories
  }
  let eggTimeMs = clock.nowMs()
  const sharedBlobs = await openShared(store, dataDirectory, options, clock)
  await using opened = new AsyncDisposableStack()
  opened.adopt(sharedBlobs, (one) => one?.stop())
  const stored = sharedBlobs?.store ?? (await openFilesystemBlobStore(join(dataDirectory, 'blobs')))
  const keys = await openEncryptionKeys(options.encryption)
  recordKeys(await store.getSetting('encryption.keys'), keys)
  const projects = await Projects.open({
    store,
    blobs: keys.newest === null ? stored : new SealedBlobStore(stored, keys),
    incoming: IncomingFiles.open(join(dataDirectory, 'incoming')),
    eggDirectory: join(local, 'egg-files'),
    ...(options.dryRun ? {} : { tree: await EggTree.open(directories.eggs, silentLogger) }),
    listSpidersOfEgg: null,
    clock: { ...clock, nowMs: () => eggTimeMs },
    logger: silentLogger
  })
  const eggs = await importEggs()
  const databases = readDatabases()
  const logs = await importFiles('logs', source.logs, directories.logs)
  const items = await importFiles('items', source.items, directories.items)
  const finished = await importFinished()
  const pending = await importPending()
  return { eggs, pending, finished, logs, items }

  async function importEggs(): Promise<Count> {
    const count = newCount()
    for (const project of (await directoriesIn(source.eggs)) as ProjectName[]) {
      const names = (await readdir(join(source.eggs, project))).filter((name) => /^[^.].*\.egg$/.test(name)).sort()
      // If version names define no order, the newest upload is the latest, so keep the order of Scrapyd's list.
      let lastMs = 0
      for (const name of names) {
        const path = join(source.eggs, project, name)
        const version = name.slice(0, -'.egg'.length) as VersionName
        const writtenMs = Math.floor((await stat(path).catch(() => null))?.mtimeMs ?? 0)
        eggTimeMs = lastMs = Math.max(writtenMs, lastMs + 1)
        await importEgg(count, { project, version, path })
      }
    }
    report(`eggs: ${words(count)}`)
    return count
  }

  async function importEgg(
    count: Count,
    egg: { project: ProjectName; version: VersionName; path: string }
  ): Promise<void> {
    const { project, version, path } = egg
    const skip = (why: string) => skipIn(count, `${path}: ${why}`)
    const problem = problemOfPathPart(project)
    if (problem !== null) return skip(`the project's name ${problem.text}`)
    const bytes = await readEgg(path)
    if (typeof bytes === 'string') return skip(bytes)
    const known = projects.catalog.find(project, version)
    if (known !== null && known.sha256 !== null) {
      if (known.sha256 !== createHash('sha256').update(bytes).digest('hex')) {
        return skip(`Scrapdeck already has another egg of version ${known.version} of ${project} and keeps it`)
      }
      count.known++
      return
    }
    try {
      if (options.dryRun) await inspectEgg(bytes)
      else await projects.upload(bytes, { project, version })
      count.taken++
    } catch (error) {
      skip((error as Error).message)
    }
  }

  function readDatabases() {
    const read: { project: ProjectName; database: ReturnType<typeof readScrapydDatabase> }[] = []
    for (const name of source.databases === null ? [] : listDatabases(source.databases)) {
      try {
        const database = readScrapydDatabase(join(source.databases!, name))
        read.push({ project: name.slice(0, -'.db'.length) as ProjectName, database })
      } catch (error) {
        report(`skipped ${join(source.databases!, name)}: it cannot be read (${(error as Error).message})`)
      }
    }
    if (source.sharedQueue === undefined) return read
    const { address, executionRef } = source.sharedQueue
    const { rows, isCut } = readSharedQueueTable(address, executionRef)
    if (isCut) report(`the shared queue has more jobs than ${rows.length}: the oldest are left out`)
    return [...read, ...projectsOfSharedQueue(rows, clock.nowMs())]
  }

  async function importFiles(noun: string, from: string | null, to: string | null): Promise<Count> {
    const count = newCount()
    if (from === null) return count
    const files = await listFiles(from)
    if (to === null) {
      count.skipped = files.length
      if (files.length > 0) report(`skipped ${files.length} files of ${from}: the configuration does not keep ${noun}`)
      return count
    }
    if (resolve(from) === resolve(to)) {
      report(`${noun}: ${files.length} files stay where they are, in ${to}`)
      count.known = files.length
      return count
    }
    let doneBytes = 0
    const totalBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0)
    let reportAtMs = clock.nowMs() + REPORT_EVERY_MS
    for (const { path, sizeBytes } of files) {
      const target = join(to, path)
      try {
        const isNew = options.dryRun ? !existsSync(target) : await copyOnce(join(from, path), target)
        if (isNew) count.taken++
        else count.known++
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOSPC') throw error
        skipIn(count, `${join(from, path)}: it cannot be copied (${(error as Error).message})`)
      }
      doneBytes += sizeBytes
      if (clock.nowMs() < reportAtMs) continue
      reportAtMs = clock.nowMs() + REPORT_EVERY_MS
      report(`${noun}: ${megabytes(doneBytes)} of ${megabytes(totalBytes)}`)
    }
    report(`${noun}: ${words(count)} (${megabytes(totalBytes)})`)
    return count
  }

  async function importFinished(): Promise<Count> {
    const count = newCount()
    let batch: { job: NewJob; start: AttemptStart; changes: AttemptChange[] }[] = []
    const write = async () => {
      if (!options.dryRun) await store.recordRuns(batch)
      count.taken += batch.length
      batch = []
    }
    const seen = new Set<string>()
    for (const row of databases.flatMap(({ database }) => database.finished)) {
      if (Object.values(row).some((value) => typeof value !== 'string')) {
        skipIn(count, 'a finished job: its row contains a value that is not text')
        continue
      }
      const startedAtMs = parseScrapydTime(row.startTime)
      const endedAtMs = parseScrapydTime(row.endTime)
      const problem = [row.project, row.spider, row.job].map(problemOfPathPart).find((one) => one !== null)
      if (startedAtMs === null || endedAtMs === null || problem !== undefined) {
        const why = problem ? `a name ${problem.text}` : 'it has no times'
        skipIn(count, `the finished job ${JSON.stringify(row.job)}: ${why}`)
        continue
      }
      const id = importedId(startedAtMs, ['finished', row.project, row.spider, row.job, row.startTime])
      if (seen.has(id) || (await store.getJob(id)) !== null) {
        count.known++
        continue
      }
      seen.add(id)
      batch.push(await endedRun(id, row, { startedAtMs, endedAtMs }))
      if (batch.length === BATCH) await write()
    }
    if (batch.length > 0) await write()
    report(`finished jobs: ${words(count)}`)
    return count
  }

  async function endedRun(
    id: JobId,
    row: { project: ProjectName; spider: string; job: string },
    times: { startedAtMs: number; endedAtMs: number }
  ): Promise<{ job: NewJob; start: AttemptStart; changes: AttemptChange[] }> {
    const { project, spider, job: jobid } = row
    const log = source.logs === null ? null : join(source.logs, project, spider, `${jobid}.log`)
    const tail = log === null ? null : await readTail(log)
    const judged = judgeOutcome({ tail, exit: null, cancelAsked: false })
    // Scrapyd keeps only the newest logs of each spider. Without a log, the run's outcome is unknown.
    const { outcome, reason } =
      tail === null ? { outcome: 'lost' as const, reason: say('reason.scrapyd_kept_no_log') } : judged
    const evidence = { importedFrom: 'Scrapyd' }
    const begun = { atMs: times.startedAtMs, message: say('timeline.imported_from_history'), evidence }
    const ended = {
      atMs: times.endedAtMs,
      message: say('timeline.ended_in_scrapyd', { reason: asParam(reason) }),
      evidence
    }
    return {
      job: { ...PLAIN_JOB, id, jobid, project, spider, source: 'scrapyd', entry: begun },
      start: {
        jobId: id,
        number: nextAttempt(0),
        jobid,
        nodeId: LOCAL_NODE_ID,
        version: '' as VersionName,
        entry: { ...begun, message: say('timeline.ran_in_scrapyd') }
      },
      changes: [
        {
          jobId: id,
          attemptNumber: nextAttempt(0),
          from: ['sending'],
          to: 'ended',
          kind: 'ended',
          entry: ended,
          result: outcome,
          reason,
          killingLine: judged.killingLine,
          details: { startedAtMs: times.startedAtMs, stats: judged.stats },
          counts: judged.counts
        }
      ]
    }
  }

  async function importPending(): Promise<Count> {
    const count = newCount()
    const jobs: NewJob[] = []
    const nowMs = clock.nowMs()
    for (const { project, database } of databases) {
      if (database.pending.length === 0) continue
      if (!hasProject(project)) {
        count.skipped += database.pending.length
        report(`skipped ${database.pending.length} pending jobs of ${project}: there is no such project`)
        continue
      }
      for (const row of database.pending) {
        const pending = readPendingJob(row)
        if (typeof pending === 'string') {
          skipIn(count, `the pending job in row ${row.id} of ${project}: ${pending}`)
          continue
        }
        // Ascending ids keep the order of jobs with equal priority. Later imports recognize a job by the hash at the
        // end of its id.
        const id = importedId(nowMs + jobs.length, ['pending', project, String(row.id), row.message])
        const namesakes = await store.findJobsByJobid(project, pending.jobid)
        if (namesakes.some((job) => markOf(job.id) === markOf(id))) {
          count.known++
          continue
        }
        const entry = { atMs: nowMs, message: say('timeline.imported_from_queue'), evidence: {} }
        jobs.push({ ...PLAIN_JOB, ...pending, id, project, source: 'scrapyd', entry })
      }
    }
    for (let at = 0; at < jobs.length; at += BATCH) {
      if (!options.dryRun) await store.enqueueJobs(jobs.slice(at, at + BATCH))
    }
    count.taken = jobs.length
    report(`pending jobs: ${words(count)}`)
    return count
  }

  /** In a dry run, the project's eggs have not been imported. */
  function hasProject(project: ProjectName): boolean {
    return (
      hasEggs(projects, project) ||
      source.settingsProjects.includes(project) ||
      (options.dryRun && existsSync(join(source.eggs, project)))
    )
  }
}

/** Creates an id that ends in a hash of the job's content. */
function importedId(atMs: number, parts: string[]): JobId {
  const mark = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 20)
  return (Math.max(0, atMs).toString(16).padStart(12, '0') + mark) as JobId
}

function markOf(id: JobId): string {
  return id.slice(12)
}

function hasEggs(projects: Projects, project: ProjectName): boolean {
  return (projects.catalog.versionNames(project) ?? []).length > 0
}

async function directoriesIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort()
}

/** Returns the reason if the egg cannot be read. */
async function readEgg(path: string): Promise<Buffer | string> {
  try {
    await using file = await openRegularFile(path)
    if (file === null) return 'it is not a regular file'
    if ((await file.stat()).size > LARGEST_EGG_BYTES) return 'it is larger than 200 MB'
    return await file.readFile()
  } catch (error) {
    return `it cannot be read (${(error as Error).message})`
  }
}

async function readTail(path: string): Promise<string | null> {
  const range = { offset: -IMPORTED_TAIL_BYTES, limitBytes: IMPORTED_TAIL_BYTES }
  const tail = await readFileRange(path, range).catch(() => null)
  return tail && Buffer.from(tail.bytes).toString()
}

function newCount(): Count {
  return { taken: 0, known: 0, skipped: 0 }
}

function words({ taken, known, skipped }: Count): string {
  return `${taken} imported, ${known} already known, ${skipped} skipped`
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}

function listDatabases(directory: string): string[] {
  if (!existsSync(directory)) return []
  return readdirSync(directory)
    .filter((name) => name.endsWith('.db') && statSync(join(directory, name), { throwIfNoEntry: false })?.isFile())
    .sort()
}

import { lstat, readdir, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { Readable } from 'node:stream'
import type { JobId, ProjectName } from '../../../shared/contract/index.ts'
import { LOCAL_NODE_ID } from '../../../shared/ids.ts'
import type { ItemsArchive } from '../../runs/log-collector/items-archive.ts'
import type { Fleet } from '../../nodes/fleet.ts'
import type { JobLogs } from '../../runs/logs/job-logs.ts'
import type { LogRange } from '../../nodes/node-client.ts'
import { toClientError } from '../../nodes/node-failure.ts'
import { problemOfPathPart } from '../../projects/names.ts'
import { openRegularFile } from '../../runtime/regular-file.ts'
import type { StoredJob } from '../../model/records.ts'
import type { AttemptReader, JobReader } from '../../storage/store.ts'
import type { FileTree, ScrapydDirectory, ScrapydFile } from './scrapyd-shapes.ts'

export interface ScrapydFilesParts {
  store: JobReader & AttemptReader
  fleet: Fleet
  jobLogs: JobLogs
  itemsArchive: Pick<ItemsArchive, 'sizeBytes' | 'read' | 'whyGone'>
  directories: Record<FileTree, string | null>
}

type Entry = ScrapydDirectory['entries'][number]
type Read = (range: { offset: number; limitBytes: number }) => Promise<LogRange | null>

const EXTENSIONS = { logs: '.log', items: '.jl' } as const
const PIECE_BYTES = 1024 * 1024
const LISTED_OF_OTHER_NODES = 1000
/**
 * The maximum number of listed items files per node. Listing one takes a request to the node. By default, a Scrapyd
 * keeps five.
 */
const LISTED_ITEMS_OF_A_NODE = 100
const GONE_IN_A_ROW = 3
const NOWHERE = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'EACCES', 'ERR_INVALID_ARG_VALUE'])

/** The fleet's logs and items as two trees PROJECT/SPIDER/JOBID.log and .jl. Local files take precedence. */
export class ScrapydFiles {
  readonly #parts: ScrapydFilesParts

  constructor(parts: ScrapydFilesParts) {
    this.#parts = parts
  }

  /** Rejects with a NODE_ code if the node that has the file fails. */
  async open(tree: FileTree, segments: string[]): Promise<ScrapydFile | ScrapydDirectory | null> {
    const root = this.#parts.directories[tree]
    const local = root === null ? null : await openLocal(root, segments)
    if (local?.kind === 'file') return local
    // The directory does not exist before the first run, but Scrapyd lists an empty folder.
    const isEmptyTree = local === null && segments.length === 0 && root !== null
    if (local === null && segments.length === 3)
      return this.#openOnNode(tree, segments as [ProjectName, string, string])
    const hasRemote = this.#parts.fleet.list().some(({ stored }) => stored.kind !== 'local')
    if (!hasRemote && segments.length !== 2) {
      return isEmptyTree ? { kind: 'directory', entries: [] } : local
    }
    const remote = await this.#listOnNodes(tree, segments as [] | [ProjectName, ...string[]])
    if (local === null && remote.length === 0 && segments.length > 0) return null
    const known = new Set(local?.entries.map(({ name }) => name))
    const entries = [...(local?.entries ?? []), ...remote.filter(({ name }) => !known.has(name))]
    return { kind: 'directory', entries: entries.sort((one, other) => (one.name < other.name ? -1 : 1)) }
  }

  async hasLocal(tree: FileTree, run: { project: ProjectName; spider: string; jobid: string }): Promise<boolean> {
    const root = this.#parts.directories[tree]
    if (root === null) return false
    try {
      await stat(join(root, run.project, run.spider, run.jobid + EXTENSIONS[tree]))
      return true
    } catch (error) {
      if (leadsNowhere(error)) return false
      throw error
    }
  }

  async #openOnNode(
    tree: FileTree,
    [project, spider, file]: [ProjectName, string, string]
  ): Promise<ScrapydFile | null> {
    if (!file.endsWith(EXTENSIONS[tree])) return null
    const job = await this.#findJob(file.slice(0, -EXTENSIONS[tree].length), project, spider)
    if (job === null) return null
    const read: Read = (range) =>
      tree === 'logs' ? this.#parts.jobLogs.read(job.id, range) : this.#readItems(job, range)
    const start = await read({ offset: 0, limitBytes: 1 })
    if (start === null) return null
    return {
      kind: 'file',
      sizeBytes: start.sizeBytes,
      modifiedAtMs: job.endedAtMs,
      read: (from, to) => Readable.from(readPieces(read, from, to), { objectMode: false })
    }
  }

  async #findJob(name: string, project: ProjectName, spider: string): Promise<StoredJob | null> {
    const named = (await this.#parts.store.findJobsByJobid(project, name)).find((job) => job.spider === spider)
    const job = named ?? (await this.#parts.store.getJob(name as JobId))
    return job?.project === project && job.spider === spider ? job : null
  }

  async #readItems(job: StoredJob, range: { offset: number; limitBytes: number }): Promise<LogRange | null> {
    const attempt = (await this.#parts.store.listAttempts(job.id)).at(-1)
    if (attempt === undefined) return null
    const kept = await this.#parts.itemsArchive.read(attempt, range)
    if (kept !== null || attempt.nodeId === LOCAL_NODE_ID) return kept
    // Files that retention deleted are treated as gone, even if their node still has them.
    if ((await this.#parts.itemsArchive.whyGone(attempt))?.data['deletedAtMs'] != null) return null
    const node = this.#parts.fleet.get(attempt.nodeId)
    if (node === undefined) return null
    try {
      return await node.client.readItems(attempt, range)
    } catch (error) {
      throw toClientError(error)
    }
  }

  async #listOnNodes(tree: FileTree, [project, spider, ...deeper]: [] | [ProjectName, ...string[]]): Promise<Entry[]> {
    const unknown = { sizeBytes: null, modifiedAtMs: null }
    const { store } = this.#parts
    if (spider === undefined) {
      // The list comes from runs instead of uploads, because the logs of a deleted project remain, as on a disk.
      const ran = await store.listSpidersElsewhere(LOCAL_NODE_ID)
      const names = project === undefined ? ran.map((run) => run.project) : spidersIn(ran, project)
      return [...new Set(names)].map((name) => ({ name, isDirectory: true, ...unknown }))
    }
    if (deeper.length > 0) return []
    const used = new Set<string>()
    /** The job's id replaces a jobid that is not a valid file name or is already taken. */
    const nameOf = ({ id, jobid }: StoredJob) => {
      if (problemOfPathPart(jobid) !== null || used.has(jobid)) return id
      used.add(jobid)
      return jobid
    }
    const jobs = await store.listJobs({ project, spider }, { before: null, limit: LISTED_OF_OTHER_NODES })
    const entries = jobs
      .filter((job) => job.project === project && job.spider === spider && job.attemptCount > 0)
      .filter((job) => job.state === 'ended' || (job.state === 'running' && job.nodeId !== LOCAL_NODE_ID))
      .map((job) => ({
        job,
        entry: { ...unknown, name: nameOf(job) + EXTENSIONS[tree], isDirectory: false, modifiedAtMs: job.endedAtMs }
      }))
    if (tree === 'items') return this.#keepExisting(entries)
    const hasLog = await Promise.all(entries.map(({ job }) => this.#hasLog(job)))
    return entries.filter((_, index) => hasLog[index]).map(({ entry }) => entry)
  }

  async #keptBytes({ id }: StoredJob): Promise<number | null> {
    const attempt = (await this.#parts.store.listAttempts(id)).at(-1)
    return attempt === undefined ? null : this.#parts.itemsArchive.sizeBytes(attempt)
  }

  async #hasLog({ id, nodeId }: StoredJob): Promise<boolean> {
    const attempt = (await this.#parts.store.listAttempts(id)).at(-1)
    if (attempt === undefined) return false
    return attempt.logArchived || (nodeId !== LOCAL_NODE_ID && attempt.logDeletedAtMs === null)
  }

  /**
   * Omits items that their node has deleted. Checks the files of each node, newest first, until several in a row are
   * gone.
   */
  async #keepExisting(runs: { job: StoredJob; entry: Entry }[]): Promise<Entry[]> {
    const kept: Entry[] = []
    const elsewhere: typeof runs = []
    const sizes = await Promise.all(runs.map(({ job }) => this.#keptBytes(job)))
    for (const [index, run] of runs.entries()) {
      const sizeBytes = sizes[index]!
      if (sizeBytes !== null) kept.push({ ...run.entry, sizeBytes })
      else if (run.job.nodeId !== LOCAL_NODE_ID) elsewhere.push(run)
    }
    const byNode = Map.groupBy(elsewhere, ({ job }) => job.nodeId)
    const found = [...byNode.values()].map(async (ofNode) => {
      const entries: Entry[] = []
      for (let at = 0, gone = 0; at < ofNode.length && gone < GONE_IN_A_ROW; at += 1) {
        const { job, entry } = ofNode[at]!
        const start = await this.#readItems(job, { offset: 0, limitBytes: 1 }).catch(() => undefined)
        if (start === undefined) return entries
        gone = start === null ? gone + 1 : 0
        if (start !== null) entries.push({ ...entry, sizeBytes: start.sizeBytes })
        if (entries.length >= LISTED_ITEMS_OF_A_NODE) return entries
      }
      return entries
    })
    return [...kept, ...(await Promise.all(found)).flat()]
  }
}

function spidersIn(ran: { project: ProjectName; spider: string }[], project: ProjectName): string[] {
  return ran.filter((run) => run.project === project && problemOfPathPart(run.spider) === null).map((run) => run.spider)
}

async function openLocal(root: string, segments: string[]): Promise<ScrapydFile | ScrapydDirectory | null> {
  try {
    const realRoot = await realpath(root)
    const path = await realpath(join(root, ...segments))
    if (!isInside(path, realRoot)) return null
    // A link may have replaced the file since realpath.
    const stats = await lstat(path)
    if (stats.isDirectory()) return { kind: 'directory', entries: await readEntries(path, realRoot) }
    // Reading a pipe or a device would never end.
    if (!stats.isFile()) return null
    return {
      kind: 'file',
      sizeBytes: stats.size,
      modifiedAtMs: stats.mtimeMs,
      read: (start, stop) => Readable.from(readFound(path, stats, { start, stop }), { objectMode: false })
    }
  } catch (error) {
    if (leadsNowhere(error)) return null
    throw error
  }
}

/** Skips what cannot be served: broken links, links out of the tree, and special files such as pipes. */
async function readEntries(directory: string, realRoot: string): Promise<Entry[]> {
  const found = (await readdir(directory, { withFileTypes: true })).sort((one, other) =>
    one.name < other.name ? -1 : 1
  )
  const entries: Entry[] = []
  for (let at = 0; at < found.length; at += 64) {
    const described = found.slice(at, at + 64).map(async (entry): Promise<Entry[]> => {
      try {
        const path = join(directory, entry.name)
        if (entry.isSymbolicLink() && !isInside(await realpath(path), realRoot)) return []
        const stats = await stat(path)
        const { size, mtimeMs } = stats
        const isDirectory = stats.isDirectory()
        if (!isDirectory && !stats.isFile()) return []
        return [{ name: entry.name, isDirectory, sizeBytes: isDirectory ? null : size, modifiedAtMs: mtimeMs }]
      } catch (error) {
        if (leadsNowhere(error)) return []
        throw error
      }
    })
    entries.push(...(await Promise.all(described)).flat())
  }
  return entries
}

/** Reads the file that was found. A spider may have replaced it with a pipe or a link. */
async function* readFound(
  path: string,
  found: { dev: number; ino: number },
  { start, stop }: { start: number; stop: number }
): AsyncGenerator<Uint8Array> {
  const file = await openRegularFile(path)
  if (file === null) throw new Error('A file was replaced while it was read.')
  const stream = file.createReadStream({ start, end: stop - 1 })
  const { dev, ino } = await file.stat()
  if (dev !== found.dev || ino !== found.ino) {
    stream.destroy()
    throw new Error('A file was replaced while it was read.')
  }
  yield* stream
}

async function* readPieces(read: Read, start: number, stop: number): AsyncGenerator<Uint8Array> {
  for (let offset = start; offset < stop; ) {
    const piece = await read({ offset, limitBytes: Math.min(PIECE_BYTES, stop - offset) })
    // If the stream ended early, the client would take the file for complete.
    if (piece === null || piece.bytes.length === 0) throw new Error('A file shrank while it was read.')
    yield piece.bytes.subarray(0, stop - offset)
    offset += piece.bytes.length
  }
}

function isInside(path: string, root: string): boolean {
  return path === root || path.startsWith(root + sep)
}

function leadsNowhere(error: unknown): boolean {
  return NOWHERE.has((error as NodeJS.ErrnoException).code ?? '')
}

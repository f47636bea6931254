import { createHash } from 'node:crypto'
import { lstat } from 'node:fs/promises'
import type {
  Attempt,
  AttemptNumber,
  ExportProgress,
  FieldStatistics,
  ItemCondition,
  ItemsDiff,
  ItemsFacts,
  ItemsFormat,
  ItemsPage,
  JobId
} from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/runs.ts'
import { LOCAL_NODE_ID } from '../../../shared/ids.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Random } from '../../runtime/random.ts'
import type { FilledFields } from '../../model/records.ts'
import { requireJob } from '../../storage/require-job.ts'
import type { AttemptReader, JobReader } from '../../storage/store.ts'
import { Exports } from './exports.ts'
import type { ItemsCache } from './items-cache.ts'
import { type CallOptions, ItemsProcess } from './items-process.ts'
import type { ItemsSource, PageInput, WholeItem } from './messages.ts'
import { type ReadRange, RemoteCopies } from './remote-copies.ts'

export interface KeptItems {
  sizeBytes(attempt: Attempt): Promise<number | null>
  /** Why the items are gone (`data.deletedAtMs`: retention deleted them). Null: nothing was recorded. */
  whyGone(attempt: Attempt): Promise<ScrapdeckError | null>
}

export interface JobItemsParts {
  store: JobReader & AttemptReader
  cache: ItemsCache
  clock: Clock
  random: Random
  logger: Logger
  /** The path of the items file of a run on the local node. Null: the run does not write its items to a file. */
  localFileOf: (attempt: Attempt) => string | null
  /** Reads from the archive if it has the file, otherwise from the node. */
  readRange: ReadRange
  archive: KeptItems
  /** Why DuckDB must not be loaded here. Null: it can be loaded. */
  whyNoDuckdb: string | null
}

/** `attemptNumber` defaults to the job's last attempt. */
interface Wanted {
  jobId: JobId
  attemptNumber?: AttemptNumber | undefined
}

interface Found {
  source: ItemsSource
  attempt: Attempt
  from: ItemsFacts['from']
  /** The size of the whole file. `source` can contain less. */
  sizeBytes: number
}

/** How much of a file an unfiltered page reads before it copies more from the node. */
const FIRST_BYTES = 8 * 1024 * 1024
/** The maximum sizes of files whose items are counted in the background. Remote files are copied first. */
const COUNTED_MAX_BYTES = { local: 512 * 1024 * 1024, archive: 512 * 1024 * 1024, node: 64 * 1024 * 1024 }
const TIME_LIMITS_MS = { quick: 30_000, query: 120_000, export: 30 * 60_000 }

export class JobItems {
  readonly #parts: JobItemsParts
  readonly #process: ItemsProcess
  readonly #copies: RemoteCopies
  readonly #exports: Exports

  constructor(parts: JobItemsParts) {
    this.#parts = parts
    this.#process = new ItemsProcess({ ...parts, whyNoProcess: parts.whyNoDuckdb })
    this.#copies = new RemoteCopies(parts)
    this.#exports = new Exports(parts)
  }

  async stop(): Promise<void> {
    this.#copies.stop()
    this.#process.stop()
    await this.#exports.stop()
    await this.#parts.cache.empty()
  }

  /** Like all reads of this class, rejects with an ITEMS_ code, or with a NODE_ code if the node fails. */
  async describe(wanted: Wanted, count: boolean, signal?: AbortSignal): Promise<ItemsFacts> {
    const { source, attempt, from, sizeBytes } = await this.#find(wanted, count ? Infinity : FIRST_BYTES, signal)
    const options: CallOptions = {
      timeoutMs: count ? TIME_LIMITS_MS.query : TIME_LIMITS_MS.quick,
      isHeavy: count,
      signal
    }
    const described = await this.#using([source], () => this.#process.call('describe', { source, count }, options))
    const isWhole = source.sizeBytes === sizeBytes
    return {
      attemptNumber: attempt.number,
      from,
      nodeId: attempt.nodeId,
      sizeBytes,
      copiedBytes: source.sizeBytes,
      mayGrow: attempt.state !== 'ended',
      ...described,
      // Omits the counts if only a part of the file was read, because they would be wrong.
      ...(isWhole ? {} : { items: null, unreadable: null, endsInside: false })
    }
  }

  async page(wanted: Wanted, input: PageInput, signal?: AbortSignal): Promise<ItemsPage> {
    const isHeavy = input.sort !== null || input.filter.length > 0
    for (let wantedBytes = isHeavy ? Infinity : FIRST_BYTES; ; wantedBytes *= 8) {
      const { source, sizeBytes } = await this.#find(wanted, wantedBytes, signal)
      const options = { timeoutMs: TIME_LIMITS_MS.query, isHeavy, signal }
      const page = await this.#using([source], () => this.#process.call('page', { source, ...input }, options))
      if (source.sizeBytes >= sizeBytes || page.nextOffset !== null) return page
    }
  }

  async read(wanted: Wanted, index: number, signal?: AbortSignal): Promise<WholeItem> {
    const { source } = await this.#find(wanted, Infinity, signal)
    const options = { timeoutMs: TIME_LIMITS_MS.quick, isHeavy: false, signal }
    const item = await this.#using([source], () => this.#process.call('read', { source, index }, options))
    if (item !== null) return item
    throw new ScrapdeckError('ITEMS_NOT_FOUND', sentence('runs.job_no_item', { jobId: wanted.jobId, index }))
  }

  async fieldStatistics(wanted: Wanted, field: string, signal?: AbortSignal): Promise<FieldStatistics> {
    const { source } = await this.#find(wanted, Infinity, signal)
    const options = { timeoutMs: TIME_LIMITS_MS.query, isHeavy: true, signal }
    return this.#using([source], () => this.#process.call('fieldStatistics', { source, field }, options))
  }

  /** Counts the items in which each field is filled. Rejects with ITEMS_TOO_LARGE above COUNTED_MAX_BYTES. */
  async countFilled(wanted: Wanted, signal?: AbortSignal): Promise<FilledFields> {
    const { sizeBytes, from } = await this.#find(wanted, 1, signal)
    if (sizeBytes > COUNTED_MAX_BYTES[from]) {
      throw new ScrapdeckError('ITEMS_TOO_LARGE', sentence('runs.items_too_large_to_count', { jobId: wanted.jobId }))
    }
    const { source } = await this.#find(wanted, Infinity, signal)
    const options = { timeoutMs: TIME_LIMITS_MS.query, isHeavy: true, signal }
    return this.#using([source], () => this.#process.call('countFilled', { source }, options))
  }

  async diff(wanted: Wanted, before: JobId, key: string | null, signal?: AbortSignal): Promise<ItemsDiff> {
    const [one, other] = await Promise.all([
      this.#find({ jobId: before }, Infinity, signal),
      this.#find(wanted, Infinity, signal)
    ])
    const sources = { before: one.source, after: other.source }
    const options = { timeoutMs: TIME_LIMITS_MS.query, isHeavy: true, signal }
    const diff = await this.#using([one.source, other.source], () =>
      this.#process.call('diff', { ...sources, key }, options)
    )
    return { ...diff, before: { jobId: before, ...diff.before }, after: { jobId: wanted.jobId, ...diff.after } }
  }

  /** Yields progress until the file is complete, then the file. Ending the iteration ends the export. */
  async *export(
    wanted: Wanted,
    { format, filter }: { format: ItemsFormat; filter: ItemCondition[] },
    signal?: AbortSignal
  ): AsyncGenerator<ExportProgress, void> {
    const { source, attempt } = await this.#find(wanted, Infinity, signal)
    const ended = new AbortController()
    let share = 0
    let wake = () => {}
    const work = this.#exports.add((targetPath, maxBytes) =>
      this.#using([source], () =>
        this.#process.call(
          'export',
          { source, format, filter, targetPath, maxBytes },
          {
            timeoutMs: TIME_LIMITS_MS.export,
            isHeavy: true,
            signal: signal === undefined ? ended.signal : AbortSignal.any([ended.signal, signal]),
            onProgress(now) {
              share = now
              wake()
            }
          }
        )
      )
    )
    const done = work.then(
      () => true,
      () => true
    )
    try {
      for (let isDone = false; !isDone; ) {
        yield { share, file: null }
        const progress = new Promise<boolean>((resolve) => {
          wake = () => resolve(false)
        })
        isDone = await Promise.race([done, progress])
      }
      const { id, sizeBytes, items } = await work
      yield { share: 1, file: { id, name: fileNameOf(attempt, format), sizeBytes, items } }
    } finally {
      ended.abort()
    }
  }

  readExport(id: string, offset: number) {
    return this.#exports.read(id, offset)
  }

  #using<Result>(sources: ItemsSource[], work: () => Promise<Result>): Promise<Result> {
    return this.#parts.cache.using(
      sources.flatMap(({ path, convertedPath }) => [path, convertedPath]),
      work
    )
  }

  async #find(wanted: Wanted, wantedBytes: number, signal?: AbortSignal): Promise<Found> {
    const attempt = await this.#attemptOf(wanted)
    const local = await this.#findLocal(attempt)
    if (local !== null) return local
    const why = await this.#parts.archive.whyGone(attempt)
    // Retention deleted the items here, although the node may still have the file.
    if (why !== null && why.data['deletedAtMs'] != null) throw why
    const found = await this.#findCopied(attempt, wantedBytes, signal)
    if (found !== null) return found
    if (why !== null) throw why
    const yet = attempt.state === 'ended' ? '' : ' yet'
    const text = sentence('runs.no_readable_items', { jobId: wanted.jobId, yet })
    throw new ScrapdeckError('ITEMS_NOT_FOUND', text)
  }

  async #attemptOf({ jobId, attemptNumber }: Wanted): Promise<Attempt> {
    await requireJob(this.#parts.store, jobId)
    const attempts = await this.#parts.store.listAttempts(jobId)
    const attempt = attemptNumber === undefined ? attempts.at(-1) : attempts.find((one) => one.number === attemptNumber)
    if (attempt !== undefined) return attempt
    const which = attemptNumber === undefined ? 'has not run yet' : `has no attempt ${attemptNumber}`
    throw new ScrapdeckError('ITEMS_NOT_FOUND', sentence('runs.no_items_yet', { jobId, which }))
  }

  async #findLocal(attempt: Attempt): Promise<Found | null> {
    const path = attempt.nodeId === LOCAL_NODE_ID ? this.#parts.localFileOf(attempt) : null
    const source = path === null ? null : await this.#sourceOf(path)
    return source && { source, attempt, from: 'local', sizeBytes: source.sizeBytes }
  }

  async #findCopied(attempt: Attempt, wantedBytes: number, signal?: AbortSignal): Promise<Found | null> {
    const isKept = (await this.#parts.archive.sizeBytes(attempt)) !== null
    if (!isKept && attempt.nodeId === LOCAL_NODE_ID) return null
    const copy = await this.#copies.get(attempt, wantedBytes, signal)
    if (copy === null) return null
    const { path, copiedBytes, sizeBytes } = copy
    const source = await this.#sourceOf(path, copiedBytes)
    return source && { source, attempt, from: isKept ? 'archive' : 'node', sizeBytes }
  }

  /** Null: the file does not exist, or a spider put a link or a pipe in its place. */
  async #sourceOf(path: string, sizeBytes?: number): Promise<ItemsSource | null> {
    const found = await lstat(path).catch(() => null)
    if (found === null || !found.isFile()) return null
    const size = Math.min(found.size, sizeBytes ?? found.size)
    const fileId = `${found.dev}-${found.ino}`
    const version = `${path} ${fileId} ${size} ${sizeBytes === undefined ? found.mtimeMs : ''}`
    const { cache } = this.#parts
    const convertedPath = cache.pathOf(`${createHash('sha256').update(version).digest('hex').slice(0, 32)}.lines`)
    return {
      path,
      fileId,
      sizeBytes: size,
      convertedPath,
      convertedMaxBytes: cache.limits.cacheBytes,
      spillDirectory: cache.spillDirectory
    }
  }
}

/** Uses the name on the local node, but without characters that a file system may reject. */
function fileNameOf({ jobId, number }: Attempt, format: ItemsFormat): string {
  return `items-${jobId}${number === 1 ? '' : `-${number}`}.${format}`
}

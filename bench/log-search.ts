import { mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync, statSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { openFilesystemBlobStore } from '../src/engine/storage/blobs/filesystem/filesystem-blob-store.ts'
import { LogCache } from '../src/engine/runs/logs/archive/log-cache.ts'
import { LogArchive } from '../src/engine/runs/logs/archive/log-archive.ts'
import { packSmallLog, SMALL_LOG_MAX_BYTES } from '../src/engine/runs/logs/archive/small-log.ts'
import { openLogThreads } from '../src/engine/runs/logs/scan/log-scans.ts'
import { systemClock } from '../src/engine/runtime/clock.ts'
import { silentLogger } from '../src/engine/runtime/logger.ts'
import { systemRandom } from '../src/engine/runtime/random.ts'
import { FleetSearch } from '../src/engine/runs/search/fleet-search.ts'
import { LogIndex, openSearchThreads } from '../src/engine/runs/search/log-index.ts'
import { openStoreInWorker } from '../src/engine/storage/thread/store-thread.ts'
import type { Store } from '../src/engine/storage/store.ts'
import { aNewJob, anAttemptStart } from '../src/engine/testing/builders.ts'
import { createSeededRandom } from '../src/engine/testing/seeded-random.ts'
import { FleetLogSearchInput, type JobId } from '../src/shared/contract/index.ts'
import { anAttemptNumber } from '../src/shared/testing/ids.ts'
import type { Figure, Goal } from './figure.ts'
import { machine } from './support/bench-engine.ts'
import { BenchProblem } from './support/bench-problem.ts'
import { median, progress } from './support/sides.ts'

export const about = 'A search over the archived logs of a fleet: 20 GB in 50,000 logs (log-search 2: 2 GB in 5,000)'

const GIGABYTES = 20
const LOGS_PER_GIGABYTE = 2_500
const SPIDERS = 100
const RARE_RUNS = 5
/** The number of logs per batch. The index waits once per batch, and this wait must not count much. */
const BATCH = 1_000
/** The number of logs archived concurrently, as in finisher.ts. */
const AT_ONCE = 16
const FIRST = anAttemptNumber(1)
/** Search texts that each occur in only one log, except `none`, which occurs in no log. */
const RARE = {
  id: 'product-8153374621',
  exception: 'psycopg2.OperationalError: terminating connection',
  hex: '7c9e6679f4b1e007',
  url: '/checkout/confirm/8f3b-77',
  none: 'order 48151623'
}

interface Written {
  number: number
  spider: number
  path: string
  sizeBytes: number
}

export async function run([scale]: string[]): Promise<Figure[]> {
  const gigabytes = Number(scale ?? GIGABYTES)
  if (!(gigabytes > 0)) throw new BenchProblem(`${scale} is no number of gigabytes`)
  const { bavail, bsize } = statfsSync(tmpdir())
  const needed = gigabytes * 250_000_000
  if (bavail * bsize < needed) throw new BenchProblem(`${tmpdir()} has no room for ${needed / 1e9} GB`)
  return measure({ gigabytes, logs: Math.round(gigabytes * LOGS_PER_GIGABYTE) })
}

interface Size {
  gigabytes: number
  logs: number
}

export async function measure(size: Size): Promise<Figure[]> {
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-bench-search-'))
  try {
    await using opened = new AsyncDisposableStack()
    return await measureIn(directory, size, opened)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

async function measureIn(directory: string, size: Size, opened: AsyncDisposableStack): Promise<Figure[]> {
  const clock = systemClock
  const store = await openStoreInWorker({ path: join(directory, 'scrapdeck.sqlite'), clock, logger: silentLogger })
  opened.adopt(store, () => store.close())
  const [archiving, indexing, searching] = [
    openLogThreads(clock, 1),
    openSearchThreads(clock, 1),
    openSearchThreads(clock, 2)
  ]
  for (const threads of [archiving, indexing, searching]) opened.adopt(threads, () => threads.close())
  const archive = new LogArchive({
    blobs: await openFilesystemBlobStore(join(directory, 'blobs')),
    threads: archiving,
    random: systemRandom,
    cache: LogCache.open(join(directory, 'cache')),
    directory: join(directory, 'copies')
  })
  const parts = { store, archive, clock, logger: silentLogger }
  const liveFileOf = async () => null
  const index = new LogIndex({ ...parts, indexing, searching, directory: join(directory, 'log-index') })
  opened.adopt(index, (one) => one.stop())
  const search = new FleetSearch({ ...parts, liveFileOf, index, threads: searching })

  index.start()
  const { bytes, ingestMs, cpuMs, largest } = await ingest({ directory, store, archive, index }, size)
  const indexBytes = sizeOfAll(join(directory, 'log-index'))
  progress(
    `log-search: ${(bytes / 1e9).toFixed(1)} GB archived and indexed, largest log ${Math.round(largest / 1e6)} MB`
  )

  const look = async (input: { text: string } & Partial<FleetLogSearchInput>, by = search) => {
    const beganAt = performance.now()
    const cpuBefore = process.cpuUsage()
    let firstAt: number | null = null
    let last = null
    let hits = 0
    const query = { maxSeconds: 60, maxBytes: 1e12, mostHits: 10_000, ...input }
    for await (const each of by.run(FleetLogSearchInput.parse(query))) {
      if (each.hits.length > 0) firstAt ??= performance.now() - beganAt
      hits += each.hits.length
      last = each
    }
    return {
      ...last!,
      hits,
      firstMs: firstAt ?? Number.NaN,
      tookMs: performance.now() - beganAt,
      cpuMs: cpuMsSince(cpuBefore)
    }
  }

  const first: number[] = []
  for (const text of ['Spider error processing', 'timed? ?out|503 Service', 'Traceback'])
    for (let round = 0; round < 3; round += 1)
      first.push((await look({ text, isRegex: text.includes('|'), mostHits: 100 })).firstMs)
  const rare: number[] = []
  const read: number[] = []
  for (const [name, text] of Object.entries(RARE))
    for (let round = 0; round < RARE_RUNS; round += 1) {
      const { hits, scanned, tookMs } = await look({ text })
      if (hits !== (name === 'none' ? 0 : 1)) throw new Error(`${hits} lines with ${text}`)
      rare.push(tookMs)
      if (round > 0) continue
      read.push(scanned.bytes / bytes)
      progress(`log-search: ${name}: ${Math.round(tookMs)} ms, read ${((scanned.bytes / bytes) * 100).toFixed(2)} %`)
    }
  // Without the index, a search reads every log, as with a text whose parts are in every block.
  const unaided = new FleetSearch({
    ...parts,
    liveFileOf,
    index: { probe: () => Promise.reject(new Error()) },
    threads: searching
  })
  const common = await look({ text: 'Scraped from <404' }, unaided)
  const literal = await look({ text: 'Scraped from <404', matchesCase: true }, unaided)
  const expression = await look({ text: String.raw`Crawled \(4\d\d\)`, isRegex: true, matchesCase: true }, unaided)
  const gbPerS = ({ scanned, tookMs }: typeof common) => Number((scanned.bytes / 1e6 / tookMs).toFixed(2))
  const conditions = {
    gb: Number((bytes / 1e9).toFixed(2)),
    logs: size.logs,
    spiders: SPIDERS,
    largest_log_mb: Math.round(largest / 1e6),
    common_scan_gb: Number((common.scanned.bytes / 1e9).toFixed(2)),
    rare_searches: rare.length,
    load_1_min: Number(loadavg()[0]!.toFixed(1)),
    ...machine()
  }
  const figure = (name: string, value: number, unit: string, goal?: Goal): Figure => ({
    figure: name,
    value,
    unit,
    conditions,
    ...(goal === undefined ? {} : { goal })
  })
  return [
    figure('first_hit_ms', Math.round(median(first)), 'ms', { atMost: 200 }),
    figure('first_hit_max_ms', Math.round(Math.max(...first)), 'ms'),
    figure('rare_all_hits_s', Number((median(rare) / 1_000).toFixed(2)), 's', { atMost: 2 }),
    figure('rare_all_hits_max_s', Number((Math.max(...rare) / 1_000).toFixed(2)), 's'),
    figure('rare_read_share', Number(median(read).toFixed(4)), 'share'),
    figure('common_scan_gb_per_s', gbPerS(common), 'GB/s', { atLeast: 0.7 }),
    figure('common_scan_case_gb_per_s', gbPerS(literal), 'GB/s'),
    figure('common_scan_regex_gb_per_s', gbPerS(expression), 'GB/s'),
    figure('common_scan_cpu_s_per_gb', Number((common.cpuMs / (common.scanned.bytes / 1e6)).toFixed(2)), 's'),
    figure('ingest_cpu_s_per_gb', Number((cpuMs / (bytes / 1e6)).toFixed(2)), 's'),
    figure('ingest_mb_per_s', Math.round(bytes / 1e3 / ingestMs), 'MB/s', { atLeast: 150 }),
    figure('index_size_share', Number((indexBytes / bytes).toFixed(4)), 'share', { atMost: 0.03 })
  ]
}

interface Target {
  directory: string
  store: Store
  archive: LogArchive
  index: LogIndex
}

async function ingest({ directory, store, archive, index }: Target, { gigabytes, logs }: Size) {
  const generator = new Worker(join(import.meta.dirname, 'support', 'generate-logs.ts'), {
    workerData: { directory, spiders: SPIDERS }
  })
  const sizes = logSizes(logs, gigabytes * 1e9)
  const rare = Object.values(RARE).slice(0, -1)
  let bytes = 0
  let ingestMs = 0
  let cpuMs = 0
  try {
    for (let from = 0; from < logs; from += BATCH) {
      const orders = Array.from({ length: Math.min(BATCH, logs - from) }, (_, at) => {
        const number = from + at
        const place = rare.findIndex((_, each) => number === Math.floor((logs * (2 * each + 1)) / (2 * rare.length)))
        const extra = place < 0 ? '' : `2026-11-02 12:00:00 [prices] ERROR: ${rare[place]} failed\n`
        return { number, spider: (number * 7) % SPIDERS, bytes: sizes[number]!, extra }
      })
      generator.postMessage(orders)
      const [written] = (await once(generator, 'message')) as [Written[]]
      const jobs = await createJobs(store, written)
      const beganAt = performance.now()
      const cpuBefore = process.cpuUsage()
      let isArchiving = true
      const waiting = written.map((log, at) => () => keep({ store, archive }, jobs[at]!, log))
      const lane = async () => {
        for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await next()
      }
      const archiving = Promise.all(Array.from({ length: AT_ONCE }, lane)).finally(() => {
        isArchiving = false
      })
      // Lets the index process new logs immediately. Otherwise, the index would wait two seconds.
      while (isArchiving) {
        await Promise.race([archiving, setTimeout(50)])
        await index.whenCaughtUp()
      }
      await archiving
      await index.whenCaughtUp()
      ingestMs += performance.now() - beganAt
      cpuMs += cpuMsSince(cpuBefore)
      for (const { sizeBytes } of written) bytes += sizeBytes
      if ((from / BATCH) % 10 === 9)
        progress(`log-search: ${(bytes / 1e9).toFixed(1)} GB, ${Math.round(bytes / 1e3 / ingestMs)} MB/s`)
    }
  } finally {
    await generator.terminate()
  }
  return { bytes, ingestMs, cpuMs, largest: Math.max(...sizes) }
}

function logSizes(logs: number, total: number): number[] {
  const random = createSeededRandom(11)
  const drawn = Array.from(
    { length: logs },
    () => Math.exp(3.2 * random.next() * random.next() * 2) * (0.2 + random.next())
  )
  const sum = drawn.reduce((all, each) => all + each, 0)
  return drawn.map((each) => Math.max(2_000, Math.round((each / sum) * total)))
}

async function createJobs(store: Store, logs: Written[]): Promise<JobId[]> {
  const jobs = logs.map(({ spider }) => aNewJob({ spider: `spider-${spider}` }))
  await store.enqueueJobs(jobs)
  await store.beginAttempts(jobs.map((job) => anAttemptStart(job, { nodeId: 'node-1' })))
  return jobs.map(({ id }) => id)
}

async function keep({ store, archive }: Pick<Target, 'store' | 'archive'>, jobId: JobId, log: Written): Promise<void> {
  const { path, sizeBytes } = log
  if (sizeBytes <= SMALL_LOG_MAX_BYTES) {
    const packed = (await packSmallLog({ offset: 0, sizeBytes, bytes: readFileSync(path) }))!
    return store.markLogArchived(jobId, FIRST, { packed, sizes: { rawBytes: sizeBytes, storedBytes: packed.length } })
  }
  const { rawBytes, packedBytes } = await archive.seal(jobId, FIRST, { kind: 'plain', path, sizeBytes })
  return store.markLogArchived(jobId, FIRST, { packed: null, sizes: { rawBytes, storedBytes: packedBytes } })
}

/** Returns the CPU time of all threads, which other programs on the machine hardly affect. */
function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

function sizeOfAll(directory: string): number {
  return readdirSync(directory, { recursive: true }).reduce((sum, name) => {
    const stat = statSync(join(directory, name as string))
    return sum + (stat.isFile() ? stat.size : 0)
  }, 0)
}

import { statfs } from 'node:fs/promises'
import { freemem, loadavg, totalmem } from 'node:os'
import { collectDefaultMetrics, Registry, Counter, Gauge, Histogram } from 'prom-client'
import type { EncryptionState, Figures, Node, NodeId, ProjectName } from '../../../shared/contract/index.ts'
import { timeOfJobId } from '../../../shared/ids.ts'
import type { AlertCounts } from '../alerts/alerts.ts'
import type { LogCollector } from '../../runs/log-collector/log-collector.ts'
import type { BeliefEvents } from '../../jobs/dispatch/live-attempts.ts'
import type { CacheCalls, CacheState } from '../../cluster/cache/shared-cache.ts'
import type { CacheFigures } from '../../runtime/cache-figures.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { BegunAttempt, StoredFiring } from '../../model/records.ts'
import type { JobReader, LaneReader } from '../../storage/store.ts'
import type { Tried } from '../../notify/deliveries/deliverer.ts'

class NamedMetrics {
  protected readonly registry = new Registry()
  readonly #prefix: string

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  protected gauge<Label extends string = never>(name: string, help: string, labelNames: Label[] = []): Gauge<Label> {
    return new Gauge({ name: this.#named(name), help, labelNames, registers: [this.registry] })
  }

  protected counter<Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> {
    return new Counter({ name: this.#named(name), help, labelNames, registers: [this.registry] })
  }

  protected histogram(name: string, help: string, buckets: number[]): Histogram {
    return new Histogram({ name: this.#named(name), help, buckets, registers: [this.registry] })
  }

  #named(name: string): string {
    return `${this.#prefix}_${name}`
  }
}

export interface MetricsParts {
  store: JobReader & LaneReader
  clock: Clock
  scrapdeckVersion: string
  host: string
  dataDirectory: string
  /** Prefix of the metric names, followed by `_`. Default: scrapdeck. */
  prefix?: string | undefined
  nodeName: (nodeId: NodeId) => string | undefined
  collector: Pick<LogCollector, 'allLive'>
}

export interface BlobFigures {
  isUsable: boolean
  requests: RequestFigures | null
}

interface RequestFigures {
  requests: ReadonlyMap<string, { answered: number; refused: number; failed: number; seconds: number }>
  retries: number
  sentBytes: number
  receivedBytes: number
}

/**
 * The maximum number of label values. Further values are summed as `other`, because Prometheus keeps a time series for
 * each.
 */
const SPIDERS_MAX = 1_000
const NODES_MAX = 1_000
const PROJECTS_MAX = 200
const CHANNELS_MAX = 200
const OTHER = 'other'
const LANES_READ = 1_000

/** The label for the state of a delivery after an attempt. After `failed`, the delivery is retried. */
const OUTCOMES = { delivered: 'delivered', waiting: 'failed', dead: 'given_up' } as const

const WAIT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400]
const SEND_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const RUN_BUCKETS = [1, 5, 15, 60, 300, 900, 3_600, 14_400, 43_200, 86_400]

/** Metrics for Prometheus. Events are counted as they happen (`count…`). States are read on each scrape (`read`). */
export class Metrics extends NamedMetrics {
  readonly #parts: MetricsParts
  readonly #spiders = new Set<string>()
  readonly #nodes = new Set<string>()
  readonly #channels = new Set<string>()

  readonly #jobs = this.gauge('jobs', 'Jobs that have not ended, by state.', ['state'])
  readonly #queued = this.gauge('queued_jobs', 'Queued jobs by project.', ['project'])
  readonly #oldest = this.gauge('queue_oldest_seconds', 'Age of the oldest job that could be sent; 0 when none waits.')
  readonly #isPaused = this.gauge('queue_paused', '1 while nothing is sent.')
  readonly #nodeUp = this.gauge('node_up', '1 while the node responds correctly.', ['node'])
  readonly #nodeTakesJobs = this.gauge('node_takes_jobs', '1 while it is active and not stuck.', ['node'])
  readonly #nodeStuck = this.gauge('node_stuck', '1 while it accepts jobs but starts none.', ['node'])
  readonly #nodeSlots = this.gauge('node_slots', 'Spiders that the node can run at once.', ['node'])
  readonly #nodeSlotsUsed = this.gauge('node_slots_used', 'Slots in use, by any client.', ['node'])
  readonly #loopP99 = this.gauge('event_loop_delay_p99_seconds', 'Delay of the event loop in the last second.')
  readonly #diskSize = this.gauge('disk_size_bytes', 'Size of the disk of the data directory.')
  readonly #diskFree = this.gauge('disk_free_bytes', 'Free space on that disk, for this user.')
  readonly #memorySize = this.gauge('machine_memory_bytes', 'Memory of the machine.')
  readonly #memoryFree = this.gauge('machine_memory_free_bytes', 'Memory of the machine that nothing uses.')
  readonly #load = this.gauge('machine_load1', 'Load average of the machine over a minute; always 0 on Windows.')
  readonly #cacheHits = this.counter('cache_hits_total', 'Reads that a cache answered.', ['cache'])
  readonly #cacheMisses = this.counter('cache_misses_total', 'Reads that a cache could not answer.', ['cache'])
  readonly #cacheEntries = this.gauge('cache_entries', 'Entries of a cache.', ['cache'])
  /** The name that asynchronous Scrapyds use for this figure. */
  readonly #cacheSize = this.gauge('cache_size', 'Entries of a cache, as cache_entries.', ['cache'])
  readonly #cacheBytes = this.gauge('cache_bytes', 'Size of a cache on disk.', ['cache'])
  #encryption: ReturnType<Metrics['makeEncryptionMetrics']> | null = null
  /** null: blobs are in the data directory. A 0 would look like a failure. */
  #blobsUp: ReturnType<Metrics['gauge']> | null = null
  #blobs: ReturnType<Metrics['makeBlobMetrics']> | null = null
  readonly #sharedUp = this.gauge('shared_cache_up', '1 while it serves; absent without one.', ['address'])
  readonly #sharedCalls = this.counter('shared_cache_calls_total', 'Calls of the shared cache, by result.', ['result'])
  readonly #sharedSeconds = this.counter('shared_cache_seconds_total', 'Time of the calls that it answered.', [])
  readonly #started = this.counter('runs_started_total', 'Runs whose node showed them running.', ['node'])
  readonly #sent = this.counter('attempts_sent_total', 'Attempts that were sent to a node.', ['node'])
  readonly #ended = this.counter('attempts_ended_total', 'Attempts that ended, by result.', ['result', 'node'])
  readonly #jobsEnded = this.counter('jobs_ended_total', 'Jobs that ran and ended, by outcome.', [
    'outcome',
    'project',
    'spider'
  ])
  readonly #items = this.counter('spider_items_total', 'Items scraped by ended runs.', ['project', 'spider'])
  readonly #pages = this.counter('spider_pages_total', 'Pages fetched by ended runs.', ['project', 'spider'])
  readonly #errors = this.counter('spider_errors_total', 'Errors in the logs of ended runs.', ['project', 'spider'])
  readonly #running = {
    pages: this.gauge('running_pages', 'Pages that running jobs have fetched so far.', ['project', 'spider']),
    items: this.gauge('running_items', 'Items that running jobs have scraped so far.', ['project', 'spider']),
    errors: this.gauge('running_errors', 'Errors in the logs of running jobs so far.', ['project', 'spider'])
  }
  readonly #alerts = this.gauge('alerts', 'Alerts that have not ended, by severity and state.', ['severity', 'state'])
  readonly #alertMessages = this.counter('alert_messages_total', 'Messages to alert channels, by what came of a try.', [
    'channel',
    'outcome'
  ])
  readonly #firings = this.counter('schedule_firings_total', 'Run times of schedules, by result.', ['state'])
  readonly #wait = this.histogram(
    'dispatch_latency_seconds',
    'Time from when a job could be sent until it was sent, including waits for slots and limits; first attempts only.',
    WAIT_BUCKETS
  )
  readonly #send = this.histogram('send_seconds', 'From sending a job until its node accepted it.', SEND_BUCKETS)
  readonly #run = this.histogram('run_seconds', 'Duration of ended runs.', RUN_BUCKETS)

  constructor(parts: MetricsParts) {
    super(parts.prefix ?? 'scrapdeck')
    this.#parts = parts
    const info = this.gauge('info', 'Always 1; the labels hold the version.', ['version', 'host'])
    info.set({ version: parts.scrapdeckVersion, host: parts.host }, 1)
  }

  countBegun(attempts: readonly BegunAttempt[]): void {
    for (const { number, nodeId, sentAtMs, job } of attempts) {
      this.#sent.inc({ node: this.#nameOf(nodeId) })
      if (number > 1) continue
      const couldBeSentAtMs = Math.max(job.queuedAtMs, job.notBeforeMs ?? 0)
      this.#wait.observe(Math.max(0, sentAtMs - couldBeSentAtMs) / 1_000)
    }
  }

  countMove({ one, to, atMs }: BeliefEvents['moved'][0]): void {
    if (to === 'running') this.#started.inc({ node: this.#nameOf(one.nodeId) })
    if (to === 'accepted') this.#send.observe(Math.max(0, atMs - one.sentAtMs) / 1_000)
  }

  countEnd({ one, change, atMs }: BeliefEvents['ended'][0]): void {
    const { counts, result, jobOutcome } = change
    this.#ended.inc({ result, node: this.#nameOf(one.nodeId) })
    const of = this.#spiderOf(one)
    if (jobOutcome !== null) this.#jobsEnded.inc({ ...of, outcome: jobOutcome })
    if (counts?.items != null) this.#items.inc(of, counts.items)
    if (counts?.pages != null) this.#pages.inc(of, counts.pages)
    if (counts?.errors != null) this.#errors.inc(of, counts.errors)
    if (one.startedAtMs !== null) this.#run.observe(Math.max(0, atMs - one.startedAtMs) / 1_000)
  }

  countTry({ receiver: { kind, name }, state }: Tried): void {
    if (kind !== 'channel') return
    const isRoom = this.#channels.size < CHANNELS_MAX || this.#channels.has(name)
    if (isRoom) this.#channels.add(name)
    this.#alertMessages.inc({ channel: isRoom ? name : OTHER, outcome: OUTCOMES[state] })
  }

  countFirings(firings: readonly StoredFiring[]): void {
    for (const { state, count } of firings) this.#firings.inc({ state }, count)
  }

  async read({
    nodes,
    figures,
    caches,
    blobs,
    encryption,
    shared,
    alerts
  }: {
    nodes: readonly Node[]
    figures: Figures
    caches: Record<string, CacheFigures>
    blobs?: BlobFigures | undefined
    encryption: EncryptionState | null
    shared: { state(): CacheState; calls(): CacheCalls & { refused: number } } | null
    alerts: AlertCounts
  }): Promise<string> {
    await Promise.all([this.#readJobs(), this.#readMachine()])
    this.#readNodes(nodes)
    this.#readRunning()
    for (const [severity, counts] of Object.entries(alerts))
      for (const [state, count] of Object.entries(counts)) this.#alerts.set({ severity, state }, count)
    this.#readCaches(caches)
    if (blobs !== undefined) this.#readBlobs(blobs)
    if (encryption !== null) this.#readEncryption(encryption)
    if (shared !== null) this.#readShared(shared.state(), shared.calls())
    const { paused, loopP99Ms } = figures
    this.#isPaused.set(Number(paused))
    this.#loopP99.set(loopP99Ms / 1_000)
    return (await this.registry.metrics()) + (await processRegistry().metrics())
  }

  #spiderOf({ project, spider }: { project: ProjectName; spider: string }) {
    const key = `${project}\n${spider}`
    if (this.#spiders.size >= SPIDERS_MAX && !this.#spiders.has(key)) return { project: OTHER, spider: OTHER }
    this.#spiders.add(key)
    return { project, spider }
  }

  #nameOf(nodeId: NodeId): string {
    const name = this.#parts.nodeName(nodeId) ?? OTHER
    if (this.#nodes.size >= NODES_MAX && !this.#nodes.has(name)) return OTHER
    this.#nodes.add(name)
    return name
  }

  async #readJobs(): Promise<void> {
    const { store } = this.#parts
    const [states, { project }, oldestSeconds] = await Promise.all([
      store.countByState(),
      store.countFacets({ status: ['queued'] }),
      this.#readOldest()
    ])
    for (const state of ['queued', 'starting', 'running'] as const) this.#jobs.set({ state }, states[state])
    this.#queued.reset()
    for (const { value, count } of project.slice(0, PROJECTS_MAX)) this.#queued.set({ project: value }, count)
    const others = project.slice(PROJECTS_MAX).reduce((sum, { count }) => sum + count, 0)
    if (others > 0) this.#queued.inc({ project: OTHER }, others)
    this.#oldest.set(oldestSeconds)
  }

  async #readOldest(): Promise<number> {
    const { store } = this.#parts
    const lanes = (await store.listLanes()).slice(0, LANES_READ)
    const heads = await store.readHeads(lanes.map(({ lane }) => ({ lane, limit: 1 })))
    const times = heads.flatMap(([head]) => (head === undefined ? [] : [timeOfJobId(head.id)]))
    return times.length === 0 ? 0 : Math.max(0, this.#parts.clock.nowMs() - Math.min(...times)) / 1_000
  }

  #readNodes(nodes: readonly Node[]): void {
    const gauges = [this.#nodeUp, this.#nodeTakesJobs, this.#nodeStuck, this.#nodeSlots, this.#nodeSlotsUsed]
    for (const gauge of gauges) gauge.reset()
    for (const { name: node, health, mode, stuckSinceMs, slots, runs } of nodes.slice(0, NODES_MAX)) {
      const isStuck = stuckSinceMs !== null
      this.#nodeUp.set({ node }, Number(health === 'up'))
      this.#nodeTakesJobs.set({ node }, Number(mode === 'active' && !isStuck))
      this.#nodeStuck.set({ node }, Number(isStuck))
      this.#nodeSlots.set({ node }, slots)
      this.#nodeSlotsUsed.set({ node }, runs.length)
    }
  }

  #readRunning(): void {
    for (const gauge of Object.values(this.#running)) gauge.reset()
    for (const { run, live } of this.#parts.collector.allLive()) {
      const of = this.#spiderOf(run)
      for (const name of ['pages', 'items', 'errors'] as const)
        if (live[name] !== null) this.#running[name].inc(of, live[name])
    }
  }

  async #readMachine(): Promise<void> {
    this.#memorySize.set(totalmem())
    this.#memoryFree.set(freemem())
    this.#load.set(loadavg()[0]!)
    const disk = await statfs(this.#parts.dataDirectory).catch(() => null)
    if (disk === null) return
    this.#diskSize.set(disk.blocks * disk.bsize)
    this.#diskFree.set(disk.bavail * disk.bsize)
  }

  private makeBlobMetrics() {
    return {
      requests: this.counter('blob_requests_total', 'Requests to the S3 storage.', ['operation', 'result']),
      seconds: this.counter('blob_request_seconds_total', 'Time that these requests took.', ['operation']),
      retries: this.counter('blob_retries_total', 'Requests that were repeated after a failure.', []),
      bytes: this.counter('blob_bytes_total', 'Content of these requests and their answers.', ['direction'])
    }
  }

  #readEncryption({ state, sealed, total, problem }: EncryptionState): void {
    const { toSeal, failed } = (this.#encryption ??= this.makeEncryptionMetrics())
    toSeal.set(state === 'sealed' ? 0 : Math.max(total - sealed, Number(total === 0)))
    failed.set(problem?.files ?? 0)
  }

  private makeEncryptionMetrics() {
    return {
      toSeal: this.gauge('files_to_seal', 'Stored files that the newest key has not sealed yet; 0: all are.'),
      failed: this.gauge('files_not_sealed', 'Stored files that could not be encrypted in the last pass.')
    }
  }

  #readBlobs({ isUsable, requests: figures }: BlobFigures): void {
    this.#blobsUp ??= this.gauge('blobs_up', '1 while the S3 storage or shared directory of blobs can be used.')
    this.#blobsUp.set(Number(isUsable))
    if (figures !== null) this.#readBlobRequests(figures)
  }

  #readBlobRequests({ requests, retries, sentBytes, receivedBytes }: RequestFigures): void {
    const { requests: counted, seconds, retries: repeated, bytes } = (this.#blobs ??= this.makeBlobMetrics())
    for (const counter of [counted, seconds, repeated, bytes]) counter.reset()
    for (const [operation, { seconds: took, ...results }] of requests) {
      for (const [result, count] of Object.entries(results)) counted.inc({ operation, result }, count)
      seconds.inc({ operation }, took)
    }
    repeated.inc(retries)
    bytes.inc({ direction: 'sent' }, sentBytes)
    bytes.inc({ direction: 'received' }, receivedBytes)
  }

  #readShared({ isUp, name: address }: CacheState, { seconds, ...counts }: CacheCalls & { refused: number }): void {
    this.#sharedUp.set({ address }, Number(isUp))
    this.#sharedCalls.reset()
    for (const [result, count] of Object.entries(counts)) this.#sharedCalls.inc({ result }, count)
    this.#sharedSeconds.reset()
    this.#sharedSeconds.inc(seconds)
  }

  #readCaches(caches: Record<string, CacheFigures>): void {
    for (const counter of [this.#cacheHits, this.#cacheMisses]) counter.reset()
    for (const [cache, { hits, misses, entries, bytes }] of Object.entries(caches)) {
      this.#cacheHits.inc({ cache }, hits)
      this.#cacheMisses.inc({ cache }, misses)
      for (const gauge of [this.#cacheEntries, this.#cacheSize]) gauge.set({ cache }, entries)
      if (bytes !== null) this.#cacheBytes.set({ cache }, bytes)
    }
  }
}

let ofProcess: Registry | null = null

/**
 * The metrics of the process, which all its engines share. Created on first use, because observers cost some CPU time.
 */
function processRegistry(): Registry {
  if (ofProcess === null) {
    ofProcess = new Registry()
    collectDefaultMetrics({ register: ofProcess })
    // `promtool check metrics` rejects these metrics, which are sums of other metrics or gauges named `_total`.
    for (const kind of ['handles', 'requests', 'resources']) ofProcess.removeSingleMetric(`nodejs_active_${kind}_total`)
  }
  return ofProcess
}

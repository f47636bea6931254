import type { Chance } from '../world/chance.ts'
import type { VirtualTime } from '../world/time.ts'
import { type Log, planOf, type Run } from './run.ts'

export type ScrapydVersion = '1.2' | '1.3' | '1.4' | '1.5' | '1.6'

export interface HttpAnswer {
  status: number
  headers: Record<string, string>
  body: Uint8Array
}

export interface ScrapydOptions {
  name: string
  version: ScrapydVersion
  maxProc: number
  finishedToKeep: number
  jobsToKeep: number
  /** The offset of the node's local time, in minutes east of UTC. */
  zoneMinutes: number
  clockOffsetMs: number
  /** The queue on disk. Two nodes can share one. */
  queue: Run[]
}

const POLL_INTERVAL_MS = 5_000

/**
 * A Scrapyd as its clients see it (scrapyd-protocol.md): queue, poller, processes, finished list, eggs, logs. Time
 * is simulated. What its processes really did is kept for the checker. `http.ts` is its HTTP interface.
 *
 *   POST -> queue --poll--> process --ends--> finished list (pruned)
 *             restart: the queue stays, processes and lists are forgotten, logs and eggs stay
 */
export class SimulatedScrapyd {
  readonly name: string
  readonly version: ScrapydVersion
  readonly options: ScrapydOptions
  readonly queue: Run[]
  running: Run[] = []
  finished: Run[] = []
  readonly eggs = new Map<string, Set<string>>()
  /** Every run that was ever accepted here: the ground truth. With a shared queue, only the accepting node has it. */
  readonly accepted: Run[] = []
  readonly started: Run[] = []
  isPollerStuck = false
  logsForbidden = false
  /** The node does not respond before this time, because it is listing the spiders of an egg. */
  frozenUntilMs = 0
  clockOffsetMs: number
  mostAtOnce = 0
  readonly #time: VirtualTime
  readonly #chance: Chance
  readonly #listed = new Set<string>()
  #inbox: { at: (node: SimulatedScrapyd) => Served; lost: () => void }[] = []
  #isServing = false
  #life = 0
  #pid = 1000
  #order = 0
  #slowListings = 0

  constructor(options: ScrapydOptions, time: VirtualTime, chance: Chance) {
    this.name = options.name
    this.version = options.version
    this.options = options
    this.queue = options.queue
    this.clockOffsetMs = options.clockOffsetMs
    this.#time = time
    this.#chance = chance
    this.#time.after(chance.between(0, POLL_INTERVAL_MS), () => this.#poll())
  }

  get isModern(): boolean {
    return this.version === '1.5' || this.version === '1.6'
  }

  /** Receives a request. The node serves requests in order, unless it is blocked by a listing. */
  receive(serve: (node: SimulatedScrapyd) => Served, lost: () => void): void {
    this.#inbox.push({ at: serve, lost })
    this.#work()
  }

  #work(): void {
    if (this.#isServing) return
    const next = this.#inbox.shift()
    if (next === undefined) return
    this.#isServing = true
    const life = this.#life
    this.#wait(this.frozenUntilMs - this.#time.nowMs, () => {
      if (life !== this.#life) return next.lost()
      const { blocksMs, done } = next.at(this)
      this.frozenUntilMs = Math.max(this.frozenUntilMs, this.#time.nowMs + blocksMs)
      this.#wait(blocksMs, () => {
        if (life !== this.#life) return next.lost()
        done()
        this.#isServing = false
        this.#work()
      })
    })
  }

  /**
   * Runs `then` after the delay, or immediately if there is none, because an event would cost as much as the request.
   */
  #wait(delayMs: number, then: () => void): void {
    if (delayMs <= 0) then()
    else this.#time.after(delayMs, then)
  }

  /** Makes the next listing take this long, as for an egg with very large imports. */
  freezeAtNextListing(forMs: number): void {
    this.#slowListings = forMs
  }

  /** Returns how long listing a version's spiders blocks the node. 0: the list is cached. */
  listingMs(project: string, version: string, isFresh: boolean): number {
    const key = `${project}/${version}`
    if (!isFresh && this.#listed.has(key)) return 0
    this.#listed.add(key)
    const slowMs = this.#slowListings
    this.#slowListings = 0
    return slowMs > 0 ? slowMs : this.#chance.between(200, 1_500)
  }

  isFreezing(): boolean {
    return this.#slowListings > 0
  }

  enqueue(
    run: Pick<Run, 'project' | 'spider' | 'version' | 'jobid' | 'settings' | 'args' | 'priority' | 'isStranger'>
  ) {
    const queued: Run = {
      ...run,
      node: this.name,
      order: this.#order++,
      acceptedAtMs: this.#time.nowMs,
      state: 'pending',
      isListed: true,
      pid: null,
      startedAtMs: null,
      endedAtMs: null,
      ended: null,
      signals: 0,
      log: null
    }
    this.queue.push(queued)
    this.accepted.push(queued)
    this.#noteMost()
  }

  /**
   * Returns the queued jobs of projects with an egg. Scrapyd ignores the others until their project has an egg again.
   */
  knownPending(): Run[] {
    return this.queue.filter((run) => this.eggs.has(run.project))
  }

  #poll(): void {
    this.#time.after(POLL_INTERVAL_MS, () => {
      if (!this.isPollerStuck) this.#startJobs()
      this.#poll()
    })
  }

  /**
   * Starts jobs until no slot is free (1.5 and later), or one job per poll. Within a project, the highest priority is
   * first.
   */
  #startJobs(): void {
    for (const project of this.eggs.keys()) {
      while (this.running.length < this.options.maxProc) {
        const next = bestOf(this.queue, project)
        if (next === undefined) break
        this.#start(next)
        if (!this.isModern) return
      }
    }
  }

  #start(run: Run): void {
    this.queue.splice(this.queue.indexOf(run), 1)
    run.state = 'running'
    run.isListed = true
    run.node = this.name
    run.pid = this.#pid++
    run.startedAtMs = this.#time.nowMs
    this.running.push(run)
    this.started.push(run)
    this.#noteMost()
    const hasEgg = this.eggs.get(run.project)?.has(run.version) === true
    if (!hasEgg) return this.#endAfter(run, 400, 'no egg')
    this.#pruneLogs(run)
    run.log = { isGone: false, isForbidden: false, cutBytes: 0 } satisfies Log
    const { runMs, end } = planOf(run.args)
    this.#endAfter(run, runMs, end)
  }

  #pruneLogs(newest: Run): void {
    const beside = this.started.filter(
      (run) => run.project === newest.project && run.spider === newest.spider && run.log?.isGone === false
    )
    const surplus = beside.length - this.options.jobsToKeep
    for (const run of beside.slice(0, Math.max(0, surplus))) run.log!.isGone = true
  }

  #endAfter(run: Run, delayMs: number, ended: NonNullable<Run['ended']>): void {
    this.#time.after(delayMs, () => this.#end(run, ended))
  }

  #end(run: Run, ended: NonNullable<Run['ended']>): void {
    if (run.state !== 'running') return
    run.state = 'over'
    run.ended = ended
    run.endedAtMs = this.#time.nowMs
    const wasRunning = this.running.includes(run)
    this.running = this.running.filter((one) => one !== run)
    if (!wasRunning) return
    this.finished.push(run)
    this.prune(this.options.finishedToKeep)
  }

  prune(keep: number): number {
    const surplus = Math.max(0, this.finished.length - keep)
    this.finished.splice(0, surplus)
    return surplus
  }

  signal(run: Run, name: string): void {
    run.signals += 1
    if (name === 'KILL') return this.#endAfter(run, 20, 'killed')
    if (planOf(run.args).isStubborn) return
    if (run.signals > 1) this.#endAfter(run, 50, 'killed')
    else this.#endAfter(run, this.#chance.between(300, 4_000), 'shutdown')
  }

  forget(project: string, version: string): void {
    this.#listed.delete(`${project}/${version}`)
  }

  /** Restarts the server after SIGTERM or kill -9. Processes survive as orphans, unless the whole machine went down. */
  restart(options: { processesDie: boolean; losesQueue: boolean }): void {
    this.#life += 1
    this.#isServing = false
    for (const waiting of this.#inbox.splice(0)) waiting.lost()
    this.frozenUntilMs = 0
    this.#listed.clear()
    for (const run of [...this.running, ...this.finished]) run.isListed = false
    const orphans = this.running
    this.running = []
    this.finished = []
    if (options.processesDie) for (const run of orphans) this.#end(run, 'died')
    if (options.losesQueue) this.queue.length = 0
  }

  logOf(project: string, spider: string, jobid: string): Run | null {
    return (
      this.started.findLast(
        (run) => run.log !== null && run.project === project && run.spider === spider && run.jobid === jobid
      ) ?? null
    )
  }

  #noteMost(): void {
    this.mostAtOnce = Math.max(this.mostAtOnce, this.running.length + this.queue.length)
  }
}

export interface Served {
  blocksMs: number
  done: () => void
}

function bestOf(queue: Run[], project: string): Run | undefined {
  let best: Run | undefined
  for (const run of queue) {
    if (run.project !== project) continue
    if (best === undefined || run.priority > best.priority) best = run
  }
  return best
}

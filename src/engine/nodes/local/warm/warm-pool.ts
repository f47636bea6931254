import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { z } from 'zod'
import type { StartMode } from '../../../../shared/contract/index.ts'
import { asParam, type Message, plain, render, say, written } from '../../../../shared/texts/message.ts'
import { type Clock, type Timer, within } from '../../../runtime/clock.ts'
import { type FreeMemory, readFreeMemory } from '../../../runtime/free-memory.ts'
import type { Logger } from '../../../runtime/logger.ts'
import { childEnvironment } from '../processes/child-environment.ts'
import type { LaunchPlan } from '../runs/launch-plan.ts'
import { type RunEvent, type RunEvents, readRunEvents } from '../runs/run-events.ts'
import { ParkedChildren, type ParkingParent } from './parked-children.ts'

export interface WarmRequest {
  do: 'start' | 'list'
  directory: string
  launch: LaunchPlan
}

export interface WarmStarts {
  isOn: boolean
  mostParents: number
  /** How long a start waits for a parent that is still loading Scrapy before it starts cold. */
  waitMs: number
  /** Children that each parent keeps forked for the next starts, if slots and memory are free. */
  mostParked: number
}

export interface WarmPoolOptions extends Partial<WarmStarts> {
  dataDirectory: string
  resourcesDirectory: string
  /** How many runs could start now. Default: none, so no children are parked. */
  freeSlots?: () => number
  readFreeMemory?: () => Promise<FreeMemory>
  /** The environment that parents, and therefore all spiders, inherit. Default: ours without Scrapdeck's variables. */
  environment?: () => Record<string, string>
  clock: Clock
  logger: Logger
  onChange: () => void
}

/** Whether parents are possible. Forking a Python process that has loaded system frameworks is safe only on Linux. */
export const CAN_FORK = process.platform === 'linux'

const MOST_PARENTS = 4
/**
 * The default of `mostParked`. Users and schedules usually start one run at a time, and the starts of a burst share
 * the CPUs anyway.
 */
const MOST_PARKED = 1
const LARGEST_RSS_BYTES = 512 * 1024 * 1024
const PAGE_BYTES = 4096
const UNUSED_MS = 30 * 60_000
/** The period for which a check of a parent is valid, too short to install a package and request a run. */
const CHECK_HOLDS_MS = 50
/** The time limit from the request to the claim of the run. A claim normally takes about 5 ms. */
const CLAIM_LIMIT_MS = 5_000
const WARMING_LIMIT_MS = 120_000
const FIRST_BACKOFF_MS = 1_000
const LONGEST_BACKOFF_MS = 5 * 60_000
/** How long a parent must be ready to count as healthy. The end of a healthy parent resets the backoff. */
const GOOD_LIFE_MS = 60_000
/** Space for the arguments that ps shows, because a forked process can only overwrite its parent's arguments. */
const ROOM_FOR_ARGUMENTS = ' '.repeat(400)

const ParentEvent = z.discriminatedUnion('event', [
  z.object({ event: z.literal('ready'), watched: z.record(z.string(), z.string()) }),
  z.object({ event: z.literal('failed'), reason: z.string() })
])

interface Parent extends ParkingParent {
  python: string
  process: ChildProcess & { stdin: Writable; stdout: Readable }
  state: 'warming' | 'ready' | 'ended'
  warmed: PromiseWithResolvers<void>
  readyAtMs: number
  watched: [path: string, mtimeNs: string][]
  checked: { atMs: number; problem: Promise<string | null> } | null
  waiting: Map<string, { events: RunEvents; timer: Timer; answer: (isClaimed: boolean) => void }>
  running: Map<string, RunEvents>
  timer: Timer
  problem: Message | null
}

interface Place {
  parent: Parent | null
  backoffMs: number
  backoff: Timer | null
  problem: Message | null
  usedAtMs: number
}

/**
 * The parents for warm starts (resources/python/warm.py): for each Python, one process that has imported Scrapy and
 * forks the runs.
 *
 *   absent ──prepare──> warming ──ready──> ready ──┬─ ended, stuck ──> waiting ──backoff──> warming
 *                          └──────failed, ended────┘
 *                                          ready ──┬─ packages changed, too large ──> warming (a new one)
 *                                                  └─ unused, or one too many ──> absent
 *
 * A run survives its parent, because each run has its own supervisor. The events from the supervisor still arrive here.
 * If no parent is ready, `start` immediately returns false and the run starts cold.
 */
export class WarmPool {
  readonly #options: WarmPoolOptions
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #isOn: boolean
  readonly #places = new Map<string, Place>()
  readonly #parents = new Set<Parent>()
  readonly #parked: ParkedChildren
  #requests = 0
  #isClosed = false

  constructor(options: WarmPoolOptions) {
    this.#options = options
    this.#isOn = CAN_FORK && options.isOn !== false
    this.#clock = options.clock
    this.#logger = options.logger
    this.#parked = new ParkedChildren({
      mostParked: this.#isOn ? (options.mostParked ?? MOST_PARKED) : 0,
      freeSlots: options.freeSlots ?? (() => 0),
      readFreeMemory: options.readFreeMemory ?? readFreeMemory,
      parents: () => [...this.#parents].filter(({ state }) => state === 'ready'),
      clock: options.clock
    })
  }

  prepare(python: string): void {
    const place = this.#placeOf(python)
    place.usedAtMs = this.#clock.monotonicMs()
    if (!this.#isOn || this.#isClosed || place.parent !== null || place.backoff !== null) return
    place.parent = this.#spawnParent(python)
    this.#endSurplus()
    this.#options.onChange()
  }

  slotsChanged(): void {
    this.#parked.wake()
  }

  mode(python: string): StartMode {
    const place = this.#places.get(python)
    if (!CAN_FORK) return { mode: 'cold', ...written(say('start.no_fork')) }
    if (!this.#isOn) return { mode: 'cold', ...written(say('start.turned_off')) }
    if (place?.parent?.state === 'ready') return { mode: 'warm', ...written(say('start.warm')) }
    if (place?.parent) return { mode: 'warming', ...written(say('start.warming')) }
    const why = place?.problem
    return { mode: 'cold', ...written(why ? say('start.fails', { why: asParam(why) }) : say('start.first')) }
  }

  /** Checks the parent in advance, because a start with this Python follows within milliseconds. */
  expectStart(python: string): void {
    const parent = this.#places.get(python)?.parent
    if (parent?.state === 'ready') void this.#check(parent)
  }

  /** true: the supervisor has claimed the run. false: start the run cold, which is safe even if it is claimed later. */
  async start(request: WarmRequest, events: RunEvents): Promise<boolean> {
    const { python } = request.launch
    this.prepare(python)
    const parent = this.#places.get(python)!.parent
    if (parent?.state === 'warming') await this.#waitFor(parent)
    if (parent?.state !== 'ready') return false
    const problem = await this.#check(parent)
    if (problem !== null) {
      this.#replace(parent, problem)
      return false
    }
    // The parent may have ended during the check.
    if ((parent.state as Parent['state']) !== 'ready' || this.#isClosed) return false
    // Each attempt needs a new id, so that events for an earlier attempt are not mistaken for its own.
    const id = String(++this.#requests)
    return new Promise((resolve) => {
      const timer = this.#clock.setTimer(CLAIM_LIMIT_MS, () => this.#end(parent, say('start.no_answer')))
      const answer = (isClaimed: boolean) => {
        timer.cancel()
        parent.waiting.delete(id)
        if (isClaimed) parent.running.set(id, events)
        resolve(isClaimed)
      }
      parent.waiting.set(id, { events, timer, answer })
      if (request.do === 'start') {
        parent.lastStartMs = this.#clock.monotonicMs()
        parent.parked = Math.max(0, parent.parked - 1)
      }
      // With isolation, the other parameters are in launch.json (warm.py).
      const launch = request.launch.isolation === undefined ? { ...request.launch, id } : { id }
      parent.process.stdin.write(`${JSON.stringify({ ...request, launch })}\n`)
    })
  }

  /** Why this parent should be replaced. The result can be up to CHECK_HOLDS_MS old. */
  #check(parent: Parent): Promise<string | null> {
    const nowMs = this.#clock.monotonicMs()
    if (parent.checked === null || nowMs - parent.checked.atMs > CHECK_HOLDS_MS) {
      parent.checked = { atMs: nowMs, problem: problemOf(parent) }
    }
    return parent.checked.problem
  }

  async #waitFor(parent: Parent): Promise<void> {
    const { waitMs = 0 } = this.#options
    if (waitMs > 0) await within(this.#clock, waitMs, parent.warmed.promise, () => {})
  }

  /** Ends the parents but not the runs. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#parked.close()
    for (const place of this.#places.values()) place.backoff?.cancel()
    await Promise.all(
      [...this.#parents].map((parent) => {
        const { process } = parent
        // Keeps our own process alive until the parent has exited.
        process.ref()
        const hasEnded = new Promise<void>((resolve) => {
          if (process.exitCode !== null || process.signalCode !== null) resolve()
          else process.once('exit', () => resolve())
        })
        this.#end(parent, plain('the engine is closing'))
        process.stdout.destroy()
        return hasEnded
      })
    )
  }

  #placeOf(python: string): Place {
    const known = this.#places.get(python)
    if (known) return known
    const place = {
      parent: null,
      backoffMs: FIRST_BACKOFF_MS,
      backoff: null,
      problem: null,
      usedAtMs: this.#clock.monotonicMs()
    }
    this.#places.set(python, place)
    return place
  }

  #spawnParent(python: string): Parent {
    const name = createHash('sha256').update(python).digest('hex').slice(0, 16)
    const script = join(this.#options.resourcesDirectory, 'python', 'warm.py')
    const modules = join(this.#options.dataDirectory, 'warm', `${name}.json`)
    const process_ = spawn(python, [script, modules, ROOM_FOR_ARGUMENTS], {
      cwd: this.#options.dataDirectory,
      env: this.#options.environment?.() ?? childEnvironment(process.env),
      detached: true,
      stdio: ['pipe', 'pipe', 'ignore']
    }) as Parent['process']
    const parent: Parent = {
      python,
      process: process_,
      state: 'warming',
      warmed: Promise.withResolvers(),
      readyAtMs: 0,
      watched: [],
      checked: null,
      waiting: new Map(),
      running: new Map(),
      lastStartMs: null,
      parked: 0,
      park(count) {
        parent.parked = count
        process_.stdin.write(`${JSON.stringify({ do: 'park', count })}\n`)
      },
      timer: this.#clock.setTimer(WARMING_LIMIT_MS, () => this.#end(parent, say('start.late'))),
      problem: null
    }
    this.#parents.add(parent)
    process_.unref()
    // When the parent dies, our end of the pipe breaks. The 'exit' event reports the death.
    process_.stdin.on('error', () => {})
    ;(process_.stdin as Writable & { unref?: () => void }).unref?.()
    process_.once('error', (error) => this.#recordEnd(parent, plain(error.message)))
    process_.once('exit', (code, signal) =>
      this.#recordEnd(parent, say('start.ended', { how: String(signal ?? code) }))
    )
    process_.once('close', () => {
      this.#parents.delete(parent)
      for (const events of parent.running.values()) events.supervisorEnded()
    })
    readRunEvents(
      process_.stdout,
      (event) => this.#forwardRunEvent(parent, event),
      (line) => this.#applyParentEvent(parent, line)
    )
    return parent
  }

  #forwardRunEvent(parent: Parent, event: RunEvent): void {
    if (event.id === null) return
    const waiting = parent.waiting.get(event.id)
    if (event.event === 'gone') {
      waiting?.answer(false)
      const events = parent.running.get(event.id)
      parent.running.delete(event.id)
      events?.supervisorEnded()
      return
    }
    waiting?.answer(true)
    if (event.event === 'child') parent.running.get(event.id)?.child(event)
    if (event.event === 'exit') parent.running.get(event.id)?.exit(event)
  }

  #applyParentEvent(parent: Parent, line: string): void {
    let event: z.infer<typeof ParentEvent>
    try {
      event = ParentEvent.parse(JSON.parse(line))
    } catch {
      // An import printed this line.
      return
    }
    if (event.event === 'failed') {
      parent.problem = plain(event.reason)
      return
    }
    if (parent.state !== 'warming') return
    parent.state = 'ready'
    parent.warmed.resolve()
    parent.readyAtMs = this.#clock.monotonicMs()
    parent.watched = Object.entries(event.watched)
    parent.timer.cancel()
    parent.timer = this.#clock.setTimer(UNUSED_MS, () => this.#endUnused(parent))
    this.#logger.info({ python: parent.python }, 'Scrapy is loaded: spiders start warm')
    this.#options.onChange()
  }

  #replace(parent: Parent, reason: string): void {
    const place = this.#placeOf(parent.python)
    if (place.parent !== parent) return
    this.#logger.info({ python: parent.python, reason }, 'Scrapy is loaded again')
    place.parent = null
    this.#end(parent, plain(reason))
    this.prepare(parent.python)
  }

  #endUnused(parent: Parent): void {
    const place = this.#placeOf(parent.python)
    const leftMs = place.usedAtMs + UNUSED_MS - this.#clock.monotonicMs()
    // The only remaining parent is kept, so that the next spider starts warm.
    if (leftMs > 0 || this.#livePlaces().length <= 1) {
      parent.timer = this.#clock.setTimer(Math.max(leftMs, 60_000), () => this.#endUnused(parent))
      return
    }
    this.#release(place)
  }

  #endSurplus(): void {
    const live = this.#livePlaces().sort((one, other) => one.usedAtMs - other.usedAtMs)
    for (const place of live.slice(0, Math.max(0, live.length - (this.#options.mostParents ?? MOST_PARENTS))))
      this.#release(place)
  }

  #livePlaces(): Place[] {
    return [...this.#places.values()].filter((place) => place.parent !== null)
  }

  #release(place: Place): void {
    const { parent } = place
    place.parent = null
    if (parent) this.#end(parent, plain('it was not used'))
    this.#options.onChange()
  }

  /** Runs of unanswered requests start cold. The claim ensures that no run starts twice. */
  #end(parent: Parent, reason: Message): void {
    parent.process.kill('SIGKILL')
    this.#recordEnd(parent, reason)
  }

  #recordEnd(parent: Parent, reason: Message): void {
    if (parent.state === 'ended') return
    const livedMs = parent.state === 'ready' ? this.#clock.monotonicMs() - parent.readyAtMs : 0
    parent.state = 'ended'
    parent.warmed.resolve()
    parent.timer.cancel()
    for (const { answer } of [...parent.waiting.values()]) answer(false)
    const place = this.#placeOf(parent.python)
    if (place.parent !== parent || this.#isClosed) return
    place.parent = null
    place.problem = parent.problem ?? reason
    if (livedMs > GOOD_LIFE_MS) place.backoffMs = FIRST_BACKOFF_MS
    this.#logger.warn(
      { python: parent.python, reason: render(place.problem), againInMs: place.backoffMs },
      'spiders start cold'
    )
    place.backoff = this.#clock.setTimer(place.backoffMs, () => {
      place.backoff = null
      this.prepare(parent.python)
    })
    place.backoffMs = Math.min(LONGEST_BACKOFF_MS, place.backoffMs * 2)
    this.#options.onChange()
  }
}

/** Why this parent should be replaced. Takes several tenths of a millisecond. */
async function problemOf(parent: Parent): Promise<string | null> {
  const [rssBytes, ...changes] = await Promise.all([
    readRssBytes(parent.process.pid!),
    ...parent.watched.map(async ([path, mtimeNs]) => {
      const { mtimeNs: newest } = await stat(path, { bigint: true }).catch(() => ({ mtimeNs: null }))
      return String(newest) !== mtimeNs
    })
  ])
  if (changes.includes(true)) return 'its packages have changed'
  return rssBytes > LARGEST_RSS_BYTES ? 'the process that forks spiders has grown too large' : null
}

async function readRssBytes(pid: number): Promise<number> {
  const statm = await readFile(`/proc/${pid}/statm`, 'ascii').catch(() => '0 0')
  return Number(statm.split(' ')[1]) * PAGE_BYTES
}

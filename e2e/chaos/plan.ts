import type { RetryPolicy } from '../../src/shared/contract/index.ts'
import type { Random } from '../../src/engine/runtime/random.ts'
import { createSeededRandom } from '../../src/engine/testing/seeded-random.ts'
import type { ScrapydVersion } from '../support/scrapyd-fleet.ts'
import { type Direction, FAULT_KINDS, type Fault } from './fault-proxy.ts'

export interface ChaosOptions {
  seed: number
  jobs: number
  engineKills: number
  nodeKills: number
  versions: ScrapydVersion[]
  slotsPerNode: number
  pollIntervalSeconds: number
  /** Every nth job is a real Scrapy spider. The others are simulated (chaos_runner.py). */
  realEvery: number
  /** The maximum number of jobs that can be queued ahead of the number of started runs. */
  backlogMax: number
  /**
   * Whether spiders die with their node. If false, they survive as orphans, which Scrapdeck gives up only after a
   * minute.
   */
  machinesDie: boolean
  weatherSeconds: number
  calmSeconds: number
  limitMinutes: number
}

export const WHOLE_RUN: Omit<ChaosOptions, 'seed'> = {
  jobs: 2_000,
  engineKills: 30,
  nodeKills: 6,
  versions: ['1.6.0', '1.5.0', '1.4.3'],
  slotsPerNode: 6,
  pollIntervalSeconds: 0.5,
  realEvery: 50,
  backlogMax: 150,
  machinesDie: true,
  weatherSeconds: 4,
  calmSeconds: 4,
  limitMinutes: 20
}

export const SHORT_RUN: Omit<ChaosOptions, 'seed'> = {
  ...WHOLE_RUN,
  jobs: 60,
  engineKills: 3,
  nodeKills: 1,
  realEvery: 30,
  backlogMax: 25,
  machinesDie: false,
  weatherSeconds: 1,
  calmSeconds: 1,
  limitMinutes: 3
}

export interface TogetherOptions extends ChaosOptions {
  engines: number
  /** How often an engine is stopped with SIGSTOP, usually the leader. */
  stalls: number
  stallSeconds: [number, number]
  databaseRestarts: number
  hasWeather: boolean
  scheduleSeconds: number
}

export const WHOLE_TOGETHER: Omit<TogetherOptions, 'seed'> = {
  ...WHOLE_RUN,
  nodeKills: 0,
  engines: 3,
  stalls: 10,
  stallSeconds: [8, 20],
  databaseRestarts: 5,
  hasWeather: true,
  scheduleSeconds: 5,
  limitMinutes: 40
}

export const SHORT_TOGETHER: Omit<TogetherOptions, 'seed'> = {
  ...WHOLE_TOGETHER,
  jobs: 60,
  engineKills: 2,
  stalls: 1,
  stallSeconds: [7, 8],
  databaseRestarts: 1,
  versions: ['1.6.0'],
  realEvery: 1_000,
  backlogMax: 15,
  hasWeather: false,
  scheduleSeconds: 3,
  limitMinutes: 6
}

/**
 * The API that queues a job. Requests through `run` and `bulk` carry a dedupe key and are repeated until they are
 * acknowledged.
 */
export type Door = 'run' | 'bulk' | 'scrapyd'

export interface PlannedJob {
  number: number
  spider: 'quick' | 'real'
  seconds: number
  door: Door
  retry: RetryPolicy | null
}

/** The kill happens `afterMs` after the start of run number `atRuns`. */
export interface PlannedKill {
  atRuns: number
  afterMs: number
}

export interface PlannedEngineKill extends PlannedKill {
  /**
   * Whether to kill while the network holds back a POST that it will deliver later. This is the hardest case to handle.
   */
  whileHeld: boolean
}

export interface PlannedNodeKill extends PlannedKill {
  node: number
  /**
   * Whether the kill takes down the whole machine with its spiders. If false, only Scrapyd is killed, and its spiders
   * survive.
   */
  withSpiders: boolean
  awayMs: number
}

export interface Plan {
  jobs: PlannedJob[]
  engineKills: PlannedEngineKill[]
  nodeKills: PlannedNodeKill[]
}

/** Plans, from the seed, which jobs are queued and what is killed when. `drawFaults` draws the faults later. */
export function createPlan(options: ChaosOptions): Plan {
  const random = createSeededRandom(options.seed)
  const jobs = Array.from({ length: options.jobs }, (_, index) => planJob(index + 1, options, random))
  const engineKills = planTimes(options.engineKills, options, random).map((kill, index) => ({
    ...kill,
    whileHeld: index % 3 === 2
  }))
  const nodeKills = planTimes(options.nodeKills, options, random).map((kill, index) => ({
    ...kill,
    node: index % options.versions.length,
    withSpiders: options.machinesDie && index % 3 !== 1,
    awayMs: between(random, 500, 6_000)
  }))
  return { jobs, engineKills, nodeKills }
}

function planJob(number: number, options: ChaosOptions, random: Random): PlannedJob {
  const kind = random.next()
  const door = random.next()
  return {
    number,
    spider: number % options.realEvery === 0 ? 'real' : 'quick',
    seconds: kind < 0.8 ? random.next() * 0.3 : kind < 0.95 ? 1 + random.next() : 3 + random.next() * 3,
    door: door < 0.7 ? 'run' : door < 0.95 ? 'bulk' : 'scrapyd',
    // schedule.json has no retry policy.
    retry:
      random.next() < 0.5 && door < 0.95
        ? { attempts: 4, backoffSeconds: 1, backoffFactor: 2, backoffMaxSeconds: 5, on: ['failed', 'lost'] }
        : null
  }
}

/** Draws a random time in each segment of the run, so that every part of the run is disturbed. */
function planTimes(count: number, options: ChaosOptions, random: Random): PlannedKill[] {
  return Array.from({ length: count }, (_, index) => ({
    atRuns: Math.floor(((index + random.next()) / count) * options.jobs * 0.95),
    afterMs: random.next() * 1_500
  }))
}

export function* drawFaults(random: Random, weatherSeconds: number): Generator<{ fault: Fault; forMs: number }> {
  for (;;) {
    const deck = [...FAULT_KINDS]
    while (deck.length > 0) {
      const [kind] = deck.splice(Math.floor(random.next() * deck.length), 1)
      // A fault that puts jobs in doubt must sometimes outlast Scrapdeck's timeouts.
      const longer = kind === 'black_hole' || kind === 'late' ? 2 : 1
      const forMs = between(random, 0.25, 1.75) * longer * weatherSeconds * 1000
      yield { fault: makeFault(kind!, random), forMs }
    }
  }
}

function makeFault(kind: Fault['kind'], random: Random): Fault {
  const direction: Direction = random.next() < 0.5 ? 'up' : 'down'
  switch (kind) {
    case 'latency':
      return { kind, direction, delayMs: between(random, 50, 1_500), jitterMs: between(random, 0, 500) }
    case 'reset':
      return { kind, direction, afterBytes: Math.floor(between(random, 0, 400)) }
    case 'black_hole':
      return { kind, direction }
    case 'slicer':
      return { kind, direction, sliceBytes: Math.ceil(between(random, 5, 60)), delayMs: between(random, 5, 60) }
    case 'half_reply':
    case 'late':
    case 'down':
      return { kind }
  }
}

export function between(random: Random, low: number, high: number): number {
  return low + random.next() * (high - low)
}

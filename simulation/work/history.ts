import type { Attempt, Job, LimitRule, Transition } from '../../src/shared/contract/index.ts'
import type { StoredJob, StoredNode } from '../../src/engine/model/records.ts'
import type { Run } from '../scrapyd/run.ts'
import type { Fault } from '../world/faults.ts'
import type { Scenario } from './scenario.ts'

/** One command to the engine, as its client saw it. `unknown` means that the engine died before it responded. */
export interface Operation {
  name: string
  input: unknown
  invokedAtMs: number
  answeredAtMs: number | null
  result: 'ok' | 'fail' | 'unknown'
  output: unknown
  error: string | null
}

/** What the engine recorded and received from nodes, in order. This determines what the engine knew when it acted. */
export type Belief = { atMs: number } & (
  | { kind: 'life' }
  | { kind: 'begun'; attempts: Attempt[] }
  | { kind: 'changed'; jobId: string; number: number; to: Attempt['state'] | null; what: Transition['kind'] }
  /** The node showed that the run had ended, but recording the end failed. */
  | { kind: 'over'; jobId: string; number: number }
  | { kind: 'node'; id: string; slots: number | null; queueAhead: number; tags: string[]; mode: StoredNode['mode'] }
  | { kind: 'limits'; rules: LimitRule[] }
  | { kind: 'listed'; host: string; project: string | null; jobids: string[]; finished: string[] }
)

export interface Sample {
  atMs: number
  queued: Pick<Job, 'id' | 'waiting' | 'hold'>[]
}

/** Everything known about a finished story. The checker sees only this. */
export interface History {
  scenario: Scenario
  operations: Operation[]
  beliefs: Belief[]
  samples: Sample[]
  faults: Fault[]
  /** Requests to run a job that an engine sent while another one led. */
  strays: { atMs: number; host: string }[]
  engines: number
  accepted: Run[]
  started: Run[]
  /** The simulated node behind each node of the fleet. */
  hosts: Map<string, string>
  jobs: StoredJob[]
  nodes: StoredNode[]
  stuckForEver: Set<string>
  attempts: Map<string, Attempt[]>
  timelines: Map<string, Transition[]>
  end: {
    atMs: number
    wallMs: number
    isQuiet: boolean
    waiting: Map<string, Job['waiting']>
    runsShown: number
    slotsUsed: number
    lanesTold: number
    lanesQueued: number
    timersLeft: number[]
    complaints: { atMs: number; text: string }[]
  }
}

export interface Violation {
  rule: string
  jobId: string | null
  text: string
}

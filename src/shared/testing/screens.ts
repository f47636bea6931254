/** How tests of screens ask the thread engine/testing/screens/serve-engines.ts for an engine. */
import type { Role } from '../roles.ts'

/** `fleet`: nodes, jobs, alerts and users with a past of two days. `empty`: as after the installation. */
export type SceneName = 'empty' | 'fleet'

export interface OpenEngine {
  scene: SceneName
  /** `owner`: the owner of the machine. Another role: the user anna with this role. */
  role: Role
}

/** What a test does to the nodes of its engine. */
export interface NodeActs {
  /** Ends a run. `log`: all of its log, by default one with closing statistics. */
  end(jobid: string, log?: string): void
}

export type Request =
  | ({ number: number; kind: 'open' } & OpenEngine)
  | { number: number; kind: 'act'; act: keyof NodeActs; args: unknown[] }
  | { number: number; kind: 'close' }

export interface Answer {
  number: number
  error?: unknown
}

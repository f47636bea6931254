import type { Change, Contract } from '../../../shared/contract/index.ts'

/** The noun that each kind of change belongs to. A kind without a noun, or a noun without updates, does not compile. */
export const NOUN_OF = {
  job: 'jobs',
  job_removed: 'jobs',
  job_progress: 'jobs',
  jobs: 'jobs',
  waiting: 'jobs',
  node: 'nodes',
  node_removed: 'nodes',
  project: 'projects',
  project_removed: 'projects',
  schedule: 'schedules',
  schedule_removed: 'schedules',
  chains: 'chains',
  webhooks: 'webhooks',
  alerts: 'alerts',
  errors: 'errors',
  findings: 'findings',
  storage: 'storage',
  limits: 'queue',
  discovery: 'discovery',
  environments: 'environments',
  figures: 'system',
  problems: 'system',
  python: 'system'
} as const satisfies Record<Change['kind'], keyof Contract>

export type Noun = (typeof NOUN_OF)[Change['kind']]

type KindOf<N extends Noun> = { [K in Change['kind']]: (typeof NOUN_OF)[K] extends N ? K : never }[Change['kind']]

/** Every change that belongs to a noun. */
export type ChangeOf<N extends Noun> = Extract<Change, { kind: KindOf<N> }>

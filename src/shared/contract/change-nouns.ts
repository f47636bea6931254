import type { Change } from './events.ts'

/**
 * Maps each kind of change to the part of the contract whose results clients must update or invalidate. Separate from
 * the schemas, which the UI does not load before its first screen.
 */
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
} as const satisfies Record<Change['kind'], string>

import type { Job } from './contract/index.ts'

export const PLAIN_ORDER = {
  version: null,
  settings: {},
  args: {},
  env: {},
  secretNames: [],
  limits: null,
  retry: null,
  notBeforeMs: null,
  expiresAtMs: null,
  noOverlap: false,
  after: [],
  priority: 0,
  placement: { nodeId: null, tags: [] },
  userId: null,
  scheduleId: null,
  nominalMs: null
} satisfies Partial<Job>

export const QUEUED_JOB: Omit<Job, 'id' | 'jobid' | 'project' | 'spider' | 'source' | 'lane' | 'queuedAtMs'> = {
  ...PLAIN_ORDER,
  dedupeKey: null,
  hold: null,
  rank: 0,
  state: 'queued',
  outcome: null,
  status: 'queued',
  reason: null,
  killingLine: null,
  waiting: null,
  nodeId: null,
  attemptCount: 0,
  sentVersion: null,
  mayHaveRunTwice: false,
  kept: false,
  unknownSinceMs: null,
  cancelAskedAtMs: null,
  startedAtMs: null,
  endedAtMs: null,
  pages: null,
  items: null,
  errors: null,
  pagesPerMinute: null,
  itemsPerMinute: null
}

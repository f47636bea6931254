import type { StoragePolicy } from './storage.ts'

/**
 * Proposed until a policy is set: logs of last quarter are rarely read, and years can be compared. Kept apart from the
 * schemas and not parsed by them, because every start of the engine needs it.
 */
export const RECOMMENDED_POLICY: StoragePolicy = {
  paused: false,
  defaults: {
    jobs: { days: 400, perSpider: null, bytes: null },
    logs: { days: 90, perSpider: null, bytes: null },
    items: { days: 90, perSpider: null, bytes: null },
    eggs: { days: 180, newest: 5 }
  },
  projects: {},
  budgetBytes: null
}

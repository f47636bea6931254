/**
 * Spider argument names that never reach a spider: parameters of schedule.json, and names that Scrapyd's own code
 * takes, which raise, are overwritten or get lost, depending on the version (scrapyd-protocol.md, 3.1 and 3.3).
 */
export const RESERVED_ARGUMENTS: ReadonlySet<string> = new Set([
  // Parameters of schedule.json.
  'project',
  'spider',
  'jobid',
  'priority',
  'setting',
  '_version',
  // Taken inside Scrapyd: scheduler, queue, poller, and the argument it passes to every spider.
  'name',
  'settings',
  'spider_name',
  'self',
  '_job',
  '_project',
  '_spider'
])

/** Of these, the ones that Scrapyd takes from its clients, lists with a waiting job, and then loses. */
export const LOST_ARGUMENTS: ReadonlySet<string> = new Set(['_project', '_spider'])

/**
 * Spider arguments that never reach a spider: parameters of schedule.json, and names in Scrapyd's own code, which
 * raise an error, are overwritten or get lost, depending on the version (scrapyd-protocol.md, 3.1 and 3.3).
 */
export const RESERVED_ARGUMENTS: ReadonlySet<string> = new Set([
  'project',
  'spider',
  'jobid',
  'priority',
  'setting',
  '_version',
  // Used inside Scrapyd: scheduler, queue, poller, and the argument that it passes to every spider.
  'name',
  'settings',
  'spider_name',
  'self',
  '_job',
  '_project',
  '_spider'
])

/** Scrapyd accepts these names and lists them with the pending job, but does not pass them on. */
export const LOST_ARGUMENTS: ReadonlySet<string> = new Set(['_project', '_spider'])

/** JavaScript loses this name when it copies an object, so settings and arguments cannot use it. */
export const UNUSABLE_NAME = '__proto__'

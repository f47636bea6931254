import type { Job, JobFilter } from '../../shared/contract/index.ts'

/** Whether a job belongs in a list with this filter; the same rules as the engine's `jobs.list`. */
export function jobMatches(job: Job, filter: JobFilter): boolean {
  if (filter.status !== undefined && filter.status.length > 0 && !filter.status.includes(job.status)) return false
  if (filter.project !== undefined && !wildcardMatches(filter.project, job.project)) return false
  if (filter.spider !== undefined && !wildcardMatches(filter.spider, job.spider)) return false
  if (filter.nodeId !== undefined && job.nodeId !== filter.nodeId) return false
  if (filter.scheduleId !== undefined && job.scheduleId !== filter.scheduleId) return false
  if (filter.sinceMs !== undefined && job.queuedAtMs < filter.sinceMs) return false
  if (filter.text) {
    const text = filter.text.toLowerCase()
    return [job.project, job.spider, job.id, job.jobid].some((value) => value.toLowerCase().includes(text))
  }
  return true
}

/** `*` stands for any run of characters; everything else for itself. */
export function wildcardMatches(pattern: string, value: string): boolean {
  const source = pattern
    .split('*')
    .map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, '\\$&'))
    .join('.*')
  return new RegExp(`^${source}$`).test(value)
}

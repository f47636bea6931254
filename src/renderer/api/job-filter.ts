import type { Job, JobFilter, ShownStatus } from '../../shared/contract/index.ts'
import { UNKNOWN_STATUS } from '../../shared/choices.ts'
import { matchesGlob } from '../../shared/glob.ts'

/** Whether a job belongs in a list with this filter. Must match the rules of the engine's `jobs.list`. */
export function jobMatches(job: Job, filter: JobFilter): boolean {
  const isStatus = (status: ShownStatus) =>
    status === UNKNOWN_STATUS ? job.unknownSinceMs !== null : status === job.status
  if (filter.status?.length && !filter.status.some(isStatus)) return false
  if (!matchesGlob(filter.project ?? null, job.project) || !matchesGlob(filter.spider ?? null, job.spider)) return false
  if (filter.nodeId !== undefined && job.nodeId !== filter.nodeId) return false
  if (filter.scheduleId !== undefined && job.scheduleId !== filter.scheduleId) return false
  if (filter.jobid !== undefined && job.jobid !== filter.jobid) return false
  if (filter.userId !== undefined && job.userId !== filter.userId) return false
  if (filter.sinceMs !== undefined && job.queuedAtMs < filter.sinceMs) return false
  if (filter.text) {
    const text = filter.text.toLowerCase()
    return [job.project, job.spider, job.id, job.jobid].some((value) => value.toLowerCase().includes(text))
  }
  return true
}

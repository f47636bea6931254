import type { RunningJob, UsageSample } from '../../../shared/contract/index.ts'
import { LOCAL_NODE_ID } from '../../../shared/ids.ts'
import { isSeen, type Seen } from './seen.ts'
import type { WaitingReasons } from '../../jobs/queue/waiting-reasons.ts'
import type { AttemptReader, JobReader } from '../../storage/store.ts'

const MOST = 2_000

export async function listRunning(
  parts: {
    store: AttemptReader & JobReader
    waiting: Pick<WaitingReasons, 'describeJob'>
    newestUsage: (jobid: string) => UsageSample | null
  },
  seen: Seen
): Promise<{ jobs: RunningJob[]; total: number }> {
  const all = await parts.store.listLiveAttempts()
  const attempts = all.filter(({ project }) => isSeen(seen, project))
  const shown = attempts.toSorted((one, other) => one.sentAtMs - other.sentAtMs).slice(0, MOST)
  const jobs = new Map((await parts.store.getJobs(shown.map(({ jobId }) => jobId))).map((job) => [job.id, job]))
  return {
    jobs: shown.flatMap(({ jobId, jobid, nodeId, pid, sentAtMs }) => {
      const stored = jobs.get(jobId)
      if (stored === undefined || stored.state === 'ended' || stored.state === 'queued') return []
      const { id, project, spider, sentVersion, state, status, ...job } = parts.waiting.describeJob(stored)
      const { attemptCount, cancelAskedAtMs, unknownSinceMs, startedAtMs } = job
      const { pages, items, errors, pagesPerMinute, itemsPerMinute } = job
      return {
        id,
        project,
        spider,
        sentVersion,
        nodeId,
        state,
        status,
        attemptCount,
        cancelAskedAtMs,
        unknownSinceMs,
        startedAtMs,
        pages,
        items,
        errors,
        pagesPerMinute,
        itemsPerMinute,
        sentAtMs,
        pid,
        usage: nodeId === LOCAL_NODE_ID ? parts.newestUsage(jobid) : null
      }
    }),
    total: attempts.length
  }
}

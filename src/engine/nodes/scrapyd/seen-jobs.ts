import type { ProjectName } from '../../../shared/contract/index.ts'
import { showUnseen } from '../../../shared/unseen.ts'
import type { SeenJob } from '../node-client.ts'
import type { ListedJob } from './answers.ts'

/** Forgotten jobs are kept until there are more of them than listed ones, plus this many. */
const FORGOTTEN_KEPT = 100

/**
 * The jobs that one node listed last. A busy node lists hundreds of jobs every second, nearly all as before: these stay
 * the same objects, so that what is kept of each list is only what is new, and memory need not be collected as often.
 */
export class SeenJobs {
  #byId = new Map<string, SeenJob>()

  /** What the lists show, in their order. */
  see<List extends string>(lists: Record<List, readonly ListedJob[]>): Record<List, SeenJob[]> {
    let count = 0
    const seen = {} as Record<List, SeenJob[]>
    for (const list in lists) {
      seen[list] = lists[list].map((job) => this.#seeOne(job))
      count += lists[list].length
    }
    if (this.#byId.size > 2 * count + FORGOTTEN_KEPT) {
      this.#byId = new Map(Object.values<SeenJob[]>(seen).flatMap((jobs) => jobs.map((job) => [job.jobid, job])))
    }
    return seen
  }

  #seeOne({ id, project, spider, pid = null, start_time = null, end_time = null }: ListedJob): SeenJob {
    const before = this.#byId.get(id)
    if (
      before !== undefined &&
      before.project === project &&
      before.spider === spider &&
      before.pid === pid &&
      before.startTime === start_time &&
      before.endTime === end_time
    ) {
      return before
    }
    const job: SeenJob = {
      ...{ project: project as ProjectName, spider, jobid: id, pid },
      ...{ startTime: shownTime(start_time), endTime: shownTime(end_time), exit: null }
    }
    this.#byId.set(id, job)
    return job
  }
}

/** Times become evidence, which people read as the node wrote it. */
const shownTime = (text: string | null): string | null => (text === null ? null : showUnseen(text))

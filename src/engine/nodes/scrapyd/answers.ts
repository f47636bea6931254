import { AnyProjectName, AnyVersionName, type ProjectName } from '../../../shared/contract/index.ts'
import { z } from 'zod'
import { LISTED_MAX } from '../list-limits.ts'
import { showUnseen } from '../../../shared/unseen.ts'
import type { SeenJob } from '../node-client.ts'

// Our own API rejects negative and fractional counts. Such counts would break every list that includes this node.
const Count = z.number().int().nonnegative()

/** The fields of successful responses that we use. Fields that differ between versions are optional. */
export const DaemonStatusAnswer = z.object({
  pending: Count,
  running: Count,
  finished: Count,
  node_name: z.string().optional()
})
export type DaemonStatusAnswer = z.infer<typeof DaemonStatusAnswer>

/** The schema above, hand-written because it is checked thousands of times per second. null: a different shape. */
export function readDaemonStatus(answer: Record<string, unknown>): DaemonStatusAnswer | null {
  const { pending, running, finished, node_name } = answer
  if (!isCount(pending) || !isCount(running) || !isCount(finished)) return null
  if (node_name === undefined) return { pending, running, finished }
  return typeof node_name === 'string' ? { pending, running, finished, node_name } : null
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

export const ProjectsAnswer = z.object({ projects: z.array(AnyProjectName) })
export const VersionsAnswer = z.object({ versions: z.array(AnyVersionName) })
export const SpidersAnswer = z.object({ spiders: z.array(z.string()) })
export const AddVersionAnswer = z.object({ spiders: Count })
export const ScheduleAnswer = z.object({ jobid: z.string() })
export const CancelAnswer = z.object({ prevstate: z.enum(['pending', 'running']).nullable() })
export const DoneAnswer = z.object({})

const Name = z.string().max(LISTED_MAX.nameCharacters)
const ListedJob = z.object({
  id: Name,
  project: Name,
  spider: Name,
  pid: z.number().int().nullish(),
  start_time: Name.nullish(),
  end_time: Name.nullish(),
  log_url: z.string().nullish()
})
export type ListedJob = z.infer<typeof ListedJob>
export const ListJobsAnswer = listsOf(ListedJob)
export type ListJobsAnswer = z.infer<typeof ListJobsAnswer>
/** The schema above, hand-written for speed. Extra fields are allowed. null: at least one job has a different shape. */
export function readListJobs(answer: Record<string, unknown>): ListJobsAnswer | null {
  const { pending, running, finished } = answer
  return isListOfJobs(pending) && isListOfJobs(running) && isListOfJobs(finished)
    ? { pending, running, finished }
    : null
}

function isListOfJobs(list: unknown): list is ListedJob[] {
  return Array.isArray(list) && list.every(isListedJob)
}

function isListedJob(job: unknown): boolean {
  if (typeof job !== 'object' || job === null) return false
  const { id, project, spider, pid, start_time, end_time, log_url } = job as Record<string, unknown>
  return (
    isName(id) &&
    isName(project) &&
    isName(spider) &&
    (pid == null || Number.isSafeInteger(pid)) &&
    (start_time == null || isName(start_time)) &&
    (end_time == null || isName(end_time)) &&
    (log_url == null || typeof log_url === 'string')
  )
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value.length <= LISTED_MAX.nameCharacters
}

/** Scrapyd 1.2 lists jobs only by project and omits the project from each job. */
export const ListJobsOfProjectAnswer = listsOf(ListedJob.omit({ project: true }))

function listsOf<T extends z.ZodType>(job: T) {
  return z.object({ pending: z.array(job), running: z.array(job), finished: z.array(job) })
}

/** Unlisted jobs are dropped when they outnumber the listed jobs by more than this number. */
const FORGOTTEN_KEPT = 100

/** Reuses the objects of unchanged jobs to spare the garbage collector. A busy node lists hundreds every second. */
export class SeenJobs {
  #byId = new Map<string, SeenJob>()

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
      project: project as ProjectName,
      spider,
      jobid: id,
      pid,
      startTime: shownTime(start_time),
      endTime: shownTime(end_time),
      exit: null
    }
    this.#byId.set(id, job)
    return job
  }
}

/** Operators see times as evidence, so we make invisible characters visible. */
const shownTime = (text: string | null): string | null => (text === null ? null : showUnseen(text))

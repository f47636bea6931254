import type { Attempt } from '../../src/shared/contract/index.ts'
import { aJobId } from '../../src/shared/testing/ids.ts'
import type { StoredJob } from '../../src/engine/model/records.ts'
import type { Belief, History, Violation } from '../work/history.ts'
import { orderedJobs } from './orders.ts'

/** A plan made this long after the acknowledgment of a command takes that command into account. */
const GRACE_MS = 100
/** How often another project is allowed to go first, because shares and eggs change while a plan is carried out. */
const PASSED_OVER_MAX = 3

/** A job that is ready to be sent, until its first attempt or the next command that can affect it. */
interface Waiting {
  job: StoredJob
  priority: number
  /** The place in the queue, numbered by acknowledged commands. Jobs with a lower number come first. */
  place: number
  fromMs: number
  untilMs: number
  passedOver: number
}

/**
 * Checks which job goes first (docs/promises.md, 3), in cases that the checker can decide. A job is certainly waiting
 * if its command is acknowledged, it has not been sent, no time, dependency, overlap or expiry holds it back, and only
 * commands that set its priority or place have affected it.
 *
 * While it waits, no job of its lane (project, version, spider, placement) may start with a lower priority, or with the
 * same priority and a later place in the queue. If its project has no live job, other projects that have live jobs may
 * together start at most PASSED_OVER_MAX jobs of the same or lower priority on nodes that have accepted jobs of the
 * waiting job's lane, whatever the weights. Limits and pauses make this undecidable.
 */
export function checkPrecedence(history: History): Violation[] {
  const violations: Violation[] = []
  const jobs = new Map(history.jobs.map((job) => [job.id, job]))
  const { waitings, known } = whoWaits(history, jobs)
  const live = new Map<string, Attempt>()
  /** Lanes whose jobs a node has accepted and whose egg has not been deleted there since. Key: `node lane`. */
  const usable = new Set<string>()
  const undecided = history.operations.find(({ name }) => /setLimits|setPaused|configure/.test(name))
  const fairUntilMs = undecided?.invokedAtMs ?? Infinity
  const eggsDeleted = history.faults.filter(({ kind }) => kind === 'egg deleted on a node')
  for (const belief of history.beliefs) {
    while (eggsDeleted[0] !== undefined && eggsDeleted[0].atMs <= belief.atMs) {
      const { node, about } = eggsDeleted.shift()!
      for (const one of usable) if (one.startsWith(`${node} ["${about}"`)) usable.delete(one)
    }
    if (belief.kind === 'changed' && (belief.to === 'ended' || belief.to === 'finishing'))
      live.delete(`${belief.jobId}/${belief.number}`)
    if (belief.kind === 'changed' && belief.to === 'accepted') {
      const taken = live.get(`${belief.jobId}/${belief.number}`)
      const lane = jobs.get(aJobId(belief.jobId))?.lane
      if (taken !== undefined && lane !== undefined) usable.add(`${taken.nodeId} ${lane}`)
    }
    if (belief.kind === 'begun') for (const attempt of belief.attempts) begin(attempt, belief.atMs)
  }
  return violations

  function begin(attempt: Attempt, atMs: number): void {
    const second = jobs.get(attempt.jobId)
    const own = known.get(attempt.jobId)?.find((one) => one.fromMs + GRACE_MS < atMs && atMs <= one.untilMs)
    if (second !== undefined && own !== undefined && attempt.number === 1) {
      for (const first of waitings) {
        if (first.job.id === second.id || atMs <= first.fromMs + GRACE_MS || atMs >= first.untilMs) continue
        const isLower = own.priority < first.priority
        if (first.job.lane === second.lane) {
          const isYounger = own.priority === first.priority && own.place > first.place
          if (!isLower && !isYounger) continue
          const why = isLower ? `priority ${own.priority} before ${first.priority}` : 'of the same priority'
          violations.push({ rule: 'order', jobId: second.id, text: `went before ${first.job.id}: ${why}, in one lane` })
        } else if (
          atMs < fairUntilMs &&
          own.priority <= first.priority &&
          isPassedOver(first, second, attempt.nodeId)
        ) {
          first.passedOver += 1
          if (first.passedOver !== PASSED_OVER_MAX + 1) continue
          const text = `${first.job.project} has no slot, and ${second.project} was given ${first.passedOver} of those that it could use`
          violations.push({ rule: 'fairness', jobId: first.job.id, text })
        }
      }
    }
    live.set(`${attempt.jobId}/${attempt.number}`, attempt)
  }

  function isPassedOver({ job: first }: Waiting, second: StoredJob, nodeId: string): boolean {
    if (first.project === second.project || !usable.has(`${nodeId} ${first.lane}`)) return false
    const projects = [...live.values()].map(({ project }) => project)
    return !projects.includes(first.project) && projects.includes(second.project)
  }
}

/** Returns the periods before the first attempt of each job in which the job's priority and place are certain. */
function whoWaits(
  history: History,
  jobs: Map<string, StoredJob>
): { waitings: Waiting[]; known: Map<string, Waiting[]> } {
  const known = new Map<string, Waiting[]>()
  const begunAtMs = firstBegins(history.beliefs)
  // The history contains only the last lane of a moved job.
  const moved = new Set(
    history.operations.flatMap(({ name, input }) => (name === 'jobs.place' ? (input as { ids: string[] }).ids : []))
  )
  let [last, first] = [0, 0]
  for (const operation of history.operations) {
    for (const { id, priority, dedupe } of orderedJobs(operation)) {
      const job = jobs.get(id)
      // The result can be a job from an earlier, unacknowledged command.
      if (job === undefined || known.has(id) || moved.has(id) || dedupe != null) continue
      last += 1
      const untilMs = begunAtMs.get(id) ?? Infinity
      const fromMs = operation.answeredAtMs!
      known.set(id, [{ job, priority: priority ?? 0, place: last, fromMs, untilMs, passedOver: 0 }])
    }
    if (!operation.name.startsWith('jobs.')) continue
    const { ids, priority, to } = operation.input as { ids?: string[]; priority?: number; to?: unknown }
    if (operation.name === 'jobs.reorder') {
      if (to === 'front') first -= 1
      else last += 1
    }
    for (const id of ids ?? []) {
      const stretches = known.get(id)
      const before = stretches?.at(-1)
      if (stretches === undefined || before === undefined || before.untilMs < operation.invokedAtMs) continue
      const { untilMs } = before
      // Excludes jobs that start in the same millisecond as the command, because the command can have caused that.
      before.untilMs = operation.invokedAtMs - 1
      // Commands about a job that overlap in time can be carried out in either order.
      if (operation.result !== 'ok' || before.fromMs > operation.invokedAtMs) continue
      const after = { ...before, fromMs: operation.answeredAtMs!, untilMs, passedOver: 0 }
      if (operation.name === 'jobs.setPriority') stretches.push({ ...after, priority: priority! })
      if (operation.name === 'jobs.reorder' && to === 'front') stretches.push({ ...after, place: first })
      if (operation.name === 'jobs.reorder' && to === 'back') stretches.push({ ...after, place: last })
    }
  }
  const isFree = ({ job }: Waiting) =>
    job.notBeforeMs === null && job.expiresAtMs === null && !job.noOverlap && job.after.length === 0
  return { waitings: [...known.values()].flat().filter(isFree), known }
}

function firstBegins(beliefs: readonly Belief[]): Map<string, number> {
  const first = new Map<string, number>()
  for (const belief of beliefs) {
    if (belief.kind !== 'begun') continue
    for (const { jobId } of belief.attempts) if (!first.has(jobId)) first.set(jobId, belief.atMs)
  }
  return first
}

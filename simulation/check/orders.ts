import type { Operation, History, Violation } from '../work/history.ts'

/** Sequential commands are carried out in order. The order of commands that overlap in time is undefined. */
export function checkOrders(history: History): Violation[] {
  return [...checkDedupe(history), ...checkPauses(history)]
}

/**
 * Compares two commands with the same key if the second one was sent after the response to the first. Within the first
 * command's time to live, both must return the same job, and after it, different jobs. Skips stories in which our wall
 * clock jumps.
 */
function checkDedupe(history: History): Violation[] {
  const violations: Violation[] = []
  if (history.faults.some(({ kind }) => kind.startsWith('our clock jumped'))) return violations
  // The result of a command with one of these keys is unknown, so it can have created the first job, and the key's
  // expiry is unknown.
  const unsure = new Set(
    history.operations
      .filter(({ name, result }) => result === 'unknown' && (name === 'jobs.run' || name === 'jobs.runMany'))
      .flatMap(({ input }) => (input as { jobs?: AskedJob[] }).jobs ?? [input as AskedJob])
      .map(keyOf)
  )
  const byKey = new Map<string, { id: string; ttlMs: number; invokedAtMs: number; answeredAtMs: number }[]>()
  for (const operation of history.operations) {
    for (const job of orderedJobs(operation)) {
      const { id, dedupe } = job
      if (dedupe == null) continue
      const key = keyOf(job)!
      const [invokedAtMs, answeredAtMs] = [operation.invokedAtMs, operation.answeredAtMs!]
      const earlier = byKey.get(key) ?? []
      byKey.set(key, [...earlier, { id, ttlMs: dedupe.ttlSeconds * 1000, invokedAtMs, answeredAtMs }])
    }
  }
  for (const [key, orders] of byKey) {
    for (const [index, order] of orders.entries()) {
      for (const earlier of orders.slice(0, index)) {
        // Only the command that created the job counts. Later commands that return the job's id do not extend the
        // key.
        if (orders.find(({ id }) => id === earlier.id) !== earlier || order.invokedAtMs <= earlier.answeredAtMs)
          continue
        const isOne = order.id === earlier.id
        if (!isOne && order.answeredAtMs < earlier.invokedAtMs + earlier.ttlMs) {
          violations.push({
            rule: 'dedupe',
            jobId: order.id,
            text: `made though ${earlier.id} has its key and is young`
          })
        }
        // Allows a difference of one millisecond, because the engine's clock counts whole ones.
        if (isOne && !unsure.has(key) && order.invokedAtMs > earlier.answeredAtMs + earlier.ttlMs + 1) {
          violations.push({ rule: 'dedupe', jobId: order.id, text: 'answered again after its key had expired' })
        }
      }
    }
  }
  return violations
}

/** No job is sent between the response to a pause and the next command that can have lifted it. */
function checkPauses(history: History): Violation[] {
  const violations: Violation[] = []
  const projectOf = new Map(history.jobs.map(({ id, project }) => [id, project]))
  const pauses = history.operations.flatMap((operation) => pausesOf(operation))
  for (const pause of pauses.filter(({ paused, operation }) => paused && operation.result === 'ok')) {
    const { answeredAtMs, invokedAtMs } = pause.operation
    const lifts = pauses.filter(
      ({ paused, project, operation }) =>
        !paused &&
        project === pause.project &&
        (operation.answeredAtMs === null || operation.answeredAtMs >= invokedAtMs)
    )
    const untilMs = Math.min(...lifts.map(({ operation }) => operation.invokedAtMs))
    for (const belief of history.beliefs) {
      if (belief.kind !== 'begun' || belief.atMs <= answeredAtMs! || belief.atMs >= untilMs) continue
      for (const { jobId } of belief.attempts) {
        if (pause.project !== null && projectOf.get(jobId) !== pause.project) continue
        const sinceMs = Math.round(belief.atMs - answeredAtMs!)
        violations.push({ rule: 'pause', jobId, text: `sent ${sinceMs} ms after ${pause.project ?? 'all'} was paused` })
      }
    }
  }
  return violations
}

function pausesOf(operation: Operation): { project: string | null; paused: boolean; operation: Operation }[] {
  const input = operation.input as { project?: string; paused?: boolean; settings?: { paused: boolean } }
  switch (operation.name) {
    case 'system.setPaused':
      return [{ project: null, paused: input.paused!, operation }]
    case 'projects.setPaused':
      return [{ project: input.project!, paused: input.paused === true, operation }]
    case 'projects.configure':
      return [{ project: input.project!, paused: input.settings!.paused, operation }]
    default:
      return []
  }
}

/** Returns the jobs that an acknowledged command requested, with their ids. */
export function orderedJobs({ name, result, input, output }: Operation): OrderedJob[] {
  if (result !== 'ok') return []
  if (name === 'jobs.run') {
    const asked = input as AskedJob
    return (output as { jobs: { id: string }[] }).jobs.map(({ id }) => ({ ...asked, id }))
  }
  if (name !== 'jobs.runMany') return []
  const { ids } = output as { ids: string[] }
  return (input as { jobs: AskedJob[] }).jobs.map((asked, index) => ({ ...asked, id: ids[index]! }))
}

type AskedJob = Omit<OrderedJob, 'id'>

/** A key belongs to a project. */
const keyOf = ({ project, dedupe }: AskedJob): string | undefined =>
  dedupe == null ? undefined : JSON.stringify([project, dedupe.key])

interface OrderedJob {
  id: string
  project: string
  priority?: number
  dedupe?: { key: string; ttlSeconds: number } | null
}

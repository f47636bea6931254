import type { Attempt, Job } from '../../src/shared/contract/index.ts'
import type { Run } from './truth.ts'

export interface Asked {
  number: number
  /** The id in the response. null: no response. */
  id: string | null
}

export interface Told {
  number: number
  job: Pick<Job, 'id' | 'state' | 'status' | 'mayHaveRunTwice'>
  /** Empty if the job ran once and succeeded. */
  attempts: ToldAttempt[]
}
export type ToldAttempt = Pick<Attempt, 'jobid' | 'nodeId' | 'result' | 'sentAtMs' | 'endedAtMs'>

export interface NodeDeath {
  node: string
  atMs: number
  withSpiders: boolean
}

export interface Verdict {
  asked: number
  acknowledged: number
  runs: number
  outcomes: Record<string, number>
  /** Jobs that were acknowledged but are missing from Scrapdeck's list. */
  forgotten: number[]
  /** Jobs that were acknowledged but never ran, although their nodes did not die. */
  lost: number[]
  /**
   * Jobs that never ran and were reported as lost after their node died. A dead node forgets jobs that it had not
   * started.
   */
  neverRanButExplained: number[]
  unfinished: number[]
  /** Jobs that ran more often than the recorded failures explain, or again after Scrapdeck considered a run lost. */
  duplicated: number[]
  unflagged: number[]
  /** The `duplicated` jobs whose run was considered lost although it had started, so the retry policy repeated it. */
  retriedAfterLoss: number[]
  /** Jobs that were flagged although they ran once. Scrapdeck could not know that. */
  flaggedInVain: number[]
  succeededWithoutRun: number[]
  /** Jobs that were reported as lost or failed, although a run of their newest attempt completed. */
  endedWellButNotBelieved: number[]
  /** Attempts that ran, although Scrapdeck reported them as absent or refused. */
  wronglyAbsent: string[]
  /** Dedupe keys for which there are several jobs. */
  askedTwice: number[]
  /** The maximum number of concurrent runs on each node, according to the runs' own records. */
  mostAtOnce: Record<string, number>
}

export function judge(facts: {
  asked: Asked[]
  told: Told[]
  runs: Run[]
  deaths: NodeDeath[]
  nodeNames: Map<string, string>
}): Verdict {
  const { asked, told, runs, deaths, nodeNames } = facts
  const runsOf = Map.groupBy(runs, ({ number }) => number)
  const toldOf = Map.groupBy(told, ({ number }) => number)
  const verdict: Verdict = {
    asked: asked.length,
    acknowledged: asked.filter(({ id }) => id !== null).length,
    runs: runs.length,
    outcomes: countBy(told.map(({ job }) => job.status)),
    forgotten: [],
    lost: [],
    neverRanButExplained: [],
    unfinished: [],
    duplicated: [],
    unflagged: [],
    retriedAfterLoss: [],
    flaggedInVain: [],
    succeededWithoutRun: [],
    endedWellButNotBelieved: [],
    wronglyAbsent: [],
    askedTwice: [],
    mostAtOnce: {}
  }
  for (const { number, id } of asked) {
    const tellings = toldOf.get(number) ?? []
    if (tellings.length > 1) verdict.askedTwice.push(number)
    const found = id === null ? tellings[0] : tellings.find(({ job }) => job.id === id)
    if (found === undefined) {
      if (id !== null) verdict.forgotten.push(number)
      // The job was neither acknowledged nor stored, so it must not run.
      else if (runsOf.has(number)) verdict.duplicated.push(number)
      continue
    }
    judgeJob(number, found, runsOf.get(number) ?? [])
  }
  for (const [node, own] of Map.groupBy(runs, (run) => run.node)) {
    verdict.mostAtOnce[node] = mostAtOnce(own, deaths)
  }
  return verdict

  function judgeJob(number: number, { job, attempts }: Told, own: Run[]): void {
    const hasRunToItsEnd = own.some(({ endedAtMs }) => endedAtMs !== null)
    if (job.state !== 'ended') verdict.unfinished.push(number)
    else if (own.length === 0 && job.status !== 'cancelled') {
      if (job.status === 'lost' && attempts.some(nodeDiedDuring)) verdict.neverRanButExplained.push(number)
      else verdict.lost.push(number)
    }
    if (job.status === 'succeeded' && !hasRunToItsEnd) verdict.succeededWithoutRun.push(number)
    const newest = attempts.at(-1)
    if ((job.status === 'lost' || job.status === 'failed') && newest !== undefined) {
      const isBelied = own.some(({ jobid, endedAtMs }) => jobid === newest.jobid && endedAtMs !== null)
      if (isBelied) verdict.endedWellButNotBelieved.push(number)
    }
    for (const { jobid, result } of attempts) {
      if ((result === 'absent' || result === 'refused') && own.some((run) => run.jobid === jobid)) {
        verdict.wronglyAbsent.push(jobid)
      }
    }
    // A run that follows a failed one is not a duplicate, because the retry policy repeats failed runs.
    const failedBefore = new Set(attempts.slice(0, -1).flatMap((one) => (one.result === 'failed' ? [one.jobid] : [])))
    const inDoubt = own.filter(({ jobid }) => !failedBefore.has(jobid)).length
    const isTwice = inDoubt > 1 || new Set(own.map(({ jobid }) => jobid)).size < own.length
    if (isTwice) verdict.duplicated.push(number)
    const wasLost = attempts
      .slice(0, -1)
      .some(({ jobid, result }) => result === 'lost' && own.some((run) => run.jobid === jobid))
    if (isTwice && wasLost) verdict.retriedAfterLoss.push(number)
    if (isTwice && !job.mayHaveRunTwice) verdict.unflagged.push(number)
    if (!isTwice && job.mayHaveRunTwice) verdict.flaggedInVain.push(number)
  }

  function nodeDiedDuring(attempt: ToldAttempt): boolean {
    const name = nodeNames.get(attempt.nodeId)
    const untilMs = attempt.endedAtMs ?? Number.POSITIVE_INFINITY
    return deaths.some(({ node, atMs }) => node === name && atMs >= attempt.sentAtMs && atMs <= untilMs)
  }
}

export function complaintsOf(verdict: Verdict, slotsPerNode: number): string[] {
  const complaints: string[] = []
  const add = (list: (number | string)[], words: string) => {
    if (list.length > 0)
      complaints.push(`${list.length} ${words}: ${list.slice(0, 20).join(', ')}${list.length > 20 ? ', …' : ''}`)
  }
  add(verdict.forgotten, 'acknowledged jobs are gone')
  add(verdict.lost, 'acknowledged jobs never ran, and nothing explains it')
  add(verdict.unfinished, 'jobs came to no end')
  add(verdict.unflagged, 'jobs ran twice without being flagged')
  add(verdict.succeededWithoutRun, 'jobs are said to have succeeded, but no run of them came to its end')
  add(verdict.askedTwice, 'dedupe keys have more than one job')
  for (const [node, most] of Object.entries(verdict.mostAtOnce)) {
    if (most > slotsPerNode) complaints.push(`${node} ran ${most} spiders at once, and has ${slotsPerNode} slots`)
  }
  return complaints
}

/** A run without an end is still running, or ended when its machine died. */
function mostAtOnce(runs: Run[], deaths: NodeDeath[]): number {
  const steps = runs.flatMap(({ node, beganAtMs, endedAtMs }) => {
    const death = deaths.find((one) => one.node === node && one.withSpiders && one.atMs >= beganAtMs)
    return [
      { atMs: beganAtMs, change: 1 },
      { atMs: endedAtMs ?? death?.atMs ?? Number.POSITIVE_INFINITY, change: -1 }
    ]
  })
  steps.sort((left, right) => left.atMs - right.atMs || left.change - right.change)
  let running = 0
  let most = 0
  for (const { change } of steps) {
    running += change
    most = Math.max(most, running)
  }
  return most
}

function countBy(values: string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1
  return counts
}

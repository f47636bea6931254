import type { Job } from '../../src/shared/contract/index.ts'
import type { Asked } from '../chaos/judge.ts'
import type { Run } from '../chaos/truth.ts'

export type ToldJob = { number: number } & Pick<Job, 'id' | 'status' | 'mayHaveRunTwice'>

/**
 * Returns complaints. Each order must have one job, and each job exactly one completed run, according to the runs'
 * own records.
 */
export function judgeRuns(asked: readonly Asked[], told: readonly ToldJob[], runs: readonly Run[]): string[] {
  const complaints: string[] = []
  const runsOf = Map.groupBy(runs, ({ jobid }) => jobIdOf(jobid))
  const toldOf = Map.groupBy(told, ({ number }) => number)
  for (const { number, id } of asked) {
    const jobs = toldOf.get(number) ?? []
    if (jobs.length !== 1) complaints.push(`order ${number} has ${jobs.length} jobs`)
    else if (jobs[0]!.id !== id)
      complaints.push(`order ${number} was answered with ${id}, and its job is ${jobs[0]!.id}`)
  }
  for (const { number, id, status, mayHaveRunTwice } of told) {
    const own = runsOf.get(id) ?? []
    const name = `job ${id} (order ${number})`
    if (own.length !== 1) complaints.push(`${name} ran ${own.length} times${placesOf(own)}`)
    else if (own[0]!.endedAtMs === null) complaints.push(`${name} began and came to no end`)
    if (status !== 'succeeded') complaints.push(`${name} is told as ${status}`)
    if (mayHaveRunTwice) complaints.push(`${name} is told as perhaps run twice`)
  }
  const known = new Set<string>(told.map(({ id }) => id))
  for (const { jobid, node } of runs) {
    if (!known.has(jobIdOf(jobid))) complaints.push(`${node} ran ${jobid}, which is no job`)
  }
  return complaints
}

/** Returns the id of the job. The jobid of a later attempt has the attempt's number appended. */
const jobIdOf = (jobid: string): string => jobid.replace(/-\d+$/, '')

const placesOf = (runs: readonly Run[]): string =>
  runs.length === 0 ? '' : `: ${runs.map(({ node, jobid }) => `${jobid} on ${node}`).join(', ')}`

export function mostAtOnce(runs: readonly Run[]): Map<string, number> {
  return new Map(
    [...Map.groupBy(runs, ({ node }) => node)].map(([node, own]) => {
      const steps = own.flatMap(({ beganAtMs, endedAtMs }) => [
        { atMs: beganAtMs, change: 1 },
        { atMs: endedAtMs ?? Number.POSITIVE_INFINITY, change: -1 }
      ])
      steps.sort((left, right) => left.atMs - right.atMs || left.change - right.change)
      let [running, most] = [0, 0]
      for (const { change } of steps) most = Math.max(most, (running += change))
      return [node, most] as const
    })
  )
}

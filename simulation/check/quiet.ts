import type { StoredJob, StoredNode } from '../../src/engine/model/records.ts'
import type { History, Violation } from '../work/history.ts'

/** Errors of an engine that no longer leads or that lost its database. */
const LOST_LEAD = /another engine leads|connection was lost|Scrapdeck is stopping/i

/** Checks that at the end, every job has ended or has a reason to wait, and every job that can run has run (I1, I5). */
export function checkQuiet(history: History): Violation[] {
  const violations: Violation[] = []
  const complain = (rule: string, text: string, jobId: string | null = null) => violations.push({ rule, jobId, text })
  const { end, jobs } = history
  for (const { atMs, queued } of history.samples) {
    for (const { id, waiting } of queued)
      if (waiting === null) complain('silent', `waits without a reason after ${atMs} ms`, id)
  }
  const byId = new Map(jobs.map((job) => [job.id, job]))
  for (const job of jobs) {
    if (job.state === 'ended') continue
    const reason = end.waiting.get(job.id)
    // A stuck node on probation gets a job from time to time, forever.
    const isOnlyForStuck = history.stuckForEver.size > 0 && !history.nodes.some((node) => couldRun(job, node))
    if (job.state !== 'queued' && isOnlyForStuck) continue
    if (job.state !== 'queued') complain('liveness', `still ${job.state}, long after faults have ended`, job.id)
    else if (reason == null) complain('silent', 'waits without a reason when all is over', job.id)
    else if (!mayWait(job))
      complain('liveness', `still waits (${reason.code}: ${reason.text}), though it could run`, job.id)
  }
  if (!end.isQuiet && violations.length === 0 && history.stuckForEver.size === 0)
    complain(
      'liveness',
      `it never came to rest; queued: ${jobs
        .filter(({ state }) => state === 'queued')
        .map(({ id, hold }) => `${id} (${hold ?? end.waiting.get(id)?.code})`)
        .join(', ')}`
    )
  if (end.runsShown > 0 && history.stuckForEver.size === 0)
    complain('leftover', `nodes show ${end.runsShown} runs of ours`)
  if (end.lanesTold > end.lanesQueued)
    complain('leftover', `${end.lanesTold} lanes are remembered, ${end.lanesQueued} have jobs`)
  for (const count of end.timersLeft)
    if (count > 0) complain('leftover', `${count} timers were left when the engine had stopped`)
  for (const { atMs, text } of end.complaints) {
    if (!/disk is full|ENOSPC/.test(text) && !(history.engines > 1 && LOST_LEAD.test(text)))
      complain('complaint', `after ${Math.round(atMs)} ms: ${text}`)
  }
  return violations

  function mayWait(job: StoredJob): boolean {
    switch (job.hold) {
      case 'not_before':
      case 'retry':
        return (end.waiting.get(job.id)?.untilMs ?? 0) > end.wallMs
      case 'dependency':
        return job.after.some(({ jobId }) => byId.get(jobId)?.state !== 'ended')
      case 'overlap':
        return jobs.some(
          (other) => other.id !== job.id && other.noOverlap && other.state !== 'ended' && other.spider === job.spider
        )
      case null:
        return !history.nodes.some((node) => couldRun(job, node))
    }
  }

  function couldRun({ placement }: StoredJob, node: StoredNode): boolean {
    if (placement.nodeId !== null && placement.nodeId !== node.id) return false
    if (history.stuckForEver.has(history.hosts.get(node.id)!)) return false
    return placement.tags.every((term) =>
      term.split('|').some((one) => (one.startsWith('!') ? !node.tags.includes(one.slice(1)) : node.tags.includes(one)))
    )
  }
}

import type { Expectation, Expected } from './expected.ts'
import { isPausedAt, type Journal, livingSince } from './journal.ts'
import type { PlannedSchedule } from './plan.ts'

/**
 * How soon a schedule that failed too often must be paused, counted from the end of a job or the start of an engine.
 */
const PAUSED_WITHIN_MS = 1_000

/** Checks that each recorded pause due to failures had its cause, and that each cause led to a pause. */
export function problemsOfFailures(
  schedule: PlannedSchedule,
  expectation: Expectation,
  { journal, failuresInARow, durationMs }: { journal: Journal; failuresInARow: number; durationMs: number }
): string[] {
  const { id, pauseAfterFailures } = schedule
  const pauses = journal.pauses.get(id)?.filter(({ by }) => by === 'failures') ?? []
  if (pauseAfterFailures === null) return pauses.map(({ fromMs }) => `paused at ${fromMs}, though it never is`)
  const told = expectation.moments.filter(({ state }) => state === 'fired' || state === 'failed')
  const ends = new Map(told.map((one) => [one, one.jobs.map(expectation.endOf)]))
  const problems: string[] = []
  for (const { fromMs } of pauses) {
    const count = countAt(fromMs, true)
    if (count < pauseAfterFailures)
      problems.push(`paused at ${fromMs} after ${count} of ${pauseAfterFailures} failures`)
  }
  const refusals = told.filter(({ state }) => state === 'failed').map(({ seenMs }) => seenMs)
  const causes = [...refusals, ...[...ends.values()].flat().map(({ atMs }) => atMs)]
  for (const causeMs of new Set(causes)) {
    const dueMs = livingSince(journal, causeMs, PAUSED_WITHIN_MS)
    if (dueMs === null || dueMs > durationMs || isPausedAt(journal, id, dueMs)) continue
    if (isOverAt(dueMs)) continue
    // The engine might not have handled ends within this last period.
    const count = Math.min(countAt(dueMs - PAUSED_WITHIN_MS, false), countAt(dueMs, false))
    if (count >= pauseAfterFailures) problems.push(`not paused at ${dueMs}, after ${count} failures`)
  }
  const isSettled = livingSince(journal, durationMs - PAUSED_WITHIN_MS, PAUSED_WITHIN_MS) === durationMs
  const counts = [countAt(durationMs, false), countAt(durationMs - PAUSED_WITHIN_MS, false)]
  if (isSettled && !isPausedAt(journal, id, durationMs) && !isOverAt(durationMs) && !counts.includes(failuresInARow)) {
    problems.push(`${failuresInARow} failures in a row are told, but there were ${counts.join(' or ')}`)
  }
  return problems

  function isOverAt(atMs: number): boolean {
    const last: Expected | undefined = expectation.moments.at(-1)
    return last === undefined || last.seenMs <= atMs
  }

  /** `isBefore` excludes changes recorded at exactly that time. */
  function countAt(atMs: number, isBefore: boolean): number {
    const changes = journal.changes.get(id) ?? []
    const since = changes.findLast((changedMs) => (isBefore ? changedMs < atMs : changedMs <= atMs))
    let count = 0
    for (const one of told.filter(({ seenMs }) => seenMs <= atMs).reverse()) {
      if (since !== undefined && one.seenMs < since) return count
      const known = ends.get(one)!.map((end) => (end.atMs <= atMs ? end.outcome : 'live'))
      if (one.state === 'failed' || known.includes('failed')) count += 1
      else if (known.includes('succeeded') && !known.includes('live')) return count
    }
    return count
  }
}

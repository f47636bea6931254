import type { StoredFiring, StoredSchedule } from '../store/records.ts'
import type { FiringReader } from '../store/store.ts'

/** Where a schedule never pauses by itself, so many are counted. */
const FAILURES_SHOWN = 20
const FIRINGS_READ_FIRST = 2
/** Those that still run say nothing: so many of them are passed over. */
const LIVE_PASSED_OVER = 50

/** How many of its firings failed in a row. Mostly the newest one tells it: more are read only where they failed. */
export async function readFailures(store: FiringReader, stored: StoredSchedule): Promise<number> {
  const wanted = stored.settings.pauseAfterFailures ?? FAILURES_SHOWN
  // Whoever changes or resumes a schedule starts again.
  const filter = { scheduleId: stored.id, states: ['fired' as const, 'failed' as const], sinceChange: true }
  const firings: StoredFiring[] = []
  for (let limit = FIRINGS_READ_FIRST; ; limit *= 4) {
    const before = firings.at(-1)?.id ?? null
    const page = await store.listFirings(filter, { before, limit })
    firings.push(...page)
    const { count, hasFoundEnd } = countFailures(firings)
    const isEnough = count >= wanted || firings.length >= wanted + LIVE_PASSED_OVER
    if (hasFoundEnd || page.length < limit || isEnough) return count
  }
}

/**
 * How many firings failed in a row, up to the newest that succeeded; `firings` are newest first. One that still runs,
 * or was cancelled, says nothing. `hasFoundEnd`: older firings change nothing.
 */
function countFailures(firings: readonly StoredFiring[]): { count: number; hasFoundEnd: boolean } {
  let count = 0
  for (const { state, statuses } of firings) {
    if (hasFailed({ state, statuses })) count += 1
    else if (statuses.some((status) => status === 'succeeded') && !statuses.some(isLive)) {
      return { count, hasFoundEnd: true }
    }
  }
  return { count, hasFoundEnd: false }
}

/** A job of it failed or was lost, or it could make no job. */
export function hasFailed({ state, statuses }: Pick<StoredFiring, 'state' | 'statuses'>): boolean {
  return state === 'failed' || statuses.some((status) => status === 'failed' || status === 'lost')
}

export function isLive(status: string): boolean {
  return status === 'queued' || status === 'starting' || status === 'running'
}

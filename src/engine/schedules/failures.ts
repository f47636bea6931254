import type { StoredFiring, StoredSchedule } from '../model/records.ts'
import type { FiringReader } from '../storage/store.ts'

const FAILURES_SHOWN = 20
const FIRINGS_READ_FIRST = 2
/** The maximum number of extra firings to read, because running firings count as neither successes nor failures. */
const LIVE_PASSED_OVER = 50

/** The number of failed firings in a row. Older firings are read only if the newest failed. */
export async function readFailures(store: FiringReader, stored: StoredSchedule): Promise<number> {
  const wanted = stored.settings.pauseAfterFailures ?? FAILURES_SHOWN
  // Changing or resuming a schedule resets the count.
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

export function hasFailed({ state, statuses }: Pick<StoredFiring, 'state' | 'statuses'>): boolean {
  return state === 'failed' || statuses.some((status) => status === 'failed' || status === 'lost')
}

export function isLive(status: string): boolean {
  return status === 'queued' || status === 'starting' || status === 'running'
}

import type { StoredFiring } from '../store/store.ts'

/**
 * How many firings failed in a row, up to the newest that has ended; `firings` are newest first. One of which a job failed or was lost
 * failed, and so did one that could make no job; one that still runs, or that somebody cancelled, says nothing. Only those since
 * `sinceMs` count: whoever changes or resumes a schedule begins anew. `hasFoundEnd`: older firings change nothing.
 */
export function countFailures(
  firings: readonly StoredFiring[],
  sinceMs: number
): { count: number; hasFoundEnd: boolean } {
  let count = 0
  for (const { state, statuses, atMs } of firings) {
    if (atMs < sinceMs) return { count, hasFoundEnd: true }
    if (state === 'failed' || statuses.some((status) => status === 'failed' || status === 'lost')) count += 1
    else if (statuses.some((status) => status === 'succeeded') && !statuses.some(isLive)) {
      return { count, hasFoundEnd: true }
    }
  }
  return { count, hasFoundEnd: false }
}

export function isLive(status: string): boolean {
  return status === 'queued' || status === 'starting' || status === 'running'
}

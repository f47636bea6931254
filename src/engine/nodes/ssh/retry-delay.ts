import type { SshProblem } from './ssh-problem.ts'

const BOUNDS_MS: Record<SshProblem['ends'], { first: number; most: number }> = {
  'by itself': { first: 1_000, most: 60_000 },
  // Hosts ban clients whose logins fail often.
  'by hand': { first: 30_000, most: 600_000 }
}

/**
 * How long to wait before the next attempt to connect. `failures`: attempts in a row that failed, this one included.
 * `chance` in [0, 1): spreads the attempts of engines that lost a host at the same moment over half of the wait.
 */
export function retryDelayMs(ends: SshProblem['ends'], failures: number, chance: number): number {
  const { first, most } = BOUNDS_MS[ends]
  const waitMs = Math.min(most, first * 2 ** Math.min(Math.max(failures - 1, 0), 20))
  return Math.round(waitMs * (1 - chance / 2))
}

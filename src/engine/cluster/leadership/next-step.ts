import type { SeenLease } from '../../storage/lease-table.ts'

/** How long a leader that stops renewing keeps the lease. */
export const LEASE_MS = 5_000
/**
 * How long a connection must exist before a free lock counts. A new connection may mean that the database just
 * restarted, and that the leader has not reconnected yet.
 */
export const SETTLED_AFTER_MS = 3_000
/** How long only the successor may take the lease after a handover. */
export const HANDOVER_MS = 3_000

export interface Follower {
  id: string
  isDrained: boolean
  connectedMs: number
  /** How long the follower has seen the lease unchanged, by its own monotonic clock. */
  unchangedMs: number
}

export type Step = { do: 'follow' } | { do: 'take'; reason: string }

/**
 * Decides whether a follower takes the lease. A free lock shows within milliseconds that a leader is gone. A stalled
 * leader, or one that never had the lock, only loses the lease when it expires. Each follower must see for itself that
 * the lease was not renewed, because the database's clock can jump.
 */
export function nextStep(lease: SeenLease, follower: Follower): Step {
  if (follower.isDrained) return { do: 'follow' }
  if (lease.next !== null && lease.next !== follower.id && follower.unchangedMs < HANDOVER_MS) return { do: 'follow' }
  if (lease.holder === null) {
    if (lease.epoch === 0) return { do: 'take', reason: 'the first engine' }
    if (lease.next === follower.id) return { do: 'take', reason: 'the leadership was handed over' }
    return { do: 'take', reason: 'the former leader stopped' }
  }
  const name = lease.leaderName ?? 'the former leader'
  if (follower.unchangedMs >= LEASE_MS) return { do: 'take', reason: `${name} stopped renewing its lease` }
  // If the lease has expired, the connection can be new, because a leader whose lease has expired does not act.
  const isSettled = follower.connectedMs >= SETTLED_AFTER_MS || lease.isExpired
  if (lease.gotLock && lease.hasLock && isSettled) return { do: 'take', reason: `${name} is gone` }
  return { do: 'follow' }
}

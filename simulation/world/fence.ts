import type { Lease } from '../../src/engine/storage/lease-table.ts'

/**
 * Whether a transaction may write. A leader's transaction carries the leader's lease, as in begin_write
 * (postgres/migrations/0001-baseline.ts).
 */
export function passesFence(carried: Lease, current: Lease): boolean {
  return carried.holder === current.holder && carried.epoch === current.epoch
}

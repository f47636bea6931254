import type { Lease } from '../../src/engine/storage/lease-table.ts'

/** As in begin_write (postgres/migrations/0001-baseline.ts), a leader's transaction carries its lease. */
export function passesFence(carried: Lease, current: Lease): boolean {
  return carried.holder === current.holder && carried.epoch === current.epoch
}

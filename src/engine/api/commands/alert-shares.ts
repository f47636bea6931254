import type { ProjectName } from '../../../shared/contract/index.ts'

/** Rules or silences. */
export interface Countable {
  most: number
  what: string
  /** How to make room. */
  remedy: string
}

/** One project may have a tenth of all; a tenth is reserved for those who may add some in all projects. */
const SHARES = 10

/**
 * Why there is no room for one more of this project; null: there is. The fuller it is, the less one project may have,
 * so that room is left for those that have few. `isOfAll`: who adds it has the right in all projects. Pure.
 */
export function whyNoRoom(
  there: readonly { project: ProjectName | null }[],
  { project, isOfAll }: { project: ProjectName | null; isOfAll: boolean },
  { most, what, remedy }: Countable
): string | null {
  if (there.length >= most) return `There are already ${most} ${what}, the most there can be: ${remedy}.`
  if (isOfAll) return null
  const share = most / SHARES
  const own = there.filter((one) => one.project === project).length
  if (own >= share) return `${project} already has ${own} ${what}, the most that one project can have: ${remedy}.`
  const left = Math.max(0, most - share - there.length)
  if (own < left) return null
  return `Projects can add only ${left} more ${what} in all, and ${project} already has ${own}: ${remedy}.`
}

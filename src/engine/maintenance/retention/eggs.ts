import type { EggPolicy, ProjectName, VersionName } from '../../../shared/contract/index.ts'

/** A version whose egg is here. */
export interface KeptEgg {
  project: ProjectName
  version: VersionName
  sizeBytes: number
  createdAtMs: number
  /** The version that jobs without one run: the pinned one, else the latest. */
  isActive: boolean
  isPinned: boolean
  /** A schedule or a chain names it. */
  isNamed: boolean
}

const DAY_MS = 86_400_000

/** Versions of one project that are over the policy. Queued and live jobs are checked when one is deleted. */
export function oldEggs(eggs: readonly KeptEgg[], { days, newest }: EggPolicy, nowMs: number): KeptEgg[] {
  if (days === null) return []
  const byAge = eggs.toSorted((one, other) => other.createdAtMs - one.createdAtMs)
  return byAge
    .slice(newest)
    .filter((egg) => egg.createdAtMs < nowMs - days * DAY_MS && !egg.isActive && !egg.isPinned && !egg.isNamed)
}

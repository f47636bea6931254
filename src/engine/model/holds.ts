import type { Hold, ProjectName } from '../../shared/contract/index.ts'
import type { DependencyVerdict } from './dependencies.ts'

export interface Holdable {
  notBeforeMs: number | null
  attemptCount: number
  overlapKey: string | null
}

/**
 * Returns the hold that keeps a queued job out of its lane: the first that applies, in this order. When a hold is
 * lifted, the next one is checked.
 *
 * dependency -> not_before (after a run: retry) -> overlap -> none: the job is in its lane
 *
 * `isOverlapLive` is called only if no other hold applies. A job with a broken dependency is not held, because such a
 * job ends.
 */
export function holdOf(
  { notBeforeMs, attemptCount, overlapKey }: Holdable,
  dependencies: Exclude<DependencyVerdict['kind'], 'broken'>,
  nowMs: number,
  isOverlapLive: (key: string) => boolean
): Hold | null {
  if (dependencies === 'open') return 'dependency'
  if (notBeforeMs !== null && notBeforeMs > nowMs) return attemptCount > 0 ? 'retry' : 'not_before'
  return overlapKey !== null && isOverlapLive(overlapKey) ? 'overlap' : null
}

/**
 * Returns which of the jobs held for one overlap key to release when the key is free: the first of each lane. Releasing
 * a single job is not enough, because it may have no node to run on. When one of them is sent, the others are held
 * again.
 */
export function nextOfEachLane<Held extends { lane: string }>(held: readonly Held[]): Held[] {
  const lanes = new Set<string>()
  return held.filter(({ lane }) => !lanes.has(lane) && lanes.add(lane))
}

/**
 * Jobs with the same key (project, spider and arguments) never run at the same time if overlap is forbidden. The key
 * excludes settings, and also the values of secret arguments, because each encryption produces a different ciphertext.
 */
export function overlapKey({
  project,
  spider,
  args,
  secretNames
}: {
  project: ProjectName
  spider: string
  args: Record<string, string>
  secretNames: readonly string[]
}): string {
  const sorted = Object.entries(args)
    .map(([name, value]) => (secretNames.includes(name) ? [name] : [name, value]))
    .sort(([one], [other]) => (one! < other! ? -1 : 1))
  return JSON.stringify([project, spider, sorted])
}

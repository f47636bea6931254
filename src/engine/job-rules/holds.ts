import type { Hold, ProjectName } from '../../shared/contract/index.ts'
import type { DependencyVerdict } from './dependencies.ts'

/** What tells whether, and by what, a queued job is held. */
export interface Holdable {
  notBeforeMs: number | null
  attemptCount: number
  overlapKey: string | null
}

/**
 * What keeps a queued job out of its lane: the first reason that applies, in this order. Lifting one finds the next.
 *
 *   dependency -> not_before (after a run: retry) -> overlap -> none: the job is in its lane
 *
 * `isOverlapLive` is asked only where nothing else holds the job. A job whose dependency is broken is not held: it
 * ends.
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
 * Which of the jobs that are held for one key, in queue order, are released when it is free: the first of each lane,
 * since there may be no node for the first of all. Whichever is sent first makes the others wait again.
 */
export function nextOfEachLane<Held extends { lane: string }>(held: readonly Held[]): Held[] {
  const lanes = new Set<string>()
  return held.filter(({ lane }) => !lanes.has(lane) && lanes.add(lane))
}

/**
 * Jobs with the same key never run at once where that was asked for: the same project, spider and arguments. Settings
 * do not count, nor do the values of secret arguments, which are sealed differently each time.
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

import type { AttemptNumber, Transition } from './contract/index.ts'

/**
 * Returns how much of an attempt's log was kept when its node deleted the rest; null: nothing is known to be missing.
 */
export function keptBytesOfCutLog(
  timeline: readonly Pick<Transition, 'attemptNumber' | 'evidence'>[],
  attemptNumber: AttemptNumber | undefined
): number | null {
  // The newest entry applies, because a lost run that was found again may still get its whole log.
  const newest = timeline.findLast(
    (each) => each.attemptNumber === attemptNumber && ('logBytes' in each.evidence || 'logKeptBytes' in each.evidence)
  )
  const keptBytes = newest?.evidence['logKeptBytes']
  return typeof keptBytes === 'number' ? keptBytes : null
}

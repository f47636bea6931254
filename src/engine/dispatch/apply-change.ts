import type { AttemptChange } from '../store/records.ts'
import type { Store } from '../store/store.ts'
import type { LiveAttempt } from './live-attempts.ts'

/** Records one change of an attempt. False: it had moved on meanwhile, and nothing was written (I4). */
export async function applyChange(
  store: Pick<Store, 'applyChanges'>,
  one: LiveAttempt,
  change: Omit<AttemptChange, 'jobId' | 'attemptNumber'>
): Promise<boolean> {
  const [isApplied] = await store.applyChanges([{ jobId: one.jobId, attemptNumber: one.number, ...change }])
  return isApplied === true
}

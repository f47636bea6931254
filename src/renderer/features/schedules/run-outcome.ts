import type { Firing } from '../../../shared/contract/index.ts'

/** What a scheduled run led to: the outcome of its jobs, or why there are none; `ahead`: upcoming. */
export type RunLook = 'ahead' | NonNullable<Firing['outcome']> | 'skipped' | 'missed' | 'refused'

export function lookOf({ state, outcome }: Firing): RunLook {
  if (state === 'failed') return 'refused'
  return state === 'fired' ? (outcome ?? 'live') : state
}

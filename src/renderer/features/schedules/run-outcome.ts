import type { Firing } from '../../../shared/contract/index.ts'

/** The fate of a moment of a schedule: the outcome of its jobs, or why there are none; `ahead`: it is to come. */
export type RunLook = 'ahead' | NonNullable<Firing['outcome']> | 'skipped' | 'missed' | 'refused'

export function lookOf({ state, outcome }: Firing): RunLook {
  if (state === 'failed') return 'refused'
  return state === 'fired' ? (outcome ?? 'live') : state
}

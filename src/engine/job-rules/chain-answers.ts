import type { ChainSettings, Outcome } from '../../shared/contract/index.ts'

/** The condition of a chain, besides `ended`, that a job with this outcome meets: for chains a lost run has failed. */
export function chainConditionMetBy(outcome: Outcome): Exclude<ChainSettings['on'], 'ended'> | 'cancelled' {
  return outcome === 'lost' ? 'failed' : outcome
}

import type { ChainSettings, Outcome } from '../../shared/contract/index.ts'

/** The chain condition that this outcome meets, besides `ended`. Chains treat a lost run as failed. */
export function chainConditionMetBy(outcome: Outcome): Exclude<ChainSettings['on'], 'ended'> | 'cancelled' | 'unclear' {
  return outcome === 'lost' ? 'failed' : outcome
}

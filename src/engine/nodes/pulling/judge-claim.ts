import type { AttemptState } from '../../../shared/contract/index.ts'

/** What decides about the claim of one run. */
export interface ClaimFacts {
  /** It is offered and was not withdrawn. */
  isOffered: boolean
  /** It was granted before, and its answer may have been lost. */
  wasGranted: boolean
  /** It was withdrawn: its job may already be somewhere else. */
  wasWithdrawn: boolean
  /** What the engine believes of the attempt; null: it is not live. */
  belief: AttemptState | null
}

/** `granted`: run it. `gone`: forget it. `wait`: ask again. */
export type ClaimVerdict = 'granted' | 'gone' | 'wait'

/**
 * A claim is granted once and for all: asked again, the answer is the same, whichever engine is asked. Pure.
 *
 * An attempt that is `sending` or `uncertain` without an offer is one that an earlier engine sent. It is not granted at
 * once, because the engine may just conclude that it never arrived. The node lists it meanwhile (isHeldByNode), which
 * makes it accepted; or it has ended, and is gone.
 */
export function judgeClaim({ isOffered, wasGranted, wasWithdrawn, belief }: ClaimFacts): ClaimVerdict {
  if (wasWithdrawn) return 'gone'
  if (isOffered || wasGranted) return 'granted'
  if (belief === null || belief === 'ended') return 'gone'
  return belief === 'sending' || belief === 'uncertain' ? 'wait' : 'granted'
}

/**
 * Whether a run that the node claims counts as being there: unless it was taken back, it is on the node's disk, and its
 * claim will be granted. One that is only offered is not there yet.
 */
export function isHeldByNode({ isOffered, wasGranted, wasWithdrawn, belief }: ClaimFacts): boolean {
  if (wasWithdrawn || isOffered) return false
  return wasGranted || (belief !== null && belief !== 'ended')
}

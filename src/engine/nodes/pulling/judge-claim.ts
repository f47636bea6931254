import type { AttemptState } from '../../../shared/contract/index.ts'

export interface ClaimFacts {
  /** Offered, and not withdrawn. */
  isOffered: boolean
  /** Granted before: the response may have been lost. */
  wasGranted: boolean
  /** Withdrawn: the job may already be elsewhere. */
  wasWithdrawn: boolean
  /** The state of the attempt as the engine believes it. null: not live. */
  belief: AttemptState | null
}

/** `granted`: run it. `gone`: forget it. `wait`: ask again. */
export type ClaimVerdict = 'granted' | 'gone' | 'wait'

/**
 * Decides on a claim. The decision is final: every engine gives the same answer again. Pure.
 *
 * If an attempt is `sending` or `uncertain` without an offer, an earlier engine sent it. It is not granted at once,
 * because this engine may just be concluding that it never arrived. Meanwhile the node lists it (isHeldByNode), which
 * makes it accepted; or it ends, and is gone.
 */
export function judgeClaim({ isOffered, wasGranted, wasWithdrawn, belief }: ClaimFacts): ClaimVerdict {
  if (wasWithdrawn) return 'gone'
  if (isOffered || wasGranted) return 'granted'
  if (belief === null || belief === 'ended') return 'gone'
  return belief === 'sending' || belief === 'uncertain' ? 'wait' : 'granted'
}

/**
 * Whether a claimed run counts as present on the node: it is on the node's disk, and its claim will be granted. A run
 * that is only offered is not there yet.
 */
export function isHeldByNode({ isOffered, wasGranted, wasWithdrawn, belief }: ClaimFacts): boolean {
  if (wasWithdrawn || isOffered) return false
  return wasGranted || (belief !== null && belief !== 'ended')
}

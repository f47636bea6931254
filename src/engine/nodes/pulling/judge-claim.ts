import type { AttemptState } from '../../../shared/contract/index.ts'

export interface ClaimFacts {
  isOffered: boolean
  /** Whether the claim was granted before. The response may have been lost. */
  wasGranted: boolean
  /** Whether the offer was withdrawn. The job may already be on another node. */
  wasWithdrawn: boolean
  /** The attempt's state as the engine assumes it. null: not live. */
  belief: AttemptState | null
}

/** `granted`: the node starts the run. `gone`: the node forgets the run. `wait`: the node claims again later. */
export type ClaimVerdict = 'granted' | 'gone' | 'wait'

/**
 * Decides on a claim. Pure. A node repeats a claim whose response was lost, perhaps to a later engine, which knows only
 * the attempt and decides the same or lets the node wait. A run whose attempt has ended is gone even if it was granted
 * before, because it has not started yet (a node that got the grant ignores the repetition), and its job may be
 * elsewhere. Only a withdrawal is not stored: if the engine dies before the attempt ends, a later engine may grant the
 * run.
 *
 * An attempt that is `sending` or `uncertain` but has no offer was sent by an earlier engine. Its claim must wait,
 * because this engine may be concluding that the attempt never arrived. Either the node lists the run first
 * (isHeldByNode) and the attempt becomes accepted, or the attempt ends and the run is gone.
 */
export function judgeClaim({ isOffered, wasGranted, wasWithdrawn, belief }: ClaimFacts): ClaimVerdict {
  if (wasWithdrawn || belief === null || belief === 'ended') return 'gone'
  if (isOffered || wasGranted) return 'granted'
  return belief === 'sending' || belief === 'uncertain' ? 'wait' : 'granted'
}

/**
 * Whether a claimed run counts as already accepted by the node: its attempt is live. A run with an open offer does not
 * count, because only its claim accepts it.
 */
export function isHeldByNode({ isOffered, wasWithdrawn, belief }: ClaimFacts): boolean {
  return !wasWithdrawn && !isOffered && belief !== null && belief !== 'ended'
}

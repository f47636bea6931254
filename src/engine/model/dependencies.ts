import type { Dependency, JobId, Outcome } from '../../shared/contract/index.ts'

export interface DependencyOutcome extends Dependency {
  outcome: Outcome | null
}

export type DependencyVerdict =
  | { kind: 'met' }
  | { kind: 'open' }
  /** The condition on `by` can no longer be met, so the waiting job is skipped. */
  | { kind: 'broken'; by: { jobId: JobId; outcome: Outcome } }

/** Combines the outcomes of all dependencies. The first broken one decides. */
export function judgeDependencies(all: readonly DependencyOutcome[]): DependencyVerdict {
  let isOpen = false
  for (const { jobId, on, outcome } of all) {
    if (outcome === null) isOpen = true
    else if (on !== 'ended' && on !== outcome) return { kind: 'broken', by: { jobId, outcome } }
  }
  return { kind: isOpen ? 'open' : 'met' }
}

import type { Dependency, JobId, Outcome } from '../../shared/contract/index.ts'

/** A job that another waits for; `outcome` null: it has not ended. */
export interface DependencyOutcome extends Dependency {
  outcome: Outcome | null
}

export type DependencyVerdict =
  | { kind: 'met' }
  | { kind: 'open' }
  /** `by` can no longer come true: the job that waits is skipped. */
  | { kind: 'broken'; by: { jobId: JobId; outcome: Outcome } }

/** What the jobs that one waits for have come to, all together. The first that is broken decides. */
export function judgeDependencies(all: readonly DependencyOutcome[]): DependencyVerdict {
  let isOpen = false
  for (const { jobId, on, outcome } of all) {
    if (outcome === null) isOpen = true
    else if (on !== 'ended' && on !== outcome) return { kind: 'broken', by: { jobId, outcome } }
  }
  return { kind: isOpen ? 'open' : 'met' }
}

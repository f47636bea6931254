import type { AttemptState, ProjectName } from '../../../shared/contract/index.ts'
import type { SeenJob, Snapshot } from '../../nodes/node-client.ts'

/** What we believe of one live attempt on the node that the snapshot is of. */
export interface BelievedAttempt {
  key: string
  project: ProjectName
  jobid: string
  state: Exclude<AttemptState, 'ended'>
  /**
   * Clock.monotonicMs when the POST ended (with any result), or when this engine took the attempt over from an earlier
   * one. Only a snapshot begun after it can show that the job is not there. null: the POST is still on its way.
   */
  sendEndedAtMs: number | null
  /** At take-over nobody knew whether it had arrived: its POST may still be on its way through a slow network. */
  isTakenOverUnresolved: boolean
}

/** Since when, and in how many whole snapshots, an attempt was in none of the node's lists. */
export interface Absence {
  firstBegunAtMs: number
  snapshots: number
}

export type Verdict =
  | { key: string; kind: 'accepted' | 'running' | 'finished'; seen: SeenJob }
  /** In no list of two or more snapshots so far apart that nothing was between them: now its log decides. */
  | { key: string; kind: 'missing'; absence: Absence }

export interface Reconciliation {
  verdicts: Verdict[]
  /** New belief about absence, by the keys of the attempts that were not seen. */
  absences: Map<string, Absence>
  /** Keys of attempts that the node lists more than once: a request of ours was delivered to it twice. */
  twice: string[]
  /** Pending and running jobs that are none of ours: they use up slots. */
  external: { pending: SeenJob[]; running: SeenJob[] }
}

export interface ReconcileOptions {
  /** By the snapshots before, by key. */
  absentSoFar: ReadonlyMap<string, Absence>
  nodePollIntervalMs: number
  /** How far apart the snapshots must be for what was taken over unresolved, where that is longer. */
  takenOverApartMs: number
}

/**
 * Compares belief with a snapshot (ARCHITECTURE.md, chapter 3, step 6). Pure.
 *
 *      belief \ snapshot   pending     running    finished    in no list
 *      sending (POST out)  accepted    running    finished    -
 *      sending (POST over) accepted    running    finished    absence counted, then missing
 *      uncertain           accepted    running    finished    absence counted, then missing
 *      accepted            -           running    finished    absence counted, then missing
 *      running             -           -          finished    absence counted, then missing
 *      finishing           -           -          -           -
 *
 * Being seen always counts. Not being seen counts only in snapshots begun after the POST ended, and only when two of
 * them are more than a poll interval of the node apart: between its queue and its process table a job is in no list.
 * Where the engine that sent the POST is dead, nobody waited for its end: those two must be further apart.
 */
export function reconcile(
  believed: readonly BelievedAttempt[],
  snapshot: Snapshot,
  options: ReconcileOptions
): Reconciliation {
  const seen = new Map<string, { list: 'pending' | 'running' | 'finished'; job: SeenJob }>()
  // A node lists its last hundreds of jobs at each look; few of them are live ones of ours.
  const jobids = new Set(believed.map(({ jobid }) => jobid))
  const twice = new Set<string>()
  // Later lists win: the node answers the three lists of one moment, and an id that is there twice was taken twice.
  for (const list of ['pending', 'finished', 'running'] as const) {
    for (const job of snapshot[list]) {
      if (!jobids.has(job.jobid)) continue
      if (seen.has(identity(job))) twice.add(identity(job))
      seen.set(identity(job), { list, job })
    }
  }

  const verdicts: Verdict[] = []
  const absences = new Map<string, Absence>()
  const ours = new Set<string>()
  for (const attempt of believed) {
    ours.add(identity(attempt))
    const found = seen.get(identity(attempt))
    if (found !== undefined) {
      const kind = found.list === 'pending' ? 'accepted' : found.list
      if (isNews(attempt.state, kind)) verdicts.push({ key: attempt.key, kind, seen: found.job })
      continue
    }
    const absence = countAbsence(attempt, options.absentSoFar.get(attempt.key) ?? null, snapshot)
    if (absence === null) continue
    absences.set(attempt.key, absence)
    if (isProved(absence, snapshot, nodePollIntervalOf(attempt, options))) {
      verdicts.push({ key: attempt.key, kind: 'missing', absence })
    }
  }
  return {
    verdicts,
    absences,
    twice: twice.size === 0 ? [] : believed.filter((one) => twice.has(identity(one))).map(({ key }) => key),
    external: {
      pending: snapshot.pending.filter((job) => !ours.has(identity(job))),
      running: snapshot.running.filter((job) => !ours.has(identity(job)))
    }
  }
}

const RANK = { sending: 0, uncertain: 0, accepted: 1, running: 2, finishing: 3 } as const

function isNews(state: BelievedAttempt['state'], kind: 'accepted' | 'running' | 'finished'): boolean {
  return RANK[state] < (kind === 'accepted' ? 1 : kind === 'running' ? 2 : 3)
}

function countAbsence(attempt: BelievedAttempt, before: Absence | null, snapshot: Snapshot): Absence | null {
  if (attempt.state === 'finishing' || attempt.sendEndedAtMs === null) return null
  if (snapshot.begunAtMs <= attempt.sendEndedAtMs) return before
  if (before === null) return { firstBegunAtMs: snapshot.begunAtMs, snapshots: 1 }
  return { ...before, snapshots: before.snapshots + 1 }
}

/** As long as the node may take to look into its queue, a request that may still be under way to it included. */
function nodePollIntervalOf(
  attempt: BelievedAttempt,
  { nodePollIntervalMs, takenOverApartMs }: ReconcileOptions
): number {
  const isUnresolved = attempt.state === 'sending' || attempt.state === 'uncertain'
  return isUnresolved && attempt.isTakenOverUnresolved
    ? Math.max(nodePollIntervalMs, takenOverApartMs)
    : nodePollIntervalMs
}

function isProved(absence: Absence, snapshot: Snapshot, nodePollIntervalMs: number): boolean {
  return absence.snapshots >= 2 && snapshot.begunAtMs - absence.firstBegunAtMs > nodePollIntervalMs
}

/** A jobid is known to a node within its project; 1.2 leaves the project out only where the client put it back in. */
function identity(job: { project: ProjectName; jobid: string }): string {
  return `${job.project}\n${job.jobid}`
}

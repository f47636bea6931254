import type { AttemptState, ProjectName } from '../../../../shared/contract/index.ts'
import type { SeenJob, Snapshot } from '../../../nodes/node-client.ts'

export interface BelievedAttempt {
  key: string
  project: ProjectName
  jobid: string
  state: Exclude<AttemptState, 'ended'>
  /**
   * Clock.monotonicMs when the POST ended or when this engine took over the attempt. Only a snapshot that starts later
   * can prove that the node does not have the job. Null: the POST is in flight.
   */
  sendEndedAtMs: number | null
  /**
   * Whether this engine took over the attempt without knowing if the POST had arrived. A slow network may still
   * deliver it.
   */
  isTakenOverUnresolved: boolean
}

/** How long, and in how many complete snapshots, an attempt has been in none of the node's lists. */
export interface Absence {
  firstBegunAtMs: number
  snapshots: number
}

export type Verdict =
  | { key: string; kind: 'accepted' | 'running' | 'finished'; seen: SeenJob }
  /** Absent from two or more snapshots, far enough apart to rule out a gap between lists. Now the log decides. */
  | { key: string; kind: 'missing'; absence: Absence }

export interface Reconciliation {
  verdicts: Verdict[]
  absences: Map<string, Absence>
  /** Keys of attempts that the node lists more than once, because it received our request twice. */
  twice: string[]
  /** Pending and running jobs that are not ours. They use slots. */
  external: { pending: SeenJob[]; running: SeenJob[] }
}

export interface ReconcileOptions {
  absentSoFar: ReadonlyMap<string, Absence>
  nodePollIntervalMs: number
  /** Replaces the poll interval, if longer, for attempts that are taken over unresolved. */
  takenOverApartMs: number
}

/**
 * Compares belief with a snapshot (ARCHITECTURE.md, chapter 3, step 6).
 *
 *      belief \ snapshot   pending     running    finished    in no list
 *      sending (POST out)  accepted    running    finished    -
 *      sending (POST over) accepted    running    finished    absence counted, then missing
 *      uncertain           accepted    running    finished    absence counted, then missing
 *      accepted            -           running    finished    absence counted, then missing
 *      running             -           -          finished    absence counted, then missing
 *      finishing           -           -          -           -
 *
 * Presence always counts. Absence counts only in snapshots that started after the POST ended, and only if two of them
 * are more than the node's poll interval apart: on its way from the queue to the process table, a job is in no list. If
 * the engine that sent the POST died, the end of the POST is unknown, so the two snapshots must be further apart.
 */
export function reconcile(
  believed: readonly BelievedAttempt[],
  snapshot: Snapshot,
  options: ReconcileOptions
): Reconciliation {
  const seen = new Map<string, { list: 'pending' | 'running' | 'finished'; job: SeenJob }>()
  // Considers only our live attempts, because every snapshot lists the node's last few hundred jobs.
  const jobids = new Set(believed.map(({ jobid }) => jobid))
  const twice = new Set<string>()
  // Later lists win. All lists come from the same response, so a job that is listed twice was accepted twice.
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

/**
 * The minimum time between two snapshots that prove an absence. Covers the node's poll of its queue and, for an attempt
 * taken over unresolved, a POST that is still in flight.
 */
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

/** Scrapyd identifies a job by project and jobid. Scrapyd 1.2 does not report the project, so the client adds it. */
function identity(job: { project: ProjectName; jobid: string }): string {
  return `${job.project}\n${job.jobid}`
}

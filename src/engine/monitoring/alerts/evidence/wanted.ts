import type { Alert, AlertNews, AlertView, JobId, ProjectName } from '../../../../shared/contract/index.ts'
import type { AlertWatch } from '../../../../shared/alert-watches.ts'

export interface WantedLog {
  subject: string
  jobId: JobId
}

export type WantedHistory =
  | {
      kind: 'outcomes' | 'items' | 'errors' | 'unusual' | 'run_time'
      project: ProjectName
      spider: string
      jobId: JobId
      /** Whether to highlight this run. If false, the newest run is highlighted. */
      standsOut: boolean
    }
  | { kind: 'day'; watch: RecordedFigure }

export interface Wanted {
  log: WantedLog | null
  history: WantedHistory | null
}

export type RecordedFigure = 'queue_length' | 'disk_free'

export const DAY_MS = 86_400_000

/**
 * The charts of watches that concern a run. Other watches have no log: a waiting job has none yet, and the log of the
 * last success does not help.
 */
const RUNS: Partial<Record<AlertWatch, Exclude<WantedHistory['kind'], 'day'>>> = {
  spider_fails: 'outcomes',
  spider_items: 'items',
  spider_errors: 'errors',
  spider_unusual: 'unusual',
  job_runs_long: 'run_time'
}

type Watched = Pick<AlertView, 'watch' | 'subject' | 'labels'>

export function wantedForNews({ firing, resolved }: Pick<AlertNews, 'firing' | 'resolved'>): Wanted {
  const run = firing.find((alert) => logOf(alert) !== null)
  const first = firing[0] ?? resolved[0]
  return {
    log: run === undefined ? null : logOf(run),
    history: first === undefined ? null : historyOf(first, firing.length > 0)
  }
}

/** Omits the chart of the last day if the alert ended earlier. */
export function wantedForAlert(alert: Watched & Pick<Alert, 'resolvedAtMs'>, nowMs: number): Wanted {
  const history = historyOf(alert, true)
  const isOfToday = alert.resolvedAtMs === null || alert.resolvedAtMs > nowMs - DAY_MS
  return { log: logOf(alert), history: history?.kind === 'day' && !isOfToday ? null : history }
}

function logOf({ watch, subject, labels: { jobId } }: Watched): WantedLog | null {
  return watch in RUNS && jobId !== null ? { subject, jobId } : null
}

function historyOf({ watch, labels: { project, spider, jobId } }: Watched, standsOut: boolean): WantedHistory | null {
  if (watch === 'queue_length' || watch === 'disk_free') return { kind: 'day', watch }
  const kind = RUNS[watch]
  if (kind === undefined || project === null || spider === null || jobId === null) return null
  return { kind, project, spider, jobId, standsOut }
}

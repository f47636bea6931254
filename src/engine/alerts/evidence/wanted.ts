import type { AlertNews, AlertView, JobId, ProjectName } from '../../../shared/contract/index.ts'
import type { AlertWatch } from '../../../shared/alert-watches.ts'

export interface WantedLog {
  subject: string
  jobId: JobId
}

/** Which figure is drawn, and of what. */
export type WantedHistory =
  | {
      kind: 'outcomes' | 'items' | 'errors' | 'unusual' | 'run_time'
      project: ProjectName
      spider: string
      jobId: JobId
    }
  | { kind: 'day'; watch: RecordedFigure }

export type RecordedFigure = 'queue_length' | 'disk_free'

/** Those whose job is the run that they are about: a job that waits has no log, and the last success says nothing. */
const RUNS: Partial<Record<AlertWatch, Exclude<WantedHistory['kind'], 'day'>>> = {
  spider_fails: 'outcomes',
  spider_items: 'items',
  spider_errors: 'errors',
  spider_unusual: 'unusual',
  job_runs_long: 'run_time'
}

/** What is worth reading for a message: the log of the first run that fires, and one figure. Pure. */
export function wantedEvidence({ firing, resolved }: AlertNews): {
  log: WantedLog | null
  history: WantedHistory | null
} {
  const run = firing.find(({ watch, labels }) => watch in RUNS && labels.jobId !== null)
  const log = run === undefined ? null : { subject: run.subject, jobId: run.labels.jobId! }
  const first = firing[0] ?? resolved[0]
  return { log, history: first === undefined ? null : historyOf(first) }
}

function historyOf({ watch, labels: { project, spider, jobId } }: AlertView): WantedHistory | null {
  if (watch === 'queue_length' || watch === 'disk_free') return { kind: 'day', watch }
  const kind = RUNS[watch]
  if (kind === undefined || project === null || spider === null || jobId === null) return null
  return { kind, project, spider, jobId }
}

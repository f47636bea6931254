import type { AlertNews, JobId } from '../../../shared/contract/index.ts'

/** What only an e-mail has room for, as of when it is sent. null: there is none. Text of others is as they wrote it. */
export interface Evidence {
  log: LogExcerpt | null
  history: FigureHistory | null
}

/** The end of the log of one run. */
export interface LogExcerpt {
  /** `shop/prices` */
  subject: string
  jobId: JobId
  lines: readonly string[]
}

/** The watched figure until now. */
export interface FigureHistory {
  /** `Items of the last 20 runs of shop/prices` */
  title: string
  /** Oldest first. */
  bars: readonly Bar[]
  /** What stands at both ends: times. */
  from: string
  to: string
  /** Says the same in words, with units: not everybody sees the bars. */
  caption: string
}

export interface Bar {
  value: number
  /** `now`: what the message is about. */
  tone: 'past' | 'now' | 'failed' | 'succeeded'
}

/** Never rejects, and enforces its own timeout: a message is sent without what cannot be read. */
export type ReadEvidence = (news: AlertNews) => Promise<Evidence>

export const NO_EVIDENCE: Evidence = { log: null, history: null }

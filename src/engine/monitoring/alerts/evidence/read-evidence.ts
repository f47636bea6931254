import type { AlertEvidence, AlertFigureHistory, AlertLogExcerpt, JobId } from '../../../../shared/contract/index.ts'
import { HISTORY_RUNS } from '../../expectations/expectations.ts'
import type { LogBytes } from '../../../runtime/byte-window.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { AlertFactStore, FindingStore, JobReader } from '../../../storage/store.ts'
import { NO_EVIDENCE } from '../../../notify/deliveries/channels/evidence.ts'
import { newestRuns } from '../signals/stored-signals.ts'
import { readRecorded } from '../past/read-past.ts'
import {
  historyOfDay,
  historyOfMetric,
  historyOfOutcomes,
  historyOfRuns,
  historyOfRunTime,
  RUNS_SHOWN
} from './histories.ts'
import { lastLines } from './last-lines.ts'
import { DAY_MS, type RecordedFigure, type Wanted, type WantedHistory, type WantedLog } from './wanted.ts'

export interface EvidenceParts {
  store: JobReader & FindingStore & AlertFactStore
  clock: Clock
  readLog: (jobId: JobId, wanted: { offset: number; limitBytes: number }, signal: AbortSignal) => Promise<LogText>
  figureOf: (watch: RecordedFigure) => number | null
}

type LogText = Pick<LogBytes, 'offset'> & { text: string }

/** The time limit for reading evidence. A late message is worse than one without evidence. */
const TIME_LIMIT_MS = 2_000
/** How much of the end of a log to read. The closing statistics alone take several kilobytes. */
const LOG_BYTES = 32_768

/** Resolves to what can be read in time. Never rejects. */
export async function readEvidence(parts: EvidenceParts, { log, history }: Wanted): Promise<AlertEvidence> {
  if (log === null && history === null) return NO_EVIDENCE
  const limit = new AbortController()
  const late = Promise.withResolvers<null>()
  const timer = parts.clock.setTimer(TIME_LIMIT_MS, () => {
    limit.abort()
    late.resolve(null)
  })
  // The chart is still useful if the log cannot be read, for example because the node is down.
  const inTime = <Value>(reading: Promise<Value>) => Promise.race([reading.catch(() => null), late.promise])
  try {
    const [excerpt, figure] = await Promise.all([
      log === null ? null : inTime(readExcerpt(parts, log, limit.signal)),
      history === null ? null : inTime(readHistory(parts, history))
    ])
    return { log: excerpt, history: figure }
  } finally {
    timer.cancel()
  }
}

async function readExcerpt(
  { readLog }: EvidenceParts,
  { subject, jobId }: WantedLog,
  signal: AbortSignal
): Promise<AlertLogExcerpt | null> {
  const { text, offset } = await readLog(jobId, { offset: -LOG_BYTES, limitBytes: LOG_BYTES }, signal)
  const lines = lastLines(text, offset > 0)
  return lines.length === 0 ? null : { subject, jobId, lines }
}

async function readHistory(
  { store, clock, figureOf }: EvidenceParts,
  wanted: WantedHistory
): Promise<AlertFigureHistory | null> {
  const nowMs = clock.nowMs()
  if (wanted.kind === 'day') {
    const now = figureOf(wanted.watch)
    if (now === null) return null
    const { rows } = await readRecorded(store, wanted.watch, nowMs - DAY_MS)
    return historyOfDay(wanted.watch, rows, { now, nowMs })
  }
  const { kind, project, spider } = wanted
  const subject = `${project}/${spider}`
  const of = { subject, jobId: wanted.standsOut ? wanted.jobId : null }
  const successes = () => store.listSuccessfulRuns(project, spider, { upTo: null, limit: HISTORY_RUNS })
  switch (kind) {
    case 'outcomes':
      return historyOfOutcomes(await newestRuns(store, wanted, RUNS_SHOWN), subject)
    case 'items':
    case 'errors':
      return historyOfRuns(kind, await newestRuns(store, wanted, RUNS_SHOWN), of)
    case 'unusual': {
      const found = (await store.listFindings()).find((one) => one.project === project && one.spider === spider)
      const [finding] = found?.jobId === wanted.jobId ? found.findings : []
      return finding === undefined ? null : historyOfMetric(finding.metric, await successes(), of)
    }
    case 'run_time': {
      const job = await store.getJob(wanted.jobId)
      return job === null ? null : historyOfRunTime(job, await successes(), { subject, nowMs })
    }
  }
}

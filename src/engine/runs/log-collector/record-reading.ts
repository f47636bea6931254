import type { RunErrorRow, RunReading } from '../../model/records.ts'
import { timesAheadMs, toStoredFigures } from '../log-parser/stored-figures.ts'
import type { LogReading } from './log-reading.ts'

/** `startedAtMs`: start of the run by our clock; null: unknown. */
interface Times {
  startedAtMs: number | null
  nowMs: number
}

/** The figures and errors of a run at its end, as the store keeps them. */
export function recordOf(reading: LogReading, times: Times): RunReading {
  const { run, parser } = reading
  const figures = parser.figures()
  const aheadMs = timesAheadMs(figures, times.startedAtMs)
  return {
    ...{ jobId: run.jobId, attemptNumber: run.number, errors: takeErrors(reading, times) },
    figures: JSON.stringify({ ...toStoredFigures(figures), ...(aheadMs !== 0 && { aheadMs }) })
  }
}

/** The errors of a running run; its figures are in memory. */
export function errorsOf(reading: LogReading, times: Times): RunReading {
  const { jobId, number } = reading.run
  return { jobId, attemptNumber: number, figures: null, errors: takeErrors(reading, times) }
}

function takeErrors({ parser, errors }: LogReading, { startedAtMs, nowMs }: Times): RunErrorRow[] {
  if (!errors.hasChanged) return []
  const figures = parser.figures()
  const aheadMs = timesAheadMs(figures, startedAtMs)
  // A log may state any time: one in the future would keep its group on top for ever.
  const seenMs = (atMs: number | null) =>
    Math.min(nowMs, Math.max(startedAtMs ?? 0, (atMs ?? figures.lastAtMs ?? nowMs + aheadMs) - aheadMs))
  return errors.takeChanged().map(({ fingerprint, firstAtMs, lastAtMs, count, line, offset, message }) => ({
    ...{ fingerprint: fingerprint.id, title: fingerprint.title, culprit: fingerprint.culprit },
    ...{ exceptionType: fingerprint.exceptionType, because: fingerprint.because, count, line, offset, message },
    ...{ firstSeenMs: seenMs(firstAtMs), lastSeenMs: seenMs(lastAtMs) }
  }))
}

import type { RunReading } from '../store/records.ts'
import { timesAheadMs, toStoredFigures } from '../understanding/stored-figures.ts'
import type { LogReading } from './log-reading.ts'

/** What a log says, as the store keeps it. `startedAtMs`: of the run, by our clock; null: nobody saw it start. */
export function recordOf({ run, parser, errors }: LogReading, startedAtMs: number | null): RunReading {
  const figures = parser.figures()
  const aheadMs = timesAheadMs(figures, startedAtMs)
  const seenMs = (atMs: number | null) => (atMs ?? figures.lastAtMs ?? aheadMs + (startedAtMs ?? 0)) - aheadMs
  return {
    jobId: run.jobId,
    attemptNumber: run.number,
    figures: JSON.stringify({ ...toStoredFigures(figures), ...(aheadMs !== 0 && { aheadMs }) }),
    errors: errors.takeChanged().map(({ fingerprint, firstAtMs, lastAtMs, count, line, offset, message }) => ({
      ...{ fingerprint: fingerprint.id, title: fingerprint.title, culprit: fingerprint.culprit },
      ...{ exceptionType: fingerprint.exceptionType, because: fingerprint.because, count, line, offset, message },
      ...{ firstSeenMs: seenMs(firstAtMs), lastSeenMs: seenMs(lastAtMs) }
    }))
  }
}

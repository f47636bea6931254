import type { JobId, AttemptNumber } from '../../shared/contract/index.ts'
import type { LogsClient } from './follow-log.ts'
import type { LogPiece } from './log-buffer.ts'

export interface LogRange {
  readonly jobId: JobId
  readonly attemptNumber?: AttemptNumber | undefined
  readonly start: number
  readonly end: number
}

/** The bytes of a log between two offsets, in as many reads as the engine needs; it may begin slightly later. */
export async function readLogRange(
  logs: LogsClient,
  { jobId, attemptNumber, start, end }: LogRange,
  signal: AbortSignal
): Promise<LogPiece> {
  let text = ''
  let offset = start
  let first = start
  while (offset < end) {
    const chunk = await logs.read({ jobId, attemptNumber, offset, limitBytes: end - offset }, { signal })
    if (offset === start) first = chunk.offset
    if (chunk.nextOffset <= offset) break
    text += chunk.text
    offset = chunk.nextOffset
  }
  return { offset: first, nextOffset: offset, text }
}

import type { AttemptNumber, JobId } from '../../shared/contract/index.ts'
import type { LogsClient } from './follow-log.ts'
import type { LogPiece } from './log-window.ts'

export interface LogRange {
  readonly jobId: JobId
  readonly attemptNumber?: AttemptNumber | undefined
  readonly start: number
  readonly end: number
}

/** What was read, and the size of the whole log then. */
export type ReadPiece = LogPiece & { readonly sizeBytes: number }

/**
 * The lines of a log that begin between two offsets, in as many reads as the engine needs: from the first that begins
 * at `start` or later, to the last byte before `end`, wherever that is in its line.
 */
export async function readLogRange(
  logs: LogsClient,
  { jobId, attemptNumber, start, end }: LogRange,
  signal: AbortSignal
): Promise<ReadPiece> {
  // The byte before tells whether a line begins at `start`.
  let offset = Math.max(0, start - 1)
  let text = ''
  let first = offset
  let sizeBytes = end
  let format: LogPiece['format']
  while (offset < end) {
    const chunk = await logs.read({ jobId, attemptNumber, offset, limitBytes: end - offset }, { signal })
    sizeBytes = chunk.sizeBytes
    format = chunk.format
    if (text === '') first = chunk.offset
    if (chunk.nextOffset <= offset) break
    text += chunk.text
    offset = chunk.nextOffset
  }
  if (start === 0) return { offset: first, nextOffset: offset, text, sizeBytes, format }
  const lineAt = text.indexOf('\n') + 1
  const skipped = new TextEncoder().encode(text.slice(0, lineAt)).length
  return { offset: first + skipped, nextOffset: offset, text: text.slice(lineAt), sizeBytes, format }
}

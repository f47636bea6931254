import type { AttemptNumber, JobId, LogChunk } from '../../shared/contract/index.ts'
import { sleep } from '../api/sleep.ts'
import type { Client } from '../api/wire.ts'

export type LogsClient = Client['logs']

/**
 * While the stream is `interrupted`, it is being retried. `complete`: the log has ended. `unavailable`: there is no
 * log.
 */
export type FollowState =
  | { readonly kind: 'live' | 'complete' }
  | { readonly kind: 'interrupted' | 'unavailable'; readonly error: unknown }

export interface FollowLogOptions {
  readonly logs: Pick<LogsClient, 'tail'>
  readonly jobId: JobId
  readonly attemptNumber?: AttemptNumber | undefined
  /** The number of bytes at the end of the log to start with. */
  readonly tailBytes: number
  /** Start offset, instead of `tailBytes`. */
  readonly fromOffset?: number | undefined
  readonly maxLagBytes?: number
  /** Consumes a chunk. The engine sends at most LIMIT_BYTES beyond the chunks whose promises have resolved. */
  readonly onChunk: (chunk: LogChunk) => void | Promise<void>
  readonly onState: (state: FollowState) => void
  readonly signal: AbortSignal
  /** Delay before a retry. Default: 0.5 s, doubling up to 10 s. */
  readonly waitMs?: (failures: number) => number
}

/** The number of bytes that the engine sends before it needs an acknowledgment, which is the next request. */
export const LIMIT_BYTES = 1_048_576

/**
 * Follows a log until its run ends or `signal` aborts. After a dropped connection, it continues at the same byte, as
 * often as needed, because the window can outlive the engine. Never rejects.
 */
export async function followLog(options: FollowLogOptions): Promise<void> {
  const { logs, jobId, attemptNumber, tailBytes, maxLagBytes, onChunk, onState, signal } = options
  const waitMs = options.waitMs ?? ((failures: number) => Math.min(10_000, 500 * 2 ** (failures - 1)))
  let nextOffset = options.fromOffset
  let failures = 0
  while (!signal.aborted) {
    try {
      const from = nextOffset === undefined ? { tailBytes } : { offset: nextOffset, tailBytes }
      const stream = await logs.tail(
        { jobId, attemptNumber, limitBytes: LIMIT_BYTES, ...(maxLagBytes !== undefined && { maxLagBytes }), ...from },
        { signal }
      )
      if (failures > 0 || nextOffset === options.fromOffset) onState({ kind: 'live' })
      let receivedBytes = 0
      for await (const chunk of stream) {
        if (signal.aborted) return
        failures = 0
        nextOffset = chunk.nextOffset
        receivedBytes += chunk.nextOffset - chunk.offset
        await onChunk(chunk)
        if (chunk.complete) {
          onState({ kind: 'complete' })
          return
        }
      }
      if (receivedBytes >= LIMIT_BYTES) continue
      // The stream ended, but the log is not marked as complete, for example because the engine shut down. Retry.
      failures += 1
    } catch (error) {
      if (signal.aborted) return
      if (isFinal(error)) {
        onState({ kind: 'unavailable', error })
        return
      }
      failures += 1
      onState({ kind: 'interrupted', error })
    }
    await sleep(waitMs(Math.max(1, failures)), signal)
  }
}

function isFinal(error: unknown): boolean {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : null
  return code === 'LOG_NOT_FOUND' || code === 'JOB_NOT_FOUND' || code === 'BAD_INPUT'
}

import type { Job, JobProgress, Waiting } from '../../shared/contract/index.ts'
import { formatAge, formatWait } from '../../shared/time.ts'
import { localTime } from './output.ts'

type Explained = Pick<Job, 'state' | 'waiting' | 'reason' | 'killingLine' | 'cancelAskedAtMs' | 'unknownSinceMs'> &
  Partial<Pick<Job, 'mayHaveRunTwice' | 'expiresAtMs' | 'attemptCount' | 'retry'>>

/** Why a job waits, may not be running, or ended as it did, in the UI's words. null if there is nothing to say. */
export function whyOf(job: Explained | JobProgress, nowMs: number): string | null {
  const { expiresAtMs = null, mayHaveRunTwice = false } = job as Explained
  const ended = [job.reason, job.killingLine].filter((text) => text !== null).join(': ')
  const parts = [
    job.state === 'queued' ? explainWaiting(job as Explained, nowMs) : '',
    job.state === 'queued' && expiresAtMs !== null ? `expires in ${formatWait(expiresAtMs - nowMs)}` : '',
    job.state !== 'ended' && job.cancelAskedAtMs !== null
      ? `cancelling for ${formatAge(nowMs - job.cancelAskedAtMs)}`
      : '',
    job.unknownSinceMs === null
      ? ''
      : `its node has been unreachable for ${formatAge(nowMs - job.unknownSinceMs)}, so its state is unknown`,
    ended,
    mayHaveRunTwice ? 'may have run more than once' : ''
  ].filter((part) => part !== '')
  return parts.length === 0 ? null : parts.join('; ')
}

function explainWaiting({ waiting, retry, attemptCount = 0 }: Explained, nowMs: number): string {
  if (waiting === null) return 'next in queue'
  const attempt =
    waiting.code === 'retry_wait' && retry != null ? `, attempt ${attemptCount + 1} of ${retry.attempts}` : ''
  return `${waiting.text}${untilWhen(waiting, nowMs)}${attempt}`
}

function untilWhen({ code, text, untilMs }: Waiting, nowMs: number): string {
  if (untilMs === undefined) return ''
  if (untilMs <= nowMs) return ' (due now)'
  if (code !== 'not_before') return ` (in ${formatWait(untilMs - nowMs)})`
  // If the machine's zone is UTC, the text already contains the time.
  return text.includes(localTime(untilMs)) ? '' : ` (${localTime(untilMs)})`
}

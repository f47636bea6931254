import type { Waiting } from '../../shared/contract/index.ts'
import { formatAge } from '../../shared/time.ts'
import { useNow } from './clock.ts'
import { formatInstant } from './time.tsx'

/** What a queued job waits for, in words; if a time ends the wait, a countdown to it. */
export function WaitingText({ waiting }: { waiting: Waiting | null }) {
  if (waiting === null) return 'next in queue'
  if (waiting.untilMs === undefined) return <span title={waiting.text}>{withShortIds(waiting.text)}</span>
  return <WaitingUntil waiting={waiting} untilMs={waiting.untilMs} />
}

/** Job ids begin with the time, so those of one minute look alike: their end tells them apart. */
const withShortIds = (text: string) => text.replace(/\b[0-9a-f]{26}([0-9a-f]{6})\b/g, '…$1')

function WaitingUntil({ waiting, untilMs }: { waiting: Waiting; untilMs: number }) {
  const nowMs = useNow()
  return <span title={`${waiting.text} · ${formatInstant(untilMs)}`}>{waitingWords(waiting, nowMs)}</span>
}

/** `retry in 28 s`, `not before 14:00`, or the engine's own words. */
export function waitingWords({ code, text, untilMs }: Waiting, nowMs: number): string {
  if (untilMs === undefined) return text
  if (untilMs <= nowMs) return code === 'retry_wait' ? 'retrying now' : 'due now'
  // Rounded up: it never says 0 s while it waits.
  if (code === 'retry_wait') return `retry in ${formatAge(untilMs - nowMs + 999)}`
  if (code === 'not_before') return `not before ${formatMoment(untilMs, nowMs)}`
  return `${text}, for ${formatAge(untilMs - nowMs + 999)} more`
}

/** `14:00` if it is today, `23 Nov, 14:00` otherwise; with seconds if they are not zero. */
export function formatMoment(atMs: number, nowMs: number): string {
  const at = new Date(atMs)
  const time = at.toLocaleTimeString('en-GB', {
    hour: '2-digit',
    minute: '2-digit',
    ...(at.getSeconds() === 0 ? {} : { second: '2-digit' })
  })
  if (new Date(nowMs).toDateString() === at.toDateString()) return time
  return `${at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })}, ${time}`
}

import type { Waiting } from '../../shared/contract/index.ts'
import { shortId } from '../../shared/ids.ts'
import { formatAge } from '../../shared/time.ts'
import { useNow } from './clock.ts'
import { formatMoment } from './moment.ts'
import { formatInstant } from './time.tsx'
import { texts } from '../../shared/texts/ui/shared.ts'

export function WaitingText({ waiting }: { waiting: Waiting | null }) {
  if (waiting === null) return texts.nextInQueue
  if (waiting.untilMs === undefined) return <span title={waiting.text}>{withShortIds(waiting.text)}</span>
  return <WaitingUntil waiting={waiting} untilMs={waiting.untilMs} />
}

const withShortIds = (text: string) => text.replace(/\b[0-9a-f]{32}\b/g, shortId)

function WaitingUntil({ waiting, untilMs }: { waiting: Waiting; untilMs: number }) {
  const nowMs = useNow()
  return <span title={`${waiting.text} · ${formatInstant(untilMs)}`}>{waitingWords(waiting, nowMs)}</span>
}

/** `retry in 28 s`, `not before 14:00`, or the engine's text. */
export function waitingWords({ code, text, untilMs }: Waiting, nowMs: number): string {
  if (untilMs === undefined) return text
  if (untilMs <= nowMs) return code === 'retry_wait' ? texts.retryingNow : texts.dueNow
  // Rounded up, so that it never shows 0 s during the wait.
  if (code === 'retry_wait') return texts.retryIn(formatAge(untilMs - nowMs + 999))
  if (code === 'not_before') return texts.notBefore(formatMoment(untilMs, nowMs))
  return texts.waitsForMore(text, formatAge(untilMs - nowMs + 999))
}

import { describeRule, occurrencesToShow, problemOfTiming } from '../../../shared/calendar/index.ts'
import { ScheduleTiming } from '../../../shared/contract/index.ts'
import { texts as calendar } from '../../../shared/texts/ui/calendar.ts'

/** `cron` creates a schedule instead of a job. */
export interface WhenTexts {
  kind: 'now' | 'at' | 'cron'
  expression: string
  zone: string
  name: string
}

export function previewTimes({ expression, zone }: WhenTexts, nowMs: number): { words: string; next: number[] } | null {
  const rule = { kind: 'cron' as const, expression: expression.trim() }
  const timing = ScheduleTiming.safeParse({ zone, rules: [rule] })
  if (!timing.success || problemOfTiming(timing.data) !== null) return null
  const next = occurrencesToShow(timing.data, { afterMs: nowMs, limit: 3 })
  return { words: describeRule(rule, zone, calendar), next: next.map(({ nominalMs }) => nominalMs) }
}

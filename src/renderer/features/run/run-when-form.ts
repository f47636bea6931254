import { describeRule, occurrencesOf, problemOfTiming } from '../../../shared/calendar/index.ts'
import { type RunInput, RunTemplate, ScheduleSettings, ScheduleTiming } from '../../../shared/contract/index.ts'

/** Now, at a time (which stands in MoreForm.notBefore), or again and again: then a schedule is made instead of a job. */
export interface WhenForm {
  readonly kind: 'now' | 'at' | 'cron'
  readonly expression: string
  readonly zone: string
  readonly name: string
}

export const startWhen = (notBefore: string): WhenForm => ({
  kind: notBefore === '' ? 'now' : 'at',
  expression: '0 3 * * *',
  zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  name: ''
})

/** The schedule that would be made; or what is wrong, in words. Overlap, catch-up and the like are as usual: its editor has them. */
export function readSchedule(when: WhenForm, run: RunInput): { settings: ScheduleSettings } | { missing: string } {
  const { project, version, spiders, settings, args, secretNames, limits, priority, nodeId, tags, retry } = run
  const expression = when.expression.trim()
  if (expression === '') return { missing: 'When? Such as 0 3 * * *: every day at 03:00' }
  const timing = { zone: when.zone, rules: [{ kind: 'cron' as const, expression }] }
  const template = { project, version, spiders, settings, args, secretNames, limits, priority, nodeId, tags, retry }
  const name = when.name.trim() || `${spiders.join(', ')} of ${project}`.slice(0, 200)
  const whole = ScheduleSettings.safeParse({ ...timing, name, jobs: [RunTemplate.parse(template)] })
  if (!whole.success) return { missing: 'The expression is too long' }
  const problem = problemOfTiming(whole.data)
  return problem === null ? { settings: whole.data } : { missing: problem }
}

/** What an expression says, and when it runs next. */
export function lookAhead({ expression, zone }: WhenForm, nowMs: number): { words: string; next: number[] } | null {
  const rule = { kind: 'cron' as const, expression: expression.trim() }
  const timing = ScheduleTiming.safeParse({ zone, rules: [rule] })
  if (!timing.success || problemOfTiming(timing.data) !== null) return null
  const next = occurrencesOf(timing.data, { afterMs: nowMs, limit: 3 })
  return { words: describeRule(rule, zone), next: next.map(({ nominalMs }) => nominalMs) }
}

/** What a rule says, in words that are exactly what it does: generated from the values that the calendar computes with. Pure. */
import type { ScheduleRule, ScheduleTiming } from '../contract/schedules.ts'
import { formatDuration } from '../time.ts'
import { problemOfCron } from './problems.ts'
import { formatLocal, isZone, stretchAt } from './zones.ts'

export function describeTiming(timing: ScheduleTiming): string {
  return `${timing.rules.map((rule) => describeRule(rule, timing.zone)).join('; ')} (${timing.zone})`
}

/** For a rule that cannot be read: what is wrong with it. */
export function describeRule(rule: ScheduleRule, zone: string): string {
  if (rule.kind === 'interval')
    return `every ${formatDuration(rule.everySeconds)} from ${momentOf(rule.anchorMs, zone)}`
  if (rule.kind === 'once') return `once, ${momentOf(rule.atMs, zone)}`
  return problemOfCron(rule.expression) ?? rule.expression
}

function momentOf(atMs: number, zone: string): string {
  if (!isZone(zone)) return new Date(atMs).toISOString()
  return formatLocal(atMs, stretchAt(zone, atMs).offsetMs).slice(0, 16).replace('T', ' ')
}

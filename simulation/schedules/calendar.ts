/**
 * Checks every minute of the story with the offset from Intl, independently of src/shared/calendar. Supports only
 * what the story's schedules use.
 */
const MINUTE_MS = 60_000
const QUARTER_MS = 15 * MINUTE_MS

export type Rule =
  | { kind: 'daily'; minute: number; hours: number[]; weekdays: number[] | null }
  | { kind: 'open'; minutes: number[]; everyHours: number }
  | { kind: 'interval'; everySeconds: number; anchorMs: number }
  | { kind: 'once'; atMs: number }

export interface Timing {
  zone: string
  rules: Rule[]
  excludedDates: string[]
  gap: 'run_at_shift' | 'skip'
  doubled: 'run_once' | 'run_twice'
  endMs: number | null
}

export interface Meant {
  nominalMs: number
  /** Whether clocks skip this time, so that the schedule does not fire. */
  isLeftOut: boolean
}

export function toContract(rule: Rule) {
  if (rule.kind === 'interval' || rule.kind === 'once') return rule
  const days = rule.kind === 'daily' && rule.weekdays !== null ? rule.weekdays.join(',') : '*'
  const [minutes, hours] =
    rule.kind === 'daily'
      ? [String(rule.minute), rule.hours.join(',')]
      : [rule.minutes.join(','), rule.everyHours === 1 ? '*' : `*/${rule.everyHours}`]
  return { kind: 'cron' as const, expression: `${minutes} ${hours} * * ${days}` }
}

const offsets = new Map<string, number>()

/** Clocks change only at a quarter of an hour. */
function offsetAt(zone: string, atMs: number): number {
  const quarterMs = Math.floor(atMs / QUARTER_MS) * QUARTER_MS
  const key = `${zone} ${quarterMs}`
  const known = offsets.get(key)
  if (known !== undefined) return known
  const parts = formatter(zone).formatToParts(quarterMs)
  const part = (type: string) => Number(parts.find((one) => one.type === type)!.value)
  const wallMs = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour') % 24, part('minute'))
  offsets.set(key, wallMs - quarterMs)
  return wallMs - quarterMs
}

const formatters = new Map<string, Intl.DateTimeFormat>()

function formatter(timeZone: string): Intl.DateTimeFormat {
  const numeric = 'numeric' as const
  const form = {
    year: numeric,
    month: numeric,
    day: numeric,
    hour: numeric,
    minute: numeric,
    hourCycle: 'h23' as const
  }
  const made = formatters.get(timeZone) ?? new Intl.DateTimeFormat('en-US', { timeZone, ...form })
  formatters.set(timeZone, made)
  return made
}

export function meantBy(timing: Timing, afterMs: number, untilMs: number): Meant[] {
  const found = new Map<number, boolean>()
  const add = (nominalMs: number, isLeftOut: boolean) => {
    if (nominalMs <= afterMs || nominalMs > Math.min(untilMs, timing.endMs ?? untilMs)) return
    found.set(nominalMs, isLeftOut && (found.get(nominalMs) ?? true))
  }
  for (const rule of timing.rules) {
    if (rule.kind === 'once') addUnlessExcluded(rule.atMs)
    else if (rule.kind === 'interval') {
      const everyMs = rule.everySeconds * 1_000
      let atMs = rule.anchorMs
      if (atMs <= afterMs) atMs += Math.floor((afterMs - atMs) / everyMs) * everyMs
      for (; atMs <= untilMs; atMs += everyMs) addUnlessExcluded(atMs)
    } else walk(rule)
  }
  return [...found]
    .map(([nominalMs, isLeftOut]) => ({ nominalMs, isLeftOut }))
    .sort((one, other) => one.nominalMs - other.nominalMs)

  function addUnlessExcluded(atMs: number): void {
    if (!isExcluded(atMs + offsetAt(timing.zone, atMs))) add(atMs, false)
  }

  function isExcluded(wallMs: number): boolean {
    return timing.excludedDates.includes(new Date(wallMs).toISOString().slice(0, 10))
  }

  function walk(rule: Rule & { kind: 'daily' | 'open' }): void {
    for (let atMs = Math.floor(afterMs / MINUTE_MS) * MINUTE_MS; atMs <= untilMs; atMs += MINUTE_MS) {
      const offsetMs = offsetAt(timing.zone, atMs)
      const wallMs = atMs + offsetMs
      if (rule.kind === 'daily') {
        const beforeMs = offsetAt(timing.zone, atMs - 1)
        for (let leftOutMs = atMs + beforeMs; leftOutMs < wallMs; leftOutMs += MINUTE_MS) {
          if (matches(rule, leftOutMs) && !isExcluded(leftOutMs)) add(atMs, timing.gap === 'skip')
        }
      }
      if (!matches(rule, wallMs) || isExcluded(wallMs)) continue
      if (rule.kind === 'daily' && timing.doubled === 'run_once' && wasShownBefore(atMs, wallMs)) continue
      add(atMs, false)
    }
  }

  /** Whether clocks already showed this time in the hours before. */
  function wasShownBefore(atMs: number, wallMs: number): boolean {
    for (let beforeMs = atMs - QUARTER_MS; beforeMs >= atMs - 8 * QUARTER_MS; beforeMs -= QUARTER_MS) {
      const offsetMs = offsetAt(timing.zone, beforeMs)
      const thenMs = wallMs - offsetMs
      if (thenMs < atMs && offsetAt(timing.zone, thenMs) === offsetMs) return true
    }
    return false
  }
}

function matches(rule: Rule & { kind: 'daily' | 'open' }, wallMs: number): boolean {
  const wall = new Date(wallMs)
  const [minute, hour, weekday] = [wall.getUTCMinutes(), wall.getUTCHours(), wall.getUTCDay()]
  if (rule.kind === 'open') return rule.minutes.includes(minute) && hour % rule.everyHours === 0
  return rule.minute === minute && rule.hours.includes(hour) && (rule.weekdays?.includes(weekday) ?? true)
}

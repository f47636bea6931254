import { z } from 'zod'
import { isZone, momentOfWall } from '../../../shared/calendar/index.ts'
import { stretchAt } from '../../../shared/calendar/zones.ts'
import type { Alert, AlertScope, AlertSilence } from '../../../shared/contract/index.ts'
import type { ScopeTexts } from './rule-form.ts'
import { texts as words } from '../../../shared/texts/ui/alerts.ts'

export const REPEATS = { once: words.once, day: words.everyDayLabel, week: words.everyWeek } as const

export const UNTIL = {
  hour: words.hour,
  hours: words.fourHours,
  tomorrow: words.tomorrowMorning,
  at: words.untilATime
} as const
export type Until = keyof typeof UNTIL

/** Text entered for a different `repeat` is kept but not sent. */
export interface TimeTexts {
  repeat: keyof typeof REPEATS
  until: Until
  /** In the format of `<input type="datetime-local">`. An empty `start` means now. */
  start: string
  at: string
  /** The value of the select: `0` is Sunday. */
  weekday: string
  /** In the format of `<input type="time">`: `02:00`. If `to` is not later than `from`, it is on the next day. */
  from: string
  to: string
  zone: string
  /** In the format of `<input type="date">`. Empty: the silence continues until a user ends it. */
  lastDay: string
}

export interface SilenceTexts extends ScopeTexts, TimeTexts {
  comment: string
  /** null: any rule. */
  ruleId: string | null
}

/** What an alert is about, as a scope that matches it when it fires again: its spider, its schedule or its node. */
export function scopeOfAlert({ labels }: Pick<Alert, 'labels'>): AlertScope {
  const { project, spider, scheduleId, nodeId } = labels
  const isOfProject = project !== null
  return {
    project,
    spider,
    nodeTag: null,
    scheduleId: isOfProject && spider !== null ? null : scheduleId,
    nodeId: isOfProject ? null : nodeId
  }
}

export const startTimes = (zone: string): TimeTexts => ({
  repeat: 'once',
  until: 'hour',
  start: '',
  at: '',
  weekday: '0',
  from: '02:00',
  to: '04:00',
  zone,
  lastDay: ''
})

type Times = Pick<AlertSilence, 'untilMs' | 'repeats'> & { fromMs: number | null }
type Problem = { field: keyof TimeTexts; message: string }

/** When a silence would apply if it were sent now, or what is wrong with the input. */
export function timesOf(texts: TimeTexts, nowMs: number): Times | Problem {
  return texts.repeat === 'once' ? timesOnce(texts, nowMs) : timesAgain(texts, texts.repeat, nowMs)
}

function timesOnce({ until, start, at }: TimeTexts, nowMs: number): Times | Problem {
  const tomorrow = new Date(nowMs)
  tomorrow.setDate(tomorrow.getDate() + 1)
  if (until !== 'at') {
    const ends = { hour: nowMs + 3_600_000, hours: nowMs + 4 * 3_600_000, tomorrow: tomorrow.setHours(9, 0, 0, 0) }
    return { fromMs: null, untilMs: ends[until], repeats: null }
  }
  const untilMs = Date.parse(at)
  const fromMs = start === '' ? null : Date.parse(start)
  if (Number.isNaN(untilMs)) return { field: 'at', message: words.enterTime }
  if (untilMs <= nowMs) return { field: 'at', message: words.timeInPast }
  if (Number.isNaN(fromMs)) return { field: 'start', message: words.enterTime }
  if (fromMs !== null && untilMs <= fromMs) return { field: 'at', message: words.beforeStart }
  return { fromMs, untilMs, repeats: null }
}

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const minutesOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5))

/** The times of a repeating silence, from the first window that has not ended. */
function timesAgain(
  { weekday, from, to, zone, lastDay }: TimeTexts,
  every: 'day' | 'week',
  nowMs: number
): Times | Problem {
  if (from === '') return { field: 'from', message: words.enterATime }
  if (to === '') return { field: 'to', message: words.enterATime }
  if (!isZone(zone)) return { field: 'zone', message: words.chooseTimeZone }
  const minutes = (minutesOf(to) - minutesOf(from) + 1_440) % 1_440 || 1_440
  const today = Math.floor((nowMs + stretchAt(zone, nowMs).offsetMs) / DAY_MS)
  const windows = Array.from({ length: 9 }, (_, index) => today - 1 + index)
    // 1970-01-01 was a Thursday.
    .filter((day) => every === 'day' || (day + 4) % 7 === Number(weekday))
    .map((day) => ({
      fromMs: momentOfWall(zone, day * DAY_MS + minutesOf(from) * MINUTE_MS),
      untilMs: momentOfWall(zone, day * DAY_MS + (minutesOf(from) + minutes) * MINUTE_MS)
    }))
  const first = windows.find(({ fromMs, untilMs }) => fromMs < untilMs && nowMs < untilMs)!
  const endsMs = lastDay === '' ? null : momentOfWall(zone, Date.parse(`${lastDay}T00:00Z`) + DAY_MS)
  if (endsMs !== null && !(endsMs > first.fromMs)) return { field: 'lastDay', message: words.beforeFirstWindow }
  return { ...first, repeats: { every, zone, endsMs } }
}

/** The times stay as entered until the silence is sent. */
export type Silence = AlertScope & TimeTexts & { ruleId: string | null; comment: string }

const text = z
  .string()
  .nullable()
  .transform((typed) => typed?.trim() || null)

export const SilenceForm = z
  .object({
    repeat: z.enum(['once', 'day', 'week']),
    until: z.enum(['hour', 'hours', 'tomorrow', 'at']),
    start: z.string(),
    at: z.string(),
    weekday: z.string(),
    from: z.string(),
    to: z.string(),
    zone: z.string().trim(),
    lastDay: z.string(),
    comment: z.string().trim().max(500),
    ruleId: z.string().nullable(),
    project: text,
    spider: text,
    scheduleId: text,
    nodeId: text,
    nodeTag: text
  })
  .check(({ value, issues }) => {
    const times = timesOf(value, Date.now())
    if ('field' in times) issues.push({ code: 'custom', message: times.message, path: [times.field], input: value })
  }) as never as z.ZodType<Silence, SilenceTexts>

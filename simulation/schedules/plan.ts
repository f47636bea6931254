import type { OverlapPolicy } from '../../src/shared/contract/index.ts'
import { createChance, type Chance } from '../world/chance.ts'
import type { Rule, Timing } from './calendar.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Weeks in which clocks change somewhere: back in Europe, ahead in Europe, back and ahead in New York, and on Lord Howe by half an hour. */
const BEGINNINGS = ['2026-10-22', '2027-03-25', '2026-10-29', '2027-03-11', '2027-04-01', '2026-10-01']
const ZONES = [
  ...['UTC', 'Europe/Berlin', 'Europe/London', 'America/New_York', 'America/St_Johns'],
  ...['Asia/Kolkata', 'Australia/Lord_Howe', 'Asia/Kathmandu']
]

export interface PlannedSchedule {
  id: string
  timing: Timing
  overlap: OverlapPolicy
  catchUp: 'none' | 'last' | 'all'
  catchUpWindowSeconds: number
  jitterSeconds: number
  maxRuns: number | null
  /** So many jobs each time. */
  jobs: number
  /** What it asks for is not there. */
  isRefused: boolean
  /** How long its jobs run, at most. */
  longestMs: number
  /** Somebody pauses it for a while. */
  pause: { fromMs: number; untilMs: number } | null
}

/** What happens to the engine and to its machine's clock; times are monotonic, from the beginning on. */
export type Event =
  | {
      kind: 'crash'
      atMs: number
      downMs: number
      inFire: null | { call: number; when: 'before' | 'after' }
      jumpMs: number
    }
  | { kind: 'jump'; atMs: number; byMs: number }

export interface Plan {
  seed: number
  beginsAtMs: number
  durationMs: number
  schedules: PlannedSchedule[]
  events: Event[]
}

export function planStory(seed: number, { schedules, days }: { schedules: number; days: number }): Plan {
  const chance = createChance(seed, 'schedules')
  const beginsAtMs =
    Date.parse(`${chance.pick(BEGINNINGS)}T00:00:00Z`) + (days < 7 ? chance.between(0, 6 - days) * 24 * HOUR_MS : 0)
  const durationMs = days * 24 * HOUR_MS
  return {
    seed,
    beginsAtMs,
    durationMs,
    schedules: Array.from({ length: schedules }, (_, index) => planSchedule(chance, index, beginsAtMs, durationMs)),
    events: planEvents(createChance(seed, 'events'), durationMs)
  }
}

function planSchedule(chance: Chance, index: number, beginsAtMs: number, durationMs: number): PlannedSchedule {
  const rules = Array.from({ length: chance.happens(0.15) ? 2 : 1 }, () => planRule(chance, beginsAtMs, durationMs))
  const isPlain = chance.happens(0.7)
  const day = new Date(beginsAtMs + chance.between(0, 6) * 24 * HOUR_MS).toISOString().slice(0, 10)
  // Sundays are when clocks change: what an exclusion means then is for the calendar's own tests.
  const isSunday = new Date(day).getUTCDay() === 0
  const pauseMs = chance.between(0, durationMs)
  const overlap = chance.pick(['skip', 'queue_one', 'queue_all', 'cancel_running', 'allow'] as const)
  // A line that only grows would be all that the story is about.
  const longestMs = Math.min(chance.pick([1, 10, 60, 180]), overlap === 'queue_all' ? 8 : 180) * MINUTE_MS
  return {
    id: index.toString(16).padStart(32, '0'),
    timing: {
      zone: chance.pick(ZONES),
      rules,
      excludedDates: chance.happens(0.1) && !isSunday ? [day] : [],
      gap: chance.pick(['run_at_shift', 'skip']),
      doubled: chance.pick(['run_once', 'run_twice']),
      endMs: chance.happens(0.05) ? beginsAtMs + chance.between(0, durationMs) : null
    },
    overlap,
    catchUp: chance.pick(['none', 'last', 'all']),
    catchUpWindowSeconds: chance.pick([0, 60, 600, 3_600, 86_400]),
    jitterSeconds: chance.happens(0.3) ? chance.pick([10, 120, 3_600]) : 0,
    maxRuns: chance.happens(0.05) ? chance.between(1, 40) : null,
    jobs: isPlain ? 1 : chance.between(1, 4),
    isRefused: chance.happens(0.02),
    longestMs,
    pause: chance.happens(0.1)
      ? { fromMs: pauseMs + 311, untilMs: pauseMs + chance.between(1, 20 * HOUR_MS) + 622 }
      : null
  }
}

function planRule(chance: Chance, beginsAtMs: number, durationMs: number): Rule {
  const kind = chance.next()
  const minute = chance.between(0, 59)
  if (kind < 0.35) {
    const hours = [...new Set(Array.from({ length: chance.between(1, 4) }, () => chance.between(0, 23)))].sort(
      (a, b) => a - b
    )
    // Hours that clocks leave out or show twice are rare, and what this is about.
    if (chance.happens(0.4)) hours.splice(0, hours.length, chance.pick([1, 2]))
    const weekdays = chance.happens(0.3) ? [...new Set([chance.between(0, 6), chance.between(0, 6)])] : null
    return { kind: 'daily', minute, hours, weekdays }
  }
  if (kind < 0.75) {
    const everyHours = chance.pick([1, 1, 2, 3, 6])
    const minutes = chance.happens(0.2) ? [0, 15, 30, 45].map((one) => one + (minute % 15)) : [minute]
    return { kind: 'open', minutes, everyHours }
  }
  if (kind < 0.95) {
    const everySeconds = chance.pick([300, 900, 1_800, 3_600, 5_400, 7_207, 36_000])
    return { kind: 'interval', everySeconds, anchorMs: beginsAtMs - chance.between(0, 100_000) * 1_000 }
  }
  return { kind: 'once', atMs: beginsAtMs + Math.floor(chance.between(0, durationMs) / 1_000) * 1_000 }
}

/** One event in each slot of some hours, and what follows of it is over before the next. */
function planEvents(chance: Chance, durationMs: number): Event[] {
  const slotMs = 3 * HOUR_MS
  const events: Event[] = []
  for (let fromMs = slotMs / 3; fromMs + slotMs <= durationMs; fromMs += slotMs) {
    const atMs = fromMs + chance.between(0, 40 * MINUTE_MS)
    const byMs = (chance.happens(0.6) ? 1 : -1) * chance.between(90_000, chance.pick([10 * MINUTE_MS, 3 * HOUR_MS]))
    if (chance.happens(0.35)) events.push({ kind: 'jump', atMs, byMs })
    else {
      const downMs = chance.between(1_000, chance.pick([30_000, 10 * MINUTE_MS, 80 * MINUTE_MS]))
      const inFire = { call: chance.between(1, 4), when: chance.pick(['before', 'after'] as const) }
      events.push({
        kind: 'crash',
        atMs,
        downMs,
        inFire: chance.happens(0.7) ? inFire : null,
        jumpMs: chance.happens(0.2) ? byMs : 0
      })
    }
  }
  return events
}

/** How long a job runs, by what it is: half a millisecond keeps its end from falling on a moment. */
export function lifeOf(schedule: PlannedSchedule, nominalMs: number, index: number): number {
  const mixed =
    Math.imul((nominalMs / 1_000) | 0, 0x9e3779b1) ^
    Math.imul(index + Number(`0x${schedule.id.slice(-6)}`) + 1, 0x85ebca6b)
  const share = ((mixed ^ (mixed >>> 13)) >>> 0) / 2 ** 32
  return Math.floor(1_000 + share * schedule.longestMs) + 0.5
}

/** So long a running job takes to end once it is cancelled. */
export const CANCEL_TAKES_MS = 5_000.25

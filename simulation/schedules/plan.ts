import type { OverlapPolicy } from '../../src/shared/contract/index.ts'
import { createChance, type Chance } from '../world/chance.ts'
import type { Rule, Timing } from './calendar.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Weeks with a clock change, its day and its zones. Clocks go back or ahead, by half an hour on Lord Howe. */
const WEEKS = [
  { begins: '2026-10-22', changeDay: 3, zones: ['Europe/Berlin', 'Europe/London'] },
  { begins: '2027-03-25', changeDay: 3, zones: ['Europe/Berlin', 'Europe/London'] },
  { begins: '2026-10-29', changeDay: 3, zones: ['America/New_York', 'America/St_Johns'] },
  { begins: '2027-03-11', changeDay: 3, zones: ['America/New_York', 'America/St_Johns'] },
  { begins: '2027-04-01', changeDay: 2, zones: ['Australia/Lord_Howe'] },
  { begins: '2026-10-01', changeDay: 2, zones: ['Australia/Lord_Howe'] }
]
const ZONES = ['UTC', ...new Set(WEEKS.flatMap(({ zones }) => zones)), 'Asia/Kolkata', 'Asia/Kathmandu']

export interface PlannedSchedule {
  id: string
  timing: Timing
  overlap: OverlapPolicy
  catchUp: 'none' | 'last' | 'all'
  catchUpWindowSeconds: number
  jitterSeconds: number
  maxRuns: number | null
  /** Jobs per firing. */
  jobs: number
  /** Whether the template requests something that does not exist. */
  isRefused: boolean
  longestMs: number
  failShare: number
  pauseAfterFailures: number | null
  /**
   * The period in which an operator pauses the schedule. `isFatal`: whether the engine dies when the operator resumes
   * the schedule.
   */
  pause: { fromMs: number; untilMs: number; isFatal: boolean } | null
}

/** A chain: the jobs to create whenever a job of one spider ends. */
export interface PlannedChain {
  id: string
  project: string
  spider: string
  on: 'succeeded' | 'failed' | 'ended'
  runs: { project: string; spiders: string[] }
}

/** A write during which the engine dies: the n-th one after arming. */
export interface Fatal {
  verbs: string[]
  call: number
  when: 'before' | 'after'
}

/** What happens to the engine and its machine's clock. Times are monotonic, from the start of the story. */
export type Event =
  | {
      kind: 'crash'
      atMs: number
      downMs: number
      inWrite: null | Fatal
      jumpMs: number
    }
  | { kind: 'jump'; atMs: number; byMs: number }
  /** From `atMs` on, this many writes of rows fail, because the disk is full. */
  | { kind: 'full_disk'; atMs: number; writes: number }

export interface Plan {
  seed: number
  beginsAtMs: number
  durationMs: number
  schedules: PlannedSchedule[]
  chains: PlannedChain[]
  events: Event[]
}

export function planStory(seed: number, { schedules, days }: { schedules: number; days: number }): Plan {
  const chance = createChance(seed, 'schedules')
  const week = chance.pick(WEEKS)
  const firstDay = Math.min(
    week.changeDay - chance.between(0, Math.min(days - 1, week.changeDay)),
    Math.max(0, 7 - days)
  )
  const beginsAtMs = Date.parse(`${week.begins}T00:00:00Z`) + firstDay * 24 * HOUR_MS
  const durationMs = days * 24 * HOUR_MS
  const span = { beginsAtMs, durationMs, zones: week.zones }
  const planned = Array.from({ length: schedules }, (_, index) => planSchedule(chance, index, span))
  return {
    seed,
    beginsAtMs,
    durationMs,
    schedules: planned,
    chains: planChains(createChance(seed, 'chains'), planned),
    events: [
      ...planEvents(createChance(seed, 'events'), durationMs),
      ...planFullDisks(createChance(seed, 'full disks'), durationMs)
    ]
  }
}

function planChains(chance: Chance, schedules: PlannedSchedule[]): PlannedChain[] {
  const chains: PlannedChain[] = []
  const add = (project: string, spider: string, on = chance.pick(['succeeded', 'failed', 'ended'] as const)) => {
    const id = (chains.length + 1).toString(16).padStart(32, 'c')
    const spiders = Array.from({ length: chance.between(1, 2) }, (_, index) => `spider${index}`)
    chains.push({ id, project, spider, on, runs: { project: `chained${chains.length}`, spiders } })
    return chains.at(-1)!
  }
  for (const { id } of schedules) {
    if (!chance.happens(0.08)) continue
    const { runs } = add(projectOf(id), 'spider0')
    if (chance.happens(0.5)) add(runs.project, 'spider0')
    if (chance.happens(0.2)) add(runs.project, 'spider0', 'ended').runs.project = runs.project
  }
  return chains
}

/** Each schedule has its own project. */
export function projectOf(scheduleId: string): string {
  return `shop${Number(`0x${scheduleId.slice(-6)}`)}`
}

interface Span {
  beginsAtMs: number
  durationMs: number
  zones: string[]
}

function planSchedule(chance: Chance, index: number, { beginsAtMs, durationMs, zones }: Span): PlannedSchedule {
  const rules = Array.from({ length: chance.happens(0.15) ? 2 : 1 }, () => planRule(chance, beginsAtMs, durationMs))
  const isPlain = chance.happens(0.7)
  const day = new Date(beginsAtMs + chance.between(0, 6) * 24 * HOUR_MS).toISOString().slice(0, 10)
  // Clocks change on Sundays. The calendar's own tests cover exclusions on those days.
  const isSunday = new Date(day).getUTCDay() === 0
  const pauseMs = chance.between(0, durationMs)
  const overlap = chance.pick(['skip', 'queue_one', 'queue_all', 'cancel_running', 'allow'] as const)
  // An ever-growing queue would dominate the story.
  const longestMs = Math.min(chance.pick([1, 10, 60, 180]), overlap === 'queue_all' ? 8 : 180) * MINUTE_MS
  return {
    id: index.toString(16).padStart(32, '0'),
    timing: {
      zone: chance.pick(chance.happens(0.4) ? zones : ZONES),
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
    failShare: chance.pick([0, 0, 0.2, 0.6]),
    pauseAfterFailures: chance.happens(0.25) ? chance.between(1, 3) : null,
    pause: chance.happens(0.1)
      ? {
          fromMs: pauseMs + 311,
          untilMs: pauseMs + chance.between(1, Math.min(durationMs / 3, 20 * HOUR_MS)) + 622,
          isFatal: chance.happens(0.5)
        }
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
    // Prefers hours that clocks skip or repeat, because they are rare and the point of this test.
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

const SLOT_MS = 3 * HOUR_MS
/** The time after which the event of a slot has no more effect. */
const QUIET_AFTER_MS = 145 * MINUTE_MS
export const DISK_FULL_MS = 20 * MINUTE_MS

/** Plans one event per slot of several hours. The effects of an event end before the next slot. */
function planEvents(chance: Chance, durationMs: number): Event[] {
  const slotMs = SLOT_MS
  const events: Event[] = []
  for (let fromMs = slotMs / 3; fromMs + slotMs <= durationMs; fromMs += slotMs) {
    const atMs = fromMs + chance.between(0, 40 * MINUTE_MS)
    const byMs = (chance.happens(0.6) ? 1 : -1) * chance.between(90_000, chance.pick([10 * MINUTE_MS, 3 * HOUR_MS]))
    if (chance.happens(0.35)) events.push({ kind: 'jump', atMs, byMs })
    else {
      const downMs = chance.between(1_000, chance.pick([30_000, 10 * MINUTE_MS, 80 * MINUTE_MS]))
      const verbs = chance.pick([
        ['fire'],
        ['fire', 'putSchedule', 'answerChains'],
        ['answerChains'],
        ['cancel'],
        ['cancel']
      ])
      const inWrite = { verbs, call: chance.pick([1, 1, 2, 3]), when: chance.pick(['before', 'after'] as const) }
      events.push({
        kind: 'crash',
        atMs,
        downMs,
        inWrite: chance.happens(0.7) ? inWrite : null,
        jumpMs: chance.happens(0.2) ? byMs : 0
      })
    }
  }
  return events
}

function planFullDisks(chance: Chance, durationMs: number): Event[] {
  const events: Event[] = []
  for (let slot = 0; (slot + 4 / 3) * SLOT_MS <= durationMs; slot += 1) {
    const atMs = (slot + 1 / 3) * SLOT_MS + QUIET_AFTER_MS + chance.between(0, 10 * MINUTE_MS)
    if (chance.happens(0.7)) events.push({ kind: 'full_disk', atMs, writes: chance.pick([1, 2, 2, 3]) })
  }
  return events
}

/**
 * Returns a job's duration, derived from the job's identity. Half a millisecond is added so that jobs never end at a
 * nominal time.
 */
export function lifeOf(schedule: PlannedSchedule, nominalMs: number, index: number): number {
  return Math.floor(1_000 + shareOf(schedule, nominalMs, index) * schedule.longestMs) + 0.5
}

export function isFailing(schedule: PlannedSchedule, nominalMs: number, index: number): boolean {
  return shareOf(schedule, nominalMs, index + 7_919) < schedule.failShare
}

function shareOf({ id }: PlannedSchedule, nominalMs: number, index: number): number {
  const mixed =
    Math.imul((nominalMs / 1_000) | 0, 0x9e3779b1) ^ Math.imul(index + Number(`0x${id.slice(-6)}`) + 1, 0x85ebca6b)
  return ((mixed ^ (mixed >>> 13)) >>> 0) / 2 ** 32
}

export const CANCEL_TAKES_MS = 5_000.25

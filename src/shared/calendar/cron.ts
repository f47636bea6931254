/** Cron expressions on a calendar without clock changes. A wall is the time that a clock shows, read as UTC. */
import { type CronFields, readCron } from './cron-fields.ts'
import { dayAtOrAfter, DayTable, type Month } from './days.ts'

export interface CompiledCron extends CronFields {
  /** Bit 0 is the first day of the month (days.ts). */
  dayBits: (month: Month) => number
}

const DAY_MS = 86_400_000
const MOST_EXPRESSIONS = 20_000
const MOST_DAY_TABLES = 500

const compiled = new Map<string, CompiledCron>()
const dayTables = new Map<string, DayTable>()

export function compileCron(expression: string): CompiledCron {
  const known = compiled.get(expression)
  if (known !== undefined) return known
  const fields = readCron(expression)
  const table = dayTableOf(fields)
  const made = { ...fields, dayBits: (month: Month) => table.bitsOf(month) }
  if (compiled.size >= MOST_EXPRESSIONS) compiled.clear()
  compiled.set(expression, made)
  return made
}

/** The first matching wall at or after `wallMs`, or null. The search ends with the month of `untilMs`. */
export function wallAtOrAfter(cron: CompiledCron, wallMs: number, untilMs: number): number | null {
  const startDay = Math.floor(wallMs / DAY_MS)
  const untilDay = Math.floor(untilMs / DAY_MS)
  let day = dayAtOrAfter(startDay, untilDay, cron.dayBits)
  if (day === startDay) {
    const time = timeAtOrAfter(cron, Math.ceil((wallMs - day * DAY_MS) / 1000))
    if (time !== null) return day * DAY_MS + time * 1000
    day = dayAtOrAfter(startDay + 1, untilDay, cron.dayBits)
  }
  return day === null ? null : day * DAY_MS + timeAtOrAfter(cron, 0)! * 1000
}

export function timeAtOrAfter(cron: CronFields, second: number): number | null {
  for (const hour of cron.hours) {
    if (hour * 3600 + 3599 < second) continue
    for (const minute of cron.minutes) {
      const start = hour * 3600 + minute * 60
      if (start + 59 < second) continue
      for (const one of cron.seconds) if (start + one >= second) return start + one
    }
  }
  return null
}

/** Shared, because ten thousand schedules have only a few different sets of days. */
function dayTableOf({ days }: CronFields): DayTable {
  const key = JSON.stringify(days)
  let table = dayTables.get(key)
  if (table === undefined) {
    if (dayTables.size >= MOST_DAY_TABLES) dayTables.clear()
    table = new DayTable(days)
    dayTables.set(key, table)
  }
  return table
}

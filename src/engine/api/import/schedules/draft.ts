import type { NodeId } from '../../../../shared/contract/index.ts'
import { isZone, momentOfWall, problemOfTiming } from '../../../../shared/calendar/index.ts'
import { type FileSchedule, FleetForm, settingsFromFile, textOfMoment } from '../../fleet-file/form.ts'
import { withoutStop } from '../../../../shared/texts/parts.ts'

/** A schedule as in a fleet file. Absent fields have their defaults. */
export type Draft = Record<string, unknown> & { name: string }

/** `notes` explain why there is no schedule, or how it differs from the original. */
export interface Imported {
  origin: string
  schedule: FileSchedule | null
  notes: string[]
}

export type Row = Record<string, unknown>

export const text = (value: unknown): string => (value === null || value === undefined ? '' : String(value))

export function importTasks(tasks: Row[], read: (origin: string, task: Row) => Imported): Imported[] {
  return tasks.map((task) => {
    const name = text(task['name']) || `${text(task['project'])}/${text(task['spider'])}`
    const origin = `task ${text(task['id'])} (${name})`
    try {
      return read(origin, task)
    } catch (error) {
      return refused(origin, (error as Error).message)
    }
  })
}

export function finish(origin: string, draft: Draft, notes: string[]): Imported {
  const form = FleetForm.safeParse({ version: 1, schedules: [draft] })
  if (!form.success) {
    const [issue] = form.error.issues
    return refused(origin, `${issue!.path.slice(2).join('.')} ${issue!.message}`, notes)
  }
  const schedule = form.data.schedules![0]!
  const problem = problemOfTiming(settingsFromFile(schedule, (name) => name as NodeId))
  return problem === null ? { origin, schedule, notes } : refused(origin, problem.text, notes)
}

export function refused(origin: string, why: string, notes: string[] = []): Imported {
  return { origin, schedule: null, notes: [...notes, `not imported: ${withoutStop(why)}`] }
}

/** Returns null if the zone is invalid. */
export function zoneOr(text: unknown, standard: string): string | null {
  if (typeof text !== 'string' || text.trim() === '') return standard
  return isZone(text.trim()) ? text.trim() : null
}

/**
 * Reads `2026-11-21 10:00:00` (or only the date) as local time in the zone, unless it has an offset. null: invalid.
 */
export function readLocalTime(text: string, zone: string): number | null {
  const [, date, time = '00:00:00', offset] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?))?(Z|[+-]\d\d:?\d\d)?$/.exec(text.trim()) ?? []
  if (date === undefined) return null
  const exact = offset === undefined ? 'Z' : offset
  const parsed = Date.parse(`${date}T${time.slice(0, 12)}${exact.replace(/^([+-]\d\d)(\d\d)$/, '$1:$2')}`)
  if (Number.isNaN(parsed)) return null
  return offset === undefined ? momentOfWall(zone, parsed) : parsed
}

/** Reads a start or end that was stored as local time in the zone. undefined: invalid. */
export function boundOf(text: unknown, zone: string): string | null | undefined {
  if (text === null || text === undefined || text === '') return null
  const atMs = typeof text === 'string' ? readLocalTime(text, zone) : null
  return atMs === null ? undefined : textOfMoment(atMs)
}

export function boundsOf(
  { start, end }: { start: unknown; end: unknown },
  years: { from: number; to: number } | null,
  zone: string
): { start: string | null; end: string | null } | null {
  const bounds = { start: boundOf(start, zone), end: boundOf(end, zone) }
  if (bounds.start === undefined || bounds.end === undefined) return null
  if (years === null) return bounds as { start: string | null; end: string | null }
  const [first, last] = [boundOf(`${years.from}-01-01`, zone)!, boundOf(`${years.to}-12-31 23:59:59`, zone)!]
  return {
    start: bounds.start !== null && bounds.start > first ? bounds.start : first,
    end: bounds.end !== null && bounds.end < last ? bounds.end : last
  }
}

/** Templates would read braces as placeholders. */
export const literal = (text: string): string => text.replaceAll('{', '{{')

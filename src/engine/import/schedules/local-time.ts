import { stretchAt } from '../../../shared/calendar/zones.ts'

/** `2026-11-21 10:00:00` (or with T, or the day alone) as clocks of a zone show it; an offset of its own comes first. null: it is no time. */
export function readLocalTime(text: string, zone: string): number | null {
  const [, date, time = '00:00:00', offset] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?))?(Z|[+-]\d\d:?\d\d)?$/.exec(text.trim()) ?? []
  if (date === undefined) return null
  const exact = offset === undefined ? 'Z' : offset
  const parsed = Date.parse(`${date}T${time.slice(0, 12)}${exact.replace(/^([+-]\d\d)(\d\d)$/, '$1:$2')}`)
  if (Number.isNaN(parsed)) return null
  if (offset !== undefined) return parsed
  const guess = parsed - stretchAt(zone, parsed).offsetMs
  return parsed - stretchAt(zone, guess).offsetMs
}

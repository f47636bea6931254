/** Placeholders of a RunTemplate: `{nominal}`, `{previous:yyyy-MM-dd}`, `{schedule}`; `{{` is a literal brace. Pure. */
import { formatLocal, formatOffset, stretchAt } from './zones.ts'

export interface TextValues {
  nominalMs: number
  /** null: it has not fired before; the placeholder becomes empty. */
  previousMs: number | null
  nowMs: number
  zone: string
  schedule: string
  /** Only in chains: values of the previous job. */
  stats?: Record<string, unknown>
  job?: string
  outcome?: string
}

/** `{`, a word, and an optional format or name. JSON and other braces stay as they are. */
const PLACEHOLDER = /\{\{|\{([a-z_]+)(?::([^{}]*)|\.([^{}]+))?\}/g
const MOMENTS = ['nominal', 'previous', 'now']

/** Replaces placeholders; unknown ones stay as they are (`problemOfText` reports them earlier). */
export function expandText(text: string, values: TextValues): string {
  return text.replace(
    PLACEHOLDER,
    (whole, word: string | undefined, format: string | undefined, name: string | undefined) => {
      if (word === undefined) return '{'
      if (word === 'stats' && name !== undefined) return plain(values.stats?.[name])
      if (name !== undefined) return whole
      if (word === 'nominal') return formatMoment(values.nominalMs, values.zone, format)
      if (word === 'previous')
        return values.previousMs === null ? '' : formatMoment(values.previousMs, values.zone, format)
      if (word === 'now') return formatMoment(values.nowMs, values.zone, format)
      if (format !== undefined) return whole
      if (word === 'schedule') return values.schedule
      if (word === 'job') return values.job ?? ''
      if (word === 'outcome') return values.outcome ?? ''
      return whole
    }
  )
}

/** Reports the first unknown placeholder; null: all are known. */
export function problemOfText(text: string, place: 'schedule' | 'chain' = 'schedule'): string | null {
  const known = [...MOMENTS, 'schedule', ...(place === 'chain' ? ['job', 'outcome'] : [])]
  for (const [whole, word, format, name] of text.matchAll(PLACEHOLDER)) {
    if (word === undefined) continue
    if (word === 'stats' && name !== undefined && place === 'chain') continue
    const isFine = name === undefined && known.includes(word) && (format === undefined || MOMENTS.includes(word))
    if (!isFine)
      return `${whole} is not known here. Use ${known.map((one) => `{${one}}`).join(', ')}${
        place === 'chain' ? ', {stats.NAME}' : ''
      }; write {{ for a literal brace.`
  }
  return null
}

/** Date patterns, longest first. Other letters and text in 'quotes' are literal. */
const PARTS = /'([^']*)'|yyyy|yy|MM|dd|HH|mm|ss|SSS|XXX/g

/** The default format is `2026-03-29T03:00:00+02:00`; `unix` and `unixms` are seconds and milliseconds since 1970. */
function formatMoment(atMs: number, zone: string, format: string | undefined): string {
  const { offsetMs } = stretchAt(zone, atMs)
  if (format === undefined || format === '') return formatLocal(atMs, offsetMs)
  if (format === 'unix') return String(Math.floor(atMs / 1000))
  if (format === 'unixms') return String(atMs)
  const [year = '', month = '', day = '', hour = '', minute = '', second = '', fraction = ''] = new Date(
    atMs + offsetMs
  )
    .toISOString()
    .split(/[-T:.Z]/)
  const parts: Record<string, string> = {
    yyyy: year,
    yy: year.slice(-2),
    MM: month,
    dd: day,
    HH: hour,
    mm: minute,
    ss: second,
    SSS: fraction,
    XXX: formatOffset(offsetMs)
  }
  return format.replace(PARTS, (part, quoted: string | undefined) => quoted ?? parts[part] ?? part)
}

function plain(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

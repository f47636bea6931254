import { ScrapdeckError } from '../errors.ts'
import { sentence } from '../texts/errors/values.ts'
import type { Sentence } from '../texts/sentence.ts'
import { formatLocal, formatOffset, stretchAt } from './zones.ts'

export interface TextValues {
  nominalMs: number
  /** null: the schedule has never fired, and the placeholder becomes empty. */
  previousMs: number | null
  nowMs: number
  zone: string
  schedule: string
  /** Only in chains: values of the previous job. */
  stats?: Record<string, unknown>
  job?: string
  outcome?: string
}

/** Matches `{`, a word, an optional format or name, and `}`. Does not match JSON and other braces. */
const PLACEHOLDER = /\{([a-z_]+)(?::([^{}]*)|\.([^{}]+))?\}/g
/** A pattern, because replaceAll with a string takes four times as long for a million matches. */
const LITERAL = /\{\{/g
const MAY_HAVE_PLACEHOLDER = /\{[a-z_]/
const MOMENTS = ['nominal', 'previous', 'now']
/** The maximum number of placeholders per text. Users write far fewer. Expanding this many takes a millisecond. */
const PLACEHOLDERS_MAX = 1_000
const EXPANDED_MAX = 16_000_000

/** Leaves unknown placeholders unchanged. Throws BAD_INPUT (too many) or REQUEST_TOO_LARGE (the result is too long). */
export function expandText(text: string, values: TextValues): string {
  if (!MAY_HAVE_PLACEHOLDER.test(text)) return text.replace(LITERAL, '{')
  let count = 0
  let length = 0
  const pieces = text.split('{{').map((piece) =>
    piece.replace(PLACEHOLDER, (whole, word: string, format: string | undefined, name: string | undefined) => {
      const expanded = valueOf(values, { whole, word, format, name })
      count += 1
      length += expanded.length
      if (count > PLACEHOLDERS_MAX) throw new ScrapdeckError('BAD_INPUT', tooMany())
      if (length > EXPANDED_MAX) throw tooLong(whole)
      return expanded
    })
  )
  return pieces.join('{')
}

const tooLong = (placeholder: string) =>
  new ScrapdeckError('REQUEST_TOO_LARGE', sentence('values.too_long_when_expanded', { placeholder }))
const tooMany = () => sentence('values.too_many_placeholders', { max: PLACEHOLDERS_MAX })

interface Placeholder {
  whole: string
  word: string
  format: string | undefined
  name: string | undefined
}

function valueOf(values: TextValues, { whole, word, format, name }: Placeholder): string {
  if (word === 'stats' && name !== undefined) return plain(values.stats?.[name])
  if (name !== undefined) return whole
  if (word === 'nominal') return formatMoment(values.nominalMs, values.zone, format)
  if (word === 'previous') return values.previousMs === null ? '' : formatMoment(values.previousMs, values.zone, format)
  if (word === 'now') return formatMoment(values.nowMs, values.zone, format)
  if (format !== undefined) return whole
  if (word === 'schedule') return values.schedule
  if (word === 'job') return values.job ?? ''
  if (word === 'outcome') return values.outcome ?? ''
  return whole
}

export function problemOfText(text: string, place: 'schedule' | 'chain' = 'schedule'): Sentence | null {
  if (!MAY_HAVE_PLACEHOLDER.test(text)) return null
  const known = [...MOMENTS, 'schedule', ...(place === 'chain' ? ['job', 'outcome'] : [])]
  let count = 0
  for (const [whole, word = '', format, name] of text.replace(LITERAL, '{ ').matchAll(PLACEHOLDER)) {
    count += 1
    if (count > PLACEHOLDERS_MAX) return tooMany()
    if (word === 'stats' && name !== undefined && place === 'chain') continue
    const isFine = name === undefined && known.includes(word) && (format === undefined || MOMENTS.includes(word))
    if (!isFine) {
      const names = [...known.map((one) => `{${one}}`), ...(place === 'chain' ? ['{stats.NAME}'] : [])]
      return sentence('values.placeholder_unknown', { placeholder: whole, known: names })
    }
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

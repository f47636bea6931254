import type { LogPlace } from '../../../shared/contract/index.ts'
import { type HeadFormat, parseRecordHead } from '../../../shared/log-record.ts'
import { FRAME_RAW_BYTES } from './archive/frames.ts'
import type { LogBytes, WantedBytes } from '../../runtime/byte-window.ts'
import { countNewlines } from './scan/count-newlines.ts'

const NEWLINE = 0x0a
const STEP_BYTES = 65_536
/** The maximum number of steps to the next record, which can follow a traceback or an item. */
const MAX_STEPS = 64

/** Parses `14:05`, `14:05:10` or `2026-11-02 14:05`, in the time zone of the log. Null: invalid. */
export function parseLogTime(text: string): { date: string | null; time: string } | null {
  const match = /^(?:(\d{4}-\d\d-\d\d)[ T])?(\d\d?):(\d\d)(?::(\d\d))?$/.exec(text.trim())
  if (match === null) return null
  const [, date, hours = '', minutes = '', seconds = '00'] = match
  return { date: date ?? null, time: `${hours.padStart(2, '0')}:${minutes}:${seconds}` }
}

/**
 * Returns the byte at which the first record at or after the wanted time starts. Bisects the log, because its records
 * are in order. A time without a date means its first occurrence. Null: no record of the log has a time.
 */
export async function findTime(
  read: (range: WantedBytes) => Promise<LogBytes | null>,
  wanted: { date: string | null; time: string },
  format?: HeadFormat
): Promise<number | null> {
  // In JSON, the head is the whole line.
  const headBytes = format?.kind === 'json' ? STEP_BYTES : 400
  const first = await recordFrom(0)
  if (first === null) return null
  const target = `${wanted.date ?? dateOf(first.at, wanted.time)} ${wanted.time}`
  if (first.at >= target) return first.offset
  let low = first.offset
  let high = (await read({ offset: 0, limitBytes: 1 }))?.sizeBytes ?? 0
  let found = high
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    const record = await recordFrom(middle)
    if (record === null || record.offset >= high) {
      high = middle
    } else if (record.at >= target) {
      found = record.offset
      high = middle
    } else {
      low = record.offset
    }
  }
  return found

  async function recordFrom(from: number): Promise<{ offset: number; at: string } | null> {
    let carried = Buffer.alloc(0)
    let offset = Math.max(0, from - 1)
    let isLineStart = from === 0
    for (let step = 0; step < MAX_STEPS; step += 1) {
      const range = await read({ offset: offset + carried.length, limitBytes: STEP_BYTES })
      if (range === null || range.bytes.length === 0) return null
      const bytes = Buffer.concat([carried, range.bytes])
      let lineAt = isLineStart ? 0 : bytes.indexOf(NEWLINE) + 1
      if (!isLineStart && lineAt === 0) {
        offset += bytes.length
        continue
      }
      isLineStart = true
      for (let end = bytes.indexOf(NEWLINE, lineAt); end >= 0; end = bytes.indexOf(NEWLINE, lineAt)) {
        const head = parseRecordHead(bytes.toString('utf8', lineAt, Math.min(end, lineAt + headBytes)), format)
        if (head !== null && head.time !== '') return { offset: offset + lineAt, at: `${head.date} ${head.time}` }
        lineAt = end + 1
      }
      // Keeps the unfinished line for the next step, unless the line is very long.
      carried = bytes.subarray(lineAt).length > STEP_BYTES ? Buffer.alloc(0) : Buffer.from(bytes.subarray(lineAt))
      isLineStart = carried.length > 0 || bytes.length === lineAt
      offset += bytes.length - carried.length
    }
    return null
  }
}

/** The day of the first record, or the next day if `time` is earlier than that record. */
function dateOf(first: string, time: string): string {
  const date = first.slice(0, 10)
  const dayMs = Date.parse(`${date}T00:00:00Z`)
  // A log can contain any date, even an invalid one.
  if (time >= first.slice(11) || Number.isNaN(dayMs)) return date
  return new Date(dayMs + 86_400_000).toISOString().slice(0, 10)
}

/**
 * Returns the line with this number or at this byte. By default and past the end, returns the last line. `before` has
 * the number of newlines before each multiple of FRAME_RAW_BYTES.
 */
export async function locateLine(
  read: (range: WantedBytes) => Promise<LogBytes | null>,
  { before, countedBytes: sizeBytes }: { before: readonly number[]; countedBytes: number },
  wanted: { line?: number | undefined; offset?: number | undefined }
): Promise<LogPlace> {
  const newlines = before.at(-1)!
  const blockOf = (at: number) => read({ offset: at, limitBytes: Math.min(FRAME_RAW_BYTES, sizeBytes - at) })
  const endsWithNewline = sizeBytes > 0 && (await read({ offset: sizeBytes - 1, limitBytes: 1 }))?.bytes[0] === NEWLINE
  const lines = newlines + (endsWithNewline || sizeBytes === 0 ? 0 : 1)
  const isLine = wanted.offset === undefined
  const line = isLine ? Math.min(wanted.line ?? lines, lines) : await lineAt(Math.min(wanted.offset!, sizeBytes - 1))
  return { line: Math.max(1, line), offset: await startOf(Math.max(1, line)), lines, sizeBytes }

  async function lineAt(offset: number): Promise<number> {
    if (offset < 0) return 1
    const block = Math.floor(offset / FRAME_RAW_BYTES)
    const range = await blockOf(block * FRAME_RAW_BYTES)
    const bytes = Buffer.from(range?.bytes ?? []).subarray(0, offset - block * FRAME_RAW_BYTES)
    return before[block]! + countNewlines(bytes, 0, bytes.length) + 1
  }

  async function startOf(number: number): Promise<number> {
    if (number <= 1) return 0
    let block = 0
    while (block + 2 < before.length && before[block + 1]! < number - 1) block += 1
    const at = block * FRAME_RAW_BYTES
    const bytes = Buffer.from((await blockOf(at))?.bytes ?? [])
    let place = -1
    for (let left = number - 1 - before[block]!; left > 0; left -= 1) {
      place = bytes.indexOf(NEWLINE, place + 1)
      if (place < 0) return sizeBytes
    }
    return at + place + 1
  }
}

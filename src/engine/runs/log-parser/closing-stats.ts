import { formatOf, looksLikeError, parseRecordHead, TRACEBACK_HEADING } from '../../../shared/log-record.ts'
import { parseJsonRecord } from '../../../shared/log-record/json-record.ts'

export type ScrapyStats = Record<string, string | number | boolean | null>

export interface ClosingCounts {
  pages: number | null
  items: number | null
  errors: number | null
}

export interface ClosingStats extends ClosingCounts {
  /** From the stats, otherwise from `Spider closed (…)`. */
  finishReason: string | null
  /**
   * Keys are as in Scrapy. Times are in ISO 8601 and UTC. Integers above 2^53 are strings of digits. Keys that are
   * not strings, and values that JSON lacks, are written as in Python.
   */
  stats: ScrapyStats | null
  /** The last error in the text, with the last line of its traceback. */
  killingLine: string | null
}

/** How much of a log's end is read: enough for the closing stats, even if a project adds hundreds. */
export const CLOSING_TAIL_BYTES = 131_072

export const STATS_HEADING = 'Dumping Scrapy stats:'
export const CLOSED = 'Spider closed ('

const MAX_TEXT = 1_000_000
const MAX_STATS = 1000
const MAX_KEY = 200
const MAX_VALUE = 500
const MAX_LINE = 300

/**
 * Reads the closing lines and the `Dumping Scrapy stats:` block (a pretty-printed Python dict). Never throws and
 * takes linear time. A spider writes its own log, so the result is only what the spider claims.
 */
export function parseClosingStats(tailText: string): ClosingStats {
  const text = tailText.slice(-MAX_TEXT)
  const stats = readStats(text)
  return {
    finishReason: textOf(stats?.finish_reason) ?? readReason(text),
    stats,
    ...countsOf(stats),
    get killingLine() {
      return killingLineOf(text, { isStopped: false })
    }
  }
}

/**
 * Scrapy omits counters that are zero. A missing count means 0 only if its extension was active. CoreStats is active if
 * the stats say when or why the spider closed, LogCount if they count at least one line. If CoreStats wrote only at the
 * close, the spider cleared its stats.
 */
export function countsOf(stats: ScrapyStats | null): ClosingCounts {
  const isCleared = stats?.finish_time !== undefined && stats.start_time === undefined
  const hasCoreStats = !isCleared && (stats?.start_time !== undefined || stats?.finish_reason !== undefined)
  const hasLogCount = Object.keys(stats ?? {}).some((key) => key.startsWith('log_count/'))
  const count = (key: string, isCounted: boolean) => {
    const value = stats?.[key]
    if (value === undefined) return isCounted ? 0 : null
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null
  }
  const errors = count('log_count/ERROR', hasLogCount)
  const criticals = count('log_count/CRITICAL', hasLogCount)
  return {
    pages: count('response_received_count', hasCoreStats),
    items: count('item_scraped_count', hasCoreStats),
    errors: errors === null || criticals === null ? null : errors + criticals
  }
}

const COUNTED =
  /^(?:(?:start|finish)_time|finish_reason|elapsed_time_seconds|item_(?:scraped|dropped)_count|response_received_count|log_count\/(?:DEBUG|INFO|WARNING|ERROR|CRITICAL))$/
const OF_SCRAPY =
  /^(?:downloader|scheduler|dupefilter|retry|robotstxt|httperror|offsite|httpcache|spider_exceptions|memusage|feedexport|item_dropped_reasons_count|request_depth_)/

/** Which stats to keep first. 0: counted keys, 1: Scrapy's other keys, 2: the project's keys. */
export const rankOf = (key: string): 0 | 1 | 2 => (COUNTED.test(key) ? 0 : OF_SCRAPY.test(key) ? 1 : 2)

function readStats(text: string): ScrapyStats | null {
  const at = text.lastIndexOf(STATS_HEADING)
  if (at < 0) return null
  const start = skipSpace(text, at + STATS_HEADING.length)
  if (text[start] === '{') return readDict(text, start + 1)
  return text[start] === '\\' ? readStats(unescapeJson(text, start)) : null
}

/**
 * Unescapes the JSON string at `start`, which is the dict, and adds the heading. Returns an empty string if the string
 * is not terminated.
 */
function unescapeJson(text: string, start: number): string {
  let end = start
  while (end < text.length && text[end] !== '"' && text[end] !== '\n') end += text[end] === '\\' ? 2 : 1
  if (text[end] !== '"') return ''
  try {
    return `${STATS_HEADING}${JSON.parse(`"${text.slice(start, end)}"`)}\n${CLOSED}`
  } catch {
    // JSON does not have this escape, so the text is not JSON.
    return ''
  }
}

/** pprint starts each entry on its own line with one space. Continuation lines of a value are indented further. */
const ENTRY = /\n (?=\S)/g

/**
 * Reads `'key': value, …}`. Skips an entry that it cannot read, because a project can store any object. Returns null
 * for an incomplete dict: the process was killed while writing.
 */
function readDict(text: string, start: number): ScrapyStats | null {
  const entries: [string, ScrapyStats[string]][] = []
  const room = [Number.POSITIVE_INFINITY, MAX_STATS, MAX_STATS] as [number, number, number]
  let at = skipSpace(text, start)
  let next = start
  while (!isEndOfDict(text, at)) {
    if (next <= at) {
      ENTRY.lastIndex = at
      next = ENTRY.exec(text)?.index ?? text.length
    }
    const entry = readEntry(text, at, next)
    if (entry === null) {
      // The last entry is complete only if another record follows.
      if (next === text.length) return text.includes(CLOSED, at) ? Object.fromEntries(entries) : null
      at = skipSpace(text, next)
      continue
    }
    const { key, value } = entry
    if (room[rankOf(key)]-- > 0) entries.push([key.slice(0, MAX_KEY), value])
    at = text[entry.end] === ',' ? skipSpace(text, entry.end + 1) : entry.end
  }
  // Object.fromEntries, because a stat can be called __proto__.
  return Object.fromEntries(entries)
}

function isEndOfDict(text: string, at: number): boolean {
  return text[at] === '}' && '\r\n'.includes(text[at + 1] ?? '\n')
}

function readEntry(text: string, start: number, limit: number) {
  const literal = readString(text, start)
  const keyEnd = literal?.end ?? endOfExpression(text, start, limit, ':')
  if (keyEnd === null) return null
  const colon = skipSpace(text, keyEnd)
  if (text[colon] !== ':') return null
  const read = readValue(text, skipSpace(text, colon + 1), limit)
  if (read === null) return null
  const end = skipSpace(text, read.end)
  if (text[end] !== ',' && !isEndOfDict(text, end)) return null
  return { key: literal?.value ?? text.slice(start, keyEnd).trim(), value: read.value, end }
}

interface Read<T> {
  value: T
  end: number
}

function readValue(text: string, start: number, limit: number): Read<ScrapyStats[string]> | null {
  const string = readString(text, start)
  if (string !== null) {
    // pprint splits long text into several literals, one per line.
    const parts = [string.value]
    let end = string.end
    for (;;) {
      const next = readString(text, skipSpace(text, end))
      if (next === null) return { value: parts.join('').slice(0, MAX_VALUE), end }
      parts.push(next.value.slice(0, MAX_VALUE))
      end = next.end
    }
  }
  const end = endOfExpression(text, start, limit, ',')
  if (end === null) return null
  const source = text.slice(start, Math.min(end, start + MAX_VALUE)).trim()
  if (/^-?\d+(?:\.\d*)?(?:e[+-]?\d+)?$/i.test(source)) {
    const value = Number(source)
    // A large integer stays text, because JavaScript would round it.
    const isKept = Number.isFinite(value) && (!/^-?\d+$/.test(source) || Number.isSafeInteger(value))
    return { value: isKept ? value : source, end }
  }
  if (/^(?:None|True|False)$/.test(source)) return { value: source === 'None' ? null : source === 'True', end }
  return { value: readDateTime(source) ?? source, end }
}

function readString(text: string, start: number): Read<string> | null {
  const quote = text[start]
  if (quote !== "'" && quote !== '"') return null
  const parts: string[] = []
  let at = start + 1
  let plainFrom = at
  for (;;) {
    const character = text[at]
    if (character === undefined || character === '\n') return null
    if (character === quote) {
      parts.push(text.slice(plainFrom, at))
      return { value: parts.join(''), end: at + 1 }
    }
    if (character !== '\\') {
      at++
      continue
    }
    parts.push(text.slice(plainFrom, at))
    const escape = readEscape(text, at + 1)
    parts.push(escape.value)
    at = escape.end
    plainFrom = at
  }
}

const ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t', '\\': '\\', "'": "'", '"': '"' }
const HEX_LENGTHS: Record<string, number> = { x: 2, u: 4, U: 8 }

function readEscape(text: string, at: number): Read<string> {
  const character = text[at] ?? ''
  const length = HEX_LENGTHS[character]
  if (length !== undefined) {
    const digits = text.slice(at + 1, at + 1 + length)
    const code = /^[0-9a-f]+$/i.test(digits) && digits.length === length ? Number.parseInt(digits, 16) : 0x110000
    if (code <= 0x10ffff) return { value: String.fromCodePoint(code), end: at + 1 + length }
  }
  return { value: ESCAPES[character] ?? `\\${character}`, end: at + character.length }
}

/** The end of any other Python expression before `limit`: the next `stop` or `}` outside brackets and strings. */
function endOfExpression(text: string, start: number, limit: number, stop: ',' | ':'): number | null {
  let depth = 0
  let at = start
  while (at < limit) {
    const character = text[at] as string
    if (character === "'" || character === '"') {
      const string = readString(text, at)
      if (string === null) return null
      at = string.end
      continue
    }
    if (depth === 0 && (character === stop || character === '}')) return at > start ? at : null
    if (character === '(' || character === '[' || character === '{') depth++
    if (character === ')' || character === ']' || character === '}') depth--
    at++
  }
  return null
}

/** Reads `datetime.datetime(2026, 11, 21, 1, 2, …)`. Scrapy's times are UTC, with or without a time zone. */
function readDateTime(source: string): string | null {
  const match = /^datetime\.datetime\(([\d, \n]{5,80}?)(?:tzinfo=datetime\.timezone\.utc)?\)$/.exec(source)
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0, microsecond = 0] =
    match?.[1]?.split(',').map(Number) ?? []
  const time = new Date(Date.UTC(year, month - 1, day, hour, minute, second, Math.floor(microsecond / 1000)))
  return Number.isNaN(time.getTime()) || year < 1000 || year > 9999 ? null : time.toISOString()
}

function skipSpace(text: string, start: number): number {
  let at = start
  while (at < text.length && ' \n\r\t'.includes(text[at] as string)) at++
  return at
}

/** `Closing spider (…)` does not count, because the spider may not have finished closing. */
function readReason(text: string): string | null {
  const at = text.lastIndexOf(CLOSED)
  if (at < 0) return null
  const start = at + CLOSED.length
  const end = text.indexOf(')', start)
  const reason = end < 0 ? '' : text.slice(start, Math.min(end, start + MAX_VALUE))
  return reason === '' || reason.includes('\n') ? null : reason
}

/** Matches the exceptions that a signal raises in a spider, whatever the spider was doing. */
export const INTERRUPTION =
  /^(?:KeyboardInterrupt|(?:asyncio|twisted|concurrent)\.[\w.]+\.CancelledError|scrapy\.exceptions\.DownloadCancelledError)$/
const isInterruption = (exception: string | null) => INTERRUPTION.test(exception?.split(':', 1)[0] ?? '')

/**
 * The last ERROR or CRITICAL line, without its time and logger, and the exception at the end of its traceback.
 * `isStopped`: we stopped the run, so an interruption is not its error.
 */
export function killingLineOf(log: string, { isStopped }: { isStopped: boolean }): string | null {
  const text = log.slice(-MAX_TEXT)
  const format = formatOf(text)
  if (format.kind === 'json') return readJsonKillingLine(text, isStopped)
  let exception: string | null = null
  let tracebacksToRead = 20
  let blockEnd = text.length
  let end = text.length
  while (end >= 0) {
    const start = end === 0 ? 0 : text.lastIndexOf('\n', end - 1) + 1
    const line = text.slice(start, Math.min(end, start + MAX_LINE)).trimEnd()
    if (exception === null && tracebacksToRead > 0 && line.includes(TRACEBACK_HEADING)) {
      tracebacksToRead--
      exception = lastLineOfTraceback(text.slice(end, blockEnd))
    }
    const head = line === '' ? null : parseRecordHead(line, format)
    const isOurs = isStopped && isInterruption(exception)
    if (head !== null) {
      const isError = head.level === 'ERROR' || head.level === 'CRITICAL'
      if (isError && !isOurs) return joined(line.slice(head.messageAt), exception)
      blockEnd = start
      if (exception !== null && !isOurs) return exception
      exception = null
    } else if (line !== '' && looksLikeError(line) && !isOurs) {
      return joined(line, exception)
    }
    if (start === 0) break
    end = start - 1
  }
  return isStopped && isInterruption(exception) ? null : exception
}

/** JSON lines contain their tracebacks. What Python itself printed at the end of a run is not JSON. */
function readJsonKillingLine(text: string, isStopped: boolean): string | null {
  for (let end = text.length; end >= 0; ) {
    const start = end === 0 ? 0 : text.lastIndexOf('\n', end - 1) + 1
    const record = parseJsonRecord(text.slice(start, end).trimEnd())
    const exception = typeof record?.trouble === 'string' ? lastLineOfTraceback(record.trouble) : null
    if (record !== null && record.level >= 3 && !(isStopped && isInterruption(exception)))
      return joined((record.message.split('\n', 1)[0] as string).slice(0, MAX_LINE), exception)
    end = start - 1
  }
  return null
}

function lastLineOfTraceback(after: string): string | null {
  const limit = 20_000
  const line = after
    .slice(0, limit)
    .split('\n')
    .filter((each) => each !== '' && !/^\s/.test(each))
    .at(-1)
  return line?.slice(0, MAX_LINE).trimEnd() ?? null
}

function joined(line: string, exception: string | null): string | null {
  const message = line.trim()
  if (exception === null || message.includes(exception)) return message || null
  return message === '' ? exception : `${message}: ${exception}`
}

function textOf(value: ScrapyStats[string] | undefined): string | null {
  return value == null ? null : String(value)
}

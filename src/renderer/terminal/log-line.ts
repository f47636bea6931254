import { parseRecordHead, type RecordHead, type RecordLevel } from '../../shared/log-record.ts'
import { sanitiseLine, withoutColours } from './sanitise.ts'

export type LogLevel = Exclude<RecordLevel, 'CRITICAL'>
export const LOG_LEVELS: readonly LogLevel[] = ['DEBUG', 'INFO', 'WARNING', 'ERROR']

/** One line of a log, safe to show. A line without its own time and level belongs to the one above (`continues`). */
export interface LogLine {
  /** Sanitised, but with the spider's colours. */
  readonly text: string
  readonly level: LogLevel
  readonly continues: boolean
}

/** Longer lines are cut: a spider that prints a whole page must not freeze the window. */
export const MAX_LINE_CHARS = 16_384

/** Parses one line; CRITICAL counts as ERROR. `above`: the level of the previous line, which tracebacks inherit. */
export function parseLogLine(raw: string, above: LogLevel): LogLine {
  const cut =
    raw.length > MAX_LINE_CHARS
      ? `${raw.slice(0, MAX_LINE_CHARS)} … ${(raw.length - MAX_LINE_CHARS).toLocaleString('en')} more characters`
      : raw
  const text = sanitiseLine(cut)
  const head = parseRecordHead(text)
  if (head === null) return { text, level: above, continues: true }
  return { text, level: head.level === 'CRITICAL' ? 'ERROR' : head.level, continues: false }
}

/** The line as the terminal shows it, in columns and colours. A narrow terminal omits the logger. */
export function paintLogLine(line: LogLine, isNarrow = false): string {
  if (line.continues) return paintContinuation(line, isNarrow)
  const { time, logger, level, messageAt } = parseRecordHead(line.text) as RecordHead
  const message = line.text.slice(messageAt)
  const from = isNarrow ? '' : `${FAINT}[${logger}]${RESET} `
  const said = line.level === 'ERROR' ? `${BRIGHT}${message}${RESET}` : message
  return `${FAINT}${time}${RESET} ${LEVEL_COLOUR[line.level]}${level.padEnd(8)}${RESET}${isNarrow ? '' : ' '}${from}${said}`
}

/** The line as plain text, as in the file, without control sequences. */
export function plainLogLine(line: LogLine): string {
  return withoutColours(line.text)
}

const RESET = '\u001b[0m'
// Colours of the terminal's theme. Short codes, because rewriting 50,000 lines parses several hundred thousand of them.
const FAINT = '\u001b[90m'
const BRIGHT = '\u001b[97m'
const RED = '\u001b[31m'
const LEVEL_COLOUR: Record<LogLevel, string> = {
  DEBUG: '',
  INFO: '\u001b[34m',
  WARNING: '\u001b[33m',
  ERROR: RED
}

/** Traceback lines are indented to the message; the one that names the exception is red. */
function paintContinuation(line: LogLine, isNarrow: boolean): string {
  const isException = line.level === 'ERROR' && /^[\w.]*(?:Error|Exception|Warning|Exit|Interrupt)\b/.test(line.text)
  return `${isNarrow ? '  ' : CONTINUATION_INDENT}${isException ? `${RED}${line.text}${RESET}` : line.text}`
}

const CONTINUATION_INDENT = ' '.repeat(18)

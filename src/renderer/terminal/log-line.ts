import { texts } from '../../shared/texts/ui/terminal.ts'
import { type HeadFormat, parseRecordHead, type RecordHead, type RecordLevel } from '../../shared/log-record.ts'
import { plainText, sanitiseLine } from './sanitise.ts'
import { joinStyled, parseColours, type StyledText } from './styled-text.ts'

export type LogLevel = Exclude<RecordLevel, 'CRITICAL'>
export const LOG_LEVELS: readonly LogLevel[] = ['DEBUG', 'INFO', 'WARNING', 'ERROR']

/** One line of a log as the spider wrote it. A line without a time and level belongs to the record above. */
export interface LogLine {
  /** Unsafe to show: see styleLine. */
  readonly raw: string
  readonly level: LogLevel
  readonly continues: boolean
  readonly offset: number
}

/**
 * The maximum length of a line. Longer lines are cut, because a spider that prints a whole page must not freeze the
 * window.
 */
export const MAX_LINE_CHARS = 16_384

/** Parses a line; CRITICAL counts as ERROR. `above`: the previous line's level, which tracebacks inherit. */
export function readLine(raw: string, offset: number, above: LogLevel, format?: HeadFormat): LogLine {
  const head = readHead(raw, format)
  if (head === null) return { raw, level: above, continues: true, offset }
  return { raw, level: head.level === 'CRITICAL' ? 'ERROR' : head.level, continues: false, offset }
}

/** null: the line belongs to the record above. */
export function readHead(raw: string, format?: HeadFormat): RecordHead | null {
  if (format?.kind === 'json' && raw.startsWith('{')) return parseRecordHead(raw.slice(0, MAX_JSON_CHARS), format)
  const isPattern = format?.kind === 'pattern'
  return isPattern || mayBeHead(raw) ? parseRecordHead(plainText(raw.slice(0, MAX_HEAD_CHARS)), format) : null
}

const MAX_HEAD_CHARS = 600
const MAX_JSON_CHARS = 131_072

/** Whether the line can start a record. Excludes most lines by their first character, without a regular expression. */
function mayBeHead(raw: string): boolean {
  const first = raw.charCodeAt(0)
  return (first >= 0x30 && first <= 0x39) || first === 0x1b
}

export interface LineLook {
  /** Whether the terminal is too narrow to show the logger. */
  isNarrow: boolean
  showsTimes: boolean
}

/** The line as the terminal shows it, in columns and colors, without control sequences. */
export function styleLine({ raw, level, continues }: LogLine, { isNarrow, showsTimes }: LineLook): StyledText {
  const styled = parseColours(sanitiseLine(cut(raw)).replaceAll('\t', '    '))
  if (continues) return styleContinuation(styled, level, { isNarrow, showsTimes })
  const head = parseRecordHead(styled.text)
  // A custom format is shown unchanged.
  if (head === null) return styled.runs.length === 0 ? joinStyled([{ ...styled, codes: LEVEL_COLOUR[level] }]) : styled
  const { time, logger, messageAt } = head
  const message = {
    text: styled.text.slice(messageAt),
    runs: styled.runs.flatMap((run) =>
      run.to <= messageAt ? [] : [{ ...run, from: Math.max(0, run.from - messageAt), to: run.to - messageAt }]
    )
  }
  return joinStyled([
    { text: showsTimes ? `${time} ` : '', codes: FAINT },
    { text: level.padEnd(8), codes: LEVEL_COLOUR[level] },
    { text: isNarrow ? '' : ` [${logger}] `, codes: FAINT },
    level === 'ERROR' && message.runs.length === 0 ? { text: message.text, codes: BRIGHT } : message
  ])
}

export const plainLine = ({ raw }: LogLine): string => plainText(cut(raw))

function cut(raw: string): string {
  if (raw.length <= MAX_LINE_CHARS) return raw
  return `${raw.slice(0, MAX_LINE_CHARS)} … ${texts.moreCharacters(raw.length - MAX_LINE_CHARS)}`
}

const FAINT = '90'
const BRIGHT = '97'
const RED = '31'
const LEVEL_COLOUR: Record<LogLevel, string> = { DEBUG: '', INFO: '34', WARNING: '33', ERROR: RED }

/** Indents traceback lines to the message, and colors the line with the exception red. */
function styleContinuation(styled: StyledText, level: LogLevel, { isNarrow, showsTimes }: LineLook): StyledText {
  const isException = level === 'ERROR' && /^[\w.]*(?:Error|Exception|Warning|Exit|Interrupt)\b/.test(styled.text)
  const indent = { text: ' '.repeat(indentOf({ isNarrow, showsTimes })), codes: '' }
  return joinStyled([indent, isException ? { text: styled.text, codes: RED } : styled])
}

/** The indent of traceback lines and of continuation rows of wrapped lines. */
export const indentOf = ({ isNarrow, showsTimes }: LineLook): number => (isNarrow ? 2 : showsTimes ? 18 : 9)

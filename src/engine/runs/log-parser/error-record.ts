import { TRACEBACK_HEADING } from '../../../shared/log-record.ts'
import type { StructuredException } from '../../../shared/log-record/json-record.ts'
import { isProjectFile } from './frame-files.ts'
import { cutText } from './log-text.ts'

/** An ERROR or CRITICAL record with its traceback, or a traceback that ended the run and has no record. */
export interface LoggedError {
  /** Position of the error's first line: the byte offset, and the line number (from 1). */
  offset: number
  line: number
  /** In the log's time (see LogFigures). Null: the format has no time. */
  atMs: number | null
  level: 'ERROR' | 'CRITICAL'
  /** Empty if unknown. */
  logger: string
  /** Without the traceback. Can have several lines. */
  message: string
  /** In text order. If the log says `During handling of …`, the exception raised last is last. */
  exceptions: LoggedException[]
}

export interface LoggedException {
  /** With its module, as Python prints it: `twisted.internet.error.TimeoutError`. */
  type: string
  value: string
  /** In text order, the innermost last. */
  frames: LoggedFrame[]
  /** Nesting depth in exception groups. 0: not in a group. */
  depth: number
}

export interface LoggedFrame {
  file: string
  name: string
}

export interface ErrorDraft {
  error: LoggedError
  /** `message`: no traceback yet. `frames`: inside a traceback. `value`: after the line that names the exception. */
  reading: 'message' | 'frames' | 'value' | 'nothing'
  inGroup: boolean
  isContinued: boolean
}

/** These limits bound an error to about 8 kB, because many errors can wait to be taken. */
export const MAX_ERROR_LINE = 1000
const MAX_MESSAGE = 1000
const MAX_VALUE = 500
const MAX_FILE = 160
const MAX_NAME = 80
const MAX_TYPE = 120
const MAX_FRAMES = 12
const MAX_EXCEPTIONS = 4
const MAX_DEPTH = 9

export function startError(error: Omit<LoggedError, 'message' | 'exceptions'>, message: string): ErrorDraft {
  const draft: ErrorDraft = {
    error: { ...error, message: '', exceptions: [] },
    reading: 'message',
    inGroup: false,
    isContinued: false
  }
  readErrorLine(draft, message)
  return draft
}

const CHAINED = [
  'During handling of the above exception, another exception occurred:',
  'The above exception was the direct cause of the following exception:'
]
const GROUP_HEADING = `Exception Group ${TRACEBACK_HEADING}`

/** Reads the next line of the record, up to MAX_ERROR_LINE characters. The first line is the message. */
export function readErrorLine(draft: ErrorDraft, whole: string): void {
  const { line, depth, isBorder } = draft.inGroup ? withoutMargin(whole) : { line: whole, depth: 0, isBorder: false }
  if (isBorder) {
    // `+---- 2 ----` starts the next exception of the group, which can lack a traceback. A border without a number ends
    // the group.
    draft.reading = /\d/.test(line) ? 'frames' : 'nothing'
    if (draft.reading === 'frames') addException(draft, depth)
    return
  }
  const trimmed = line.trimStart()
  if (trimmed.endsWith(TRACEBACK_HEADING) && (draft.reading === 'message' || isHeading(trimmed))) {
    // As in `failed: Traceback (…):`.
    if (!isHeading(trimmed)) readMessageLine(draft, trimmed.slice(0, -TRACEBACK_HEADING.length).trimEnd())
    if (isGroupHeading(trimmed)) draft.inGroup = true
    draft.reading = 'frames'
    const last = draft.error.exceptions.at(-1)
    // The line is the heading of a group member, for which the border has already added an exception.
    if (last === undefined || last.type !== '' || last.frames.length > 0 || depth < last.depth)
      addException(draft, depth)
    return
  }
  if (draft.reading === 'message') return readMessageLine(draft, line)
  const exception = draft.error.exceptions.at(-1) as LoggedException
  if (CHAINED.includes(trimmed)) {
    draft.reading = 'frames'
    return
  }
  if (draft.reading === 'nothing') return
  if (draft.reading === 'value') {
    if (trimmed !== '') exception.value = cutText(`${exception.value}\n${line}`, MAX_VALUE)
    return
  }
  const frame = FRAME.exec(trimmed)
  if (frame !== null) {
    addFrame(exception, frame[1] as string, frame[2] ?? '<module>')
  } else if (line !== '' && trimmed === line && !line.startsWith('--- <exception caught')) {
    nameException(exception, line)
    draft.reading = 'value'
  }
}

const FRAME = /^File "([^"\n]{1,600})", line \d{1,9}(?:, in (.{1,300}))?$/

function isHeading(trimmed: string): boolean {
  return trimmed.startsWith(TRACEBACK_HEADING) || isGroupHeading(trimmed)
}

function isGroupHeading(trimmed: string): boolean {
  return trimmed.startsWith('+ ') ? trimmed.startsWith(GROUP_HEADING, 2) : trimmed.startsWith(GROUP_HEADING)
}

/** Each level of an exception group indents by two spaces and a bar: `    | ValueError: 1`. */
function withoutMargin(whole: string): { line: string; depth: number; isBorder: boolean } {
  const margin = /^( {2,40})(?:\| ?|\+ |\+(-\+)?-+)/.exec(whole)
  if (margin === null) return { line: whole, depth: 0, isBorder: false }
  const depth = Math.min(MAX_DEPTH, (margin[1] as string).length / 2 + (margin[2] === undefined ? 0 : 1))
  return { line: whole.slice(margin[0].length), depth, isBorder: margin[0].endsWith('-') }
}

function readMessageLine({ error }: ErrorDraft, line: string): void {
  const failure = FAILURE.exec(line)
  if (failure !== null) {
    error.exceptions.push({
      type: cutText(failure[1] as string, MAX_TYPE),
      value: cutText(failure[2] ?? '', MAX_VALUE),
      frames: [],
      depth: 0
    })
  }
  const brief = BRIEF_FRAME.exec(line)
  const last = error.exceptions.at(-1)
  if (brief !== null && last !== undefined) addFrame(last, brief[1] as string, brief[2] as string)
  else if (error.message === '') error.message = cutText(line, MAX_MESSAGE)
  else if (line !== '') error.message = cutText(`${error.message}\n${line}`, MAX_MESSAGE)
}

/** How Twisted prints a failure inside a message, and one of its frames. */
const FAILURE =
  /(?:\bTraceback[^:\n]{0,40}: <class '|<twisted\.python\.failure\.Failure )([\w.]{1,200})(?:'>)?(?:: (.{0,1000}?))?(?:>\]?|\]|$)/
const BRIEF_FRAME = /^([^\s:][^:\n]{0,300}\.py):\d{1,9}:([\w<>]{1,100})$/

/** Call this when a second record of the same error follows. The second record has no message. */
export function continueError(draft: ErrorDraft): void {
  draft.isContinued = true
  draft.reading = draft.error.exceptions.length > 0 ? 'nothing' : 'frames'
  // If the first record has no traceback, the first line of the second record names the exception.
  if (draft.reading === 'frames') addException(draft, 0)
}

export function addStructured({ error }: ErrorDraft, exceptions: StructuredException[]): void {
  // structlog lists the last exception first.
  for (const { type, value, frames } of exceptions.toReversed()) {
    const exception: LoggedException = {
      type: cutText(type, MAX_TYPE),
      value: cutText(value, MAX_VALUE),
      frames: [],
      depth: 0
    }
    for (const { file, name } of frames) addFrame(exception, file, name)
    pushException(error, exception)
  }
}

function addException({ error }: ErrorDraft, depth: number): void {
  pushException(error, { type: '', value: '', frames: [], depth })
}

/** Keeps the first and the last exceptions of a chain, and the first exceptions of a group. */
function pushException(error: LoggedError, exception: LoggedException): void {
  error.exceptions.push(exception)
  if (error.exceptions.length > MAX_EXCEPTIONS) error.exceptions.splice(exception.depth === 0 ? 1 : -2, 1)
}

/** Drops project frames last, because they distinguish errors. */
function addFrame({ frames }: LoggedException, file: string, name: string): void {
  frames.push({ file: file.length > MAX_FILE ? `…${file.slice(1 - MAX_FILE)}` : file, name: cutText(name, MAX_NAME) })
  if (frames.length <= MAX_FRAMES) return
  const other = frames.findIndex((frame) => !isProjectFile(frame.file))
  frames.splice(other < 0 ? 1 : other, 1)
}

/** As in `ValueError: text` or, from Twisted, `Failure: twisted…Error: text`. */
function nameException(exception: LoggedException, line: string): void {
  const named = /^(?:Failure: )?([\w.<>]{1,200})(?:: ?(.*))?$/.exec(line)
  exception.type = cutText(named?.[1] ?? '', MAX_TYPE)
  exception.value = cutText(named === null ? line : (named[2] ?? ''), MAX_VALUE)
}

/**
 * The exception that was raised last. A group only shows that something in it failed, so its first member that is
 * not a group represents it.
 */
export function mainException({ exceptions }: Pick<LoggedError, 'exceptions'>): LoggedException | null {
  const last = exceptions.findLastIndex((each) => each.depth === 0 && each.type !== '')
  const raised = exceptions[last]
  if (raised === undefined) return exceptions.find((each) => each.type !== '') ?? null
  const member = isGroup(raised) && exceptions.slice(last + 1).find((each) => !isGroup(each) && each.type !== '')
  return member || raised
}

function isGroup({ type }: LoggedException): boolean {
  return type.endsWith('ExceptionGroup')
}

import {
  type HeadFormat,
  JSON_FORMAT,
  learnHeadFormat,
  MAX_HEAD,
  SCRAPY_FORMAT
} from '../../../shared/log-record/head-format.ts'
import { type HeadSpans, scanScrapyHead } from '../../../shared/log-record/head-spans.ts'
import { type JsonRecord, parseJsonRecord } from '../../../shared/log-record/json-record.ts'
import { createPatternReader, type PatternReader, scanPatternHead } from '../../../shared/log-record/pattern-head.ts'
import { hasDate, type DayOrder } from '../../../shared/log-record/time-text.ts'
import { guessHeadFormat } from '../../../shared/log-record/usual-formats.ts'
import { withoutColours } from '../../../shared/log-record/without-colours.ts'
import { decodeRead, encodeAsRead } from './log-text.ts'

interface LearnedHeads {
  format: HeadFormat | null
  order: DayOrder
  /**
   * The number of further lines from which a format can be learned. Scrapy's known messages are at the start of a log.
   */
  linesToLearnFrom: number
}

/** The head of a line: in the original text, or in a copy of the line without color codes. */
export type FoundHead =
  | { kind: 'none' }
  | { kind: 'plain'; text: string; at: number; to: number }
  | { kind: 'json'; record: JsonRecord }

const NONE: FoundHead = { kind: 'none' }

export interface HeadLearner {
  /** Call this only for lines not in Scrapy's default format. `mayHaveColours`: the text has an escape character. */
  find(text: string, from: number, to: number, mayHaveColours: boolean, spans: HeadSpans): FoundHead
  /** Call this when a line is in the default format. */
  sawScrapyFormat(): void
  /** Reads `'LOG_DATEFORMAT': '%d/%m/%Y'` in the settings that Scrapy logs, to distinguish days from months. */
  readDateFormat(text: string, from: number, to: number): void
  readonly format: HeadFormat | null
  readonly hasDate: boolean
}

/** Finds heads in formats learned from the log itself. The text must be decoded by log-text.ts. */
export function createHeadLearner(): HeadLearner {
  const learned: LearnedHeads = { format: null, order: 'day-first', linesToLearnFrom: 500 }
  let reader: PatternReader | null = null
  let isDated = true

  function use(format: HeadFormat | null): void {
    learned.format = format
    reader = format?.kind === 'pattern' ? createPatternReader(format, encodeAsRead) : null
    isDated = format?.kind !== 'pattern' || format.parts.every((part) => part.part !== 'time' || hasDate(part.style))
  }

  function sawScrapyFormat(): void {
    // Scrapy uses its own format until the settings of a spider are loaded.
    if (learned.format === null) use(SCRAPY_FORMAT)
  }

  function find(text: string, from: number, to: number, mayHaveColours: boolean, spans: HeadSpans): FoundHead {
    const code = text.charCodeAt(from)
    // 123 is an opening brace. Items also start with one but have no level.
    if (code === 123 && (learned.format?.kind === 'json' || learned.linesToLearnFrom > 0)) {
      const record = readJson(text, from, to)
      if (record !== null) return { kind: 'json', record }
    }
    if (mayHaveColours) {
      const escapeAt = text.slice(from, Math.min(to, from + MAX_HEAD)).indexOf('\u001b')
      if (escapeAt >= 0) {
        const plain = withoutColours(text.slice(from, to)).text
        const isScrapys = scanScrapyHead(plain, 0, plain.length, spans)
        if (isScrapys) sawScrapyFormat()
        return isScrapys || scanOrLearn(plain, 0, plain.length, spans)
          ? { kind: 'plain', text: plain, at: 0, to: plain.length }
          : NONE
      }
    }
    return scanOrLearn(text, from, to, spans) ? { kind: 'plain', text, at: from, to } : NONE
  }

  function readJson(text: string, from: number, to: number): JsonRecord | null {
    // 34 is a quote, 32 a space. A Python dict starts with an apostrophe.
    const next = text.charCodeAt(from + 1)
    if (next !== 34 && next !== 32) return null
    const record = parseJsonRecord(decodeRead(text, from, to, to - from))
    if (record !== null && learned.format?.kind !== 'json') use(JSON_FORMAT)
    return record
  }

  function scanOrLearn(text: string, from: number, to: number, spans: HeadSpans): boolean {
    if (reader !== null && scanPatternHead(text, from, to, reader, spans)) return true
    if (learned.linesToLearnFrom === 0 || to === from) return false
    learned.linesToLearnFrom--
    const line = decodeRead(text, from, to, MAX_HEAD)
    const format = learnHeadFormat(line, learned.order) ?? (learned.format === null ? guessHeadFormat(line) : null)
    if (format === null) return false
    const tried = createPatternReader(format, encodeAsRead)
    if (!scanPatternHead(text, from, to, tried, spans)) return false
    use(format)
    return true
  }

  return {
    find,
    sawScrapyFormat,
    readDateFormat(text, from, to) {
      const setting = /'LOG_DATEFORMAT': u?'([^'\n]{1,80})'/.exec(text.slice(from, Math.min(to, from + 20_000)))?.[1]
      if (setting === undefined) return
      const [day, month] = [setting.indexOf('%d'), setting.indexOf('%m')]
      learned.order = month >= 0 && month < day ? 'month-first' : 'day-first'
      const { format, order } = learned
      if (format?.kind !== 'pattern') return
      use({ kind: 'pattern', parts: format.parts.map((part) => (part.part === 'time' ? { ...part, order } : part)) })
    },
    get format() {
      return learned.format
    },
    get hasDate() {
      return isDated
    }
  }
}

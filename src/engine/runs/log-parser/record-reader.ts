import { TRACEBACK_HEADING } from '../../../shared/log-record.ts'
import type { HeadSpans } from '../../../shared/log-record/head-spans.ts'
import type { JsonRecord } from '../../../shared/log-record/json-record.ts'
import { boundedStats } from './closing-figures.ts'
import { CLOSED, parseClosingStats, rankOf } from './closing-stats.ts'
import {
  addStructured,
  continueError,
  type ErrorDraft,
  type LoggedError,
  mainException,
  MAX_ERROR_LINE,
  readErrorLine,
  startError
} from './error-record.ts'
import {
  errorsSoFar,
  itemsSoFar,
  NOTE_KINDS,
  pagesSoFar,
  type Tally,
  LATEST_KINDS,
  type LatestKind
} from './figures.ts'
import type { HeadLearner } from './head-learner.ts'
import { decodeRead, encodeAsRead, readable } from './log-text.ts'
import {
  type Continued,
  provesShownEnd,
  readExtensions,
  readMessage,
  readOverriddenSettings,
  readPythonVersion
} from './messages.ts'
import { advanceSeries, endOfPointMs, startSeries } from './series.ts'

export interface RecordReader {
  start(text: string, at: number, to: number, spans: HeadSpans, byteAt: number): void
  continue(text: string, at: number, to: number, byteAt: number): void
  readJson(record: JsonRecord, byteAt: number): void
  /** Decodes what must be kept of the strings passed so far, so that the strings can be released. */
  keepWhatIsRead(): void
  /** Call this when no more lines of the open record will follow. */
  close(): void
  /** Call this at the end of the log. A traceback there that belongs to no record is what ended the run. */
  end(): void
}

/** The maximum size of closing stats. Beyond it, only Scrapy's own lines are kept, up to the same size again. */
export const MAX_STATS = 262_144
const DAY_MS = 86_400_000
const UNHANDLED = 'Unhandled error in Deferred:'

/**
 * Reads and counts records, recognizes Scrapy's own messages, and collects the lines of items, errors and closing
 * stats. Decodes and copies only what is kept.
 */
export function createRecordReader({
  tally,
  heads,
  emit
}: {
  tally: Tally
  heads: HeadLearner
  emit(error: LoggedError): void
}): RecordReader {
  let kind: Continued | 'error' | 'uncaught' = 'nothing'
  let level = -1
  let draft: ErrorDraft | null = null
  let stats: string[] = []
  let statsLength = 0
  const kept = createKeptTexts(tally)
  let nextPointMs = Number.NEGATIVE_INFINITY

  function start(
    text: string,
    at: number,
    to: number,
    spans: HeadSpans,
    byteAt: number,
    jsonLogger: string | null = null
  ): void {
    const { messageAt } = spans
    if (kind !== 'nothing' && !isSecondHalf(text, to, spans)) close({ isFollowed: true })
    level = spans.level
    ;(tally.records[level] as number)++
    const atMs = Number.isNaN(spans.atMs) ? null : readTime(spans)
    if (!tally.showsEnd && level < 2 && provesShownEnd(text, messageAt, to)) {
      tally.showsEnd = /^(?:scrapy|$)/.test(jsonLogger ?? text.slice(spans.loggerFrom, spans.loggerTo))
    }
    if (level === 2) return startWarning(text, messageAt, to, at, atMs)
    if (level < 3) {
      kind = readMessage(tally, text, messageAt, to, at, atMs, kept.keep)
      if (kind !== 'nothing') startContinued(text, messageAt, to)
      return
    }
    readMessage(tally, text, messageAt, to, at, atMs, kept.keep)
    if (kind === 'error') return continueError(draft as ErrorDraft)
    kind = 'error'
    draft = startError(
      {
        offset: byteAt,
        line: tally.lines,
        atMs,
        level: level === 3 ? 'ERROR' : 'CRITICAL',
        logger: jsonLogger ?? readable(text, spans.loggerFrom, spans.loggerTo, 200)
      },
      readable(text, messageAt, to, MAX_ERROR_LINE)
    )
  }

  /** Twisted logs an unhandled error as two records: a title, then the traceback without a message. */
  function isSecondHalf(text: string, to: number, spans: HeadSpans): boolean {
    if (kind !== 'error' || spans.level !== 4 || draft === null || draft.isContinued) return false
    if (draft.error.message !== UNHANDLED) return false
    return text.slice(spans.messageAt, Math.min(to, spans.messageAt + 8)).trim() === ''
  }

  function startWarning(text: string, at: number, to: number, lineFrom: number, atMs: number | null): void {
    const before = sumOfNotes()
    kind = readMessage(tally, text, at, to, lineFrom, atMs, kept.keep)
    if (kind !== 'nothing') startContinued(text, at, to)
    if (sumOfNotes() !== before) return
    const isDeprecation = text.slice(at, Math.min(to, at + 2000)).includes('DeprecationWarning')
    tally.notes[isDeprecation ? 'deprecations' : 'otherWarnings']++
  }

  function sumOfNotes(): number {
    let sum = 0
    for (const each of NOTE_KINDS) sum += tally.notes[each]
    return sum
  }

  function startContinued(text: string, at: number, to: number): void {
    if (kind === 'item') {
      kept.startItem()
    } else if (kind === 'stats') {
      stats = [decodeRead(text, at, to, to - at)]
      statsLength = 0
    } else if (kind === 'settings') {
      readSettings(text, at, to)
    } else if (kind === 'extensions') {
      tally.hasCoreStats = false
      readExtensions(tally, text, at, to)
    }
  }

  function readSettings(text: string, at: number, to: number): void {
    heads.readDateFormat(text, at, to)
    readOverriddenSettings(tally, text, at, to)
  }

  function readTime(spans: HeadSpans): number {
    let atMs = spans.atMs
    // A clock without a date restarts at midnight.
    if (!heads.hasDate && atMs < DAY_MS && tally.lastAtMs !== null) {
      atMs += Math.floor(tally.lastAtMs / DAY_MS) * DAY_MS
      if (atMs < tally.lastAtMs - DAY_MS / 2) atMs += DAY_MS
    }
    tally.lastAtMs = atMs
    if (atMs < nextPointMs) return atMs
    if (tally.firstAtMs === null) tally.firstAtMs = atMs
    if (tally.zoneMinutes === null && !Number.isNaN(spans.zoneMinutes)) tally.zoneMinutes = spans.zoneMinutes
    tally.series ??= startSeries(atMs)
    const values = { pages: pagesSoFar(tally), items: itemsSoFar(tally), errors: errorsSoFar(tally) }
    advanceSeries(tally.series, atMs, values)
    nextPointMs = endOfPointMs(tally.series)
    return atMs
  }

  function continueRecord(text: string, at: number, to: number, byteAt: number): void {
    switch (kind) {
      case 'item':
        kept.addToItem(text, at, to)
        break
      case 'error':
      case 'uncaught':
        readErrorLine(draft as ErrorDraft, readable(text, at, to, MAX_ERROR_LINE))
        return
      case 'stats':
        if (statsLength + to - at > MAX_STATS && (statsLength > 2 * MAX_STATS || !isOfScrapy(text, at, to))) return
        statsLength += to - at + 1
        stats.push(decodeRead(text, at, to, to - at))
        return
      case 'versions':
        readPythonVersion(tally, text, at, to)
        break
      case 'settings':
        readSettings(text, at, to)
        break
      case 'extensions':
        readExtensions(tally, text, at, to)
        break
      case 'nothing':
        break
    }
    if (!startsTraceback(text, at)) return
    // Python prints a fatal exception without a record. A record with its own traceback looks the same.
    kept.decode()
    kind = 'uncaught'
    const place = { offset: byteAt, line: tally.lines, atMs: tally.lastAtMs, level: 'CRITICAL' as const, logger: '' }
    draft = startError(place, '')
    readErrorLine(draft, readable(text, at, to, MAX_ERROR_LINE))
  }

  /** `isFollowed`: another record follows, so the open one is complete. */
  function close({ isFollowed = false } = {}): void {
    if (kind === 'error') {
      closeError((draft as ErrorDraft).error)
    } else if (kind === 'stats') {
      const closing = parseClosingStats(stats.join('\n') + (isFollowed ? `\n${CLOSED}` : ''))
      if (closing.stats !== null) tally.stats = boundedStats(closing.stats)
      tally.finishReason = closing.finishReason ?? tally.finishReason
      stats = []
    } else if (kind === 'uncaught' && level < 0) {
      // Python itself printed the traceback, because no record precedes it.
      emit((draft as ErrorDraft).error)
    } else if (kind === 'item') {
      kept.decode()
    }
    kind = 'nothing'
    draft = null
  }

  function closeError(error: LoggedError): void {
    const isTimeout = /Timed?_?[Oo]ut/.test(mainException(error)?.type ?? '')
    if (isTimeout && error.message.startsWith('Error downloading <')) tally.failedTimeouts++
    emit(error)
  }

  function readJson({ message, logger, trouble, ...head }: JsonRecord, byteAt: number): void {
    kept.decode()
    const text = encodeAsRead(message)
    const spans = { ...head, timeFrom: 0, timeTo: 0, loggerFrom: 0, loggerTo: 0, messageAt: 0 }
    const end = text.indexOf('\n')
    start(text, 0, end < 0 ? text.length : end, spans, byteAt, logger)
    if (end >= 0) readTextLines(text, end + 1, byteAt)
    if (kind === 'error' && typeof trouble === 'string') readTextLines(encodeAsRead(trouble), 0, byteAt)
    else if (kind === 'error' && typeof trouble === 'object' && trouble !== null)
      addStructured(draft as ErrorDraft, trouble)
    kept.decode()
    // The second half of an error can follow as a separate record.
    if (kind !== 'error') close({ isFollowed: true })
  }

  function readTextLines(text: string, from: number, byteAt: number): void {
    for (let at = from; at < text.length; ) {
      const newlineAt = text.indexOf('\n', at)
      const end = newlineAt < 0 ? text.length : newlineAt
      continueRecord(text, at, end, byteAt)
      at = end + 1
    }
  }

  return {
    start,
    continue: continueRecord,
    readJson,
    keepWhatIsRead: kept.decode,
    close: () => close(),
    end() {
      // If the last record is a warning, the traceback may belong to it.
      if (kind === 'uncaught' && level >= 0 && level < 2) emit((draft as ErrorDraft).error)
      close()
      tally.isOver = true
    }
  }
}

/** Whether a line is one of Scrapy's own stats, as in ` 'finish_reason': 'finished',`. */
function isOfScrapy(text: string, at: number, to: number): boolean {
  const key = /^ ['"]([^'"\\]{1,200})['"]:/.exec(text.slice(at, Math.min(to, at + 210)))?.[1]
  return key !== undefined && rankOf(key) < 2
}

function startsTraceback(text: string, at: number): boolean {
  // 84 is a T, 32 a space.
  const code = text.charCodeAt(at)
  if (code === 84) return text.startsWith(TRACEBACK_HEADING, at)
  return code === 32 && text.startsWith('  + Exception Group Traceback', at)
}

const MAX_LATEST = 400
const MAX_ITEM = 1500
/** A UTF-8 character has at most four bytes. */
const MAX_ITEM_BYTES = 4 * MAX_ITEM

interface KeptTexts {
  keep(kind: LatestKind, text: string, from: number, to: number): void
  startItem(): void
  addToItem(text: string, from: number, to: number): void
  decode(): void
}

/** Only remembers positions for each line. Decodes and copies once per piece of the log. */
function createKeptTexts(tally: Tally): KeptTexts {
  let item = ''
  /** The item's part of the current text. `itemFrom` is -1 if there is none. */
  let itemText = ''
  let itemFrom = -1
  let itemTo = -1
  const places = LATEST_KINDS.map((kind) => ({ kind, text: '', from: 0, to: -1 }))
  const placeOf = Object.fromEntries(places.map((place) => [place.kind, place])) as Record<
    LatestKind,
    (typeof places)[0]
  >

  function decodeItem(): void {
    if (itemFrom < 0) return
    // Includes line ends, so that the result does not depend on where the log was split.
    const end = itemTo + (itemText.startsWith('\r\n', itemTo) ? 2 : itemText.startsWith('\n', itemTo) ? 1 : 0)
    item = (item + itemText.slice(itemFrom, Math.min(end, itemFrom + MAX_ITEM_BYTES))).slice(0, MAX_ITEM_BYTES)
    tally.latest.item = readable(item, 0, item.length - (item.endsWith('\n') ? 1 : 0), MAX_ITEM)
    itemFrom = -1
    itemText = ''
  }

  return {
    keep(kind, text, from, to) {
      const place = placeOf[kind]
      place.text = text
      place.from = from
      place.to = to
    },
    startItem() {
      item = ''
      itemFrom = -1
    },
    addToItem(text, from, to) {
      if (itemFrom < 0) {
        itemText = text
        itemFrom = from
      }
      itemTo = to
    },
    decode() {
      decodeItem()
      for (const place of places) {
        if (place.to < 0) continue
        tally.latest[place.kind] = readable(place.text, place.from, place.to, MAX_LATEST)
        place.text = ''
        place.to = -1
      }
    }
  }
}

import { itemsSoFar, type LatestKind, pagesSoFar, type Tally } from './figures.ts'
import { readable } from './log-text.ts'

export type Continued = 'nothing' | 'item' | 'stats' | 'versions' | 'settings' | 'extensions'

export type KeepLatest = (kind: LatestKind, text: string, from: number, to: number) => void

const MAX_STATUSES = 60
const MAX_FACT = 200

/**
 * Recognizes and counts one of Scrapy's own messages. The first character selects the few candidates, because most
 * lines of a log are checked here. Ignores logger names, because extensions replace parts of Scrapy, and some formats
 * omit the names.
 */
export function readMessage(
  tally: Tally,
  text: string,
  at: number,
  to: number,
  lineFrom: number,
  atMs: number | null,
  keepLatest: KeepLatest
): Continued {
  const notes = tally.notes
  switch (text.charCodeAt(at)) {
    case 67: // C
      if (text.startsWith('Crawled (', at)) {
        tally.newPages++
        tally.lastPageAtMs = atMs
        countStatus(tally, text, at + 9)
        keepLatest('crawl', text, lineFrom, to)
      } else if (text.startsWith('Crawled ', at)) {
        if (readLogStats(tally, atMs, text, at, to)) keepLatest('stat', text, lineFrom, to)
      } else if (text.startsWith('Closing spider (', at)) {
        tally.closingReason = reasonIn(text, at + 16, to)
      }
      return 'nothing'
    case 83: // S
      if (text.startsWith('Scraped from ', at)) {
        tally.newItems++
        tally.lastItemAtMs = atMs
        keepLatest('scrape', text, lineFrom, to)
        return 'item'
      }
      if (text.startsWith('Spider closed (', at)) tally.finishReason = reasonIn(text, at + 15, to)
      else if (text.startsWith('Scrapy ', at)) readStart(tally, readable(text, at, to, MAX_FACT))
      return 'nothing'
    case 82: // R
      if (text.startsWith('Retrying <', at)) {
        notes.retries++
        if (namesTimeout(text, at, to)) tally.retriedTimeouts++
      } else if (text.startsWith('Redirecting (', at)) {
        notes.redirects++
      } else if (text.startsWith('Received SIG', at)) {
        tally.shutdownReason =
          /^Received SIG(?:BREAK|INT|TERM)(?: twice)?(?=,)/.exec(text.slice(at, Math.min(to, at + 60)))?.[0] ??
          tally.shutdownReason
      } else if (text.startsWith('Resuming crawl', at)) {
        tally.resumedWith = readable(text, at, to, MAX_FACT)
      }
      return 'nothing'
    case 71: // G
      if (text.startsWith('Gave up retrying <', at)) {
        notes.gaveUpRetries++
        if (namesTimeout(text, at, to)) tally.retriedTimeouts++
      }
      return 'nothing'
    case 70: // F
      if (text.startsWith('Filtered duplicate request', at)) {
        notes.duplicates++
        keepLatest('duplicate', text, lineFrom, to)
      } else if (text.startsWith('Filtered offsite request', at)) {
        notes.offsite++
        keepLatest('offsite', text, lineFrom, to)
      } else if (text.startsWith('Forbidden by robots.txt', at)) {
        notes.robotsForbidden++
      }
      return 'nothing'
    case 73: // I
      if (text.startsWith('Ignoring response <', at)) notes.ignoredResponses++
      return 'nothing'
    case 68: // D
      if (text.startsWith('Dropped: ', at)) notes.droppedItems++
      return text.startsWith('Dumping Scrapy stats:', at) ? 'stats' : 'nothing'
    case 69: // E
      if (text.startsWith('Error downloading <', at)) notes.downloadErrors++
      return text.startsWith('Enabled extensions:', at) ? 'extensions' : 'nothing'
    case 84: // T
      if (text.startsWith('Telnet console listening on ', at)) {
        tally.telnetConsole = readable(text, at + 28, to, MAX_FACT)
      }
      return 'nothing'
    case 86: // V
      if (!text.startsWith('Versions:', at)) return 'nothing'
      readPythonVersion(tally, text, at, to)
      return 'versions'
    case 79: // O
      return text.startsWith('Overridden settings:', at) ? 'settings' : 'nothing'
    default:
      return 'nothing'
  }
}

/**
 * Whether Scrapy logs this message only after it has applied all settings and created the spider. Earlier messages
 * (`Scrapy … started`, `Overridden settings:`) do not reveal the log level of the run.
 */
export function provesShownEnd(text: string, at: number, to: number): boolean {
  const message = text.slice(at, Math.min(to, at + 40))
  return SHOWN_WITH_END.test(message)
}
// Short messages must match completely, because spiders from Scrapy's template log `Spider opened: NAME`.
const SHOWN_WITH_END =
  /^(?:Spider opened$|Crawled \(?\d|Scraped from |Closing spider \(|Spider closed \(|Dumping Scrapy stats:|Enabled (?:downloader middlewares|spider middlewares|item pipelines):)/

/**
 * Reads `Python 3.8.18 (default, …)` in a line with other versions, or `'Python': '3.11.7 (main, …)',` on its own
 * line.
 */
export function readPythonVersion(tally: Tally, text: string, from: number, to: number): void {
  tally.pythonVersion ??=
    /\bPython(?: |': ')(\d[\w.+]{0,20})/.exec(text.slice(from, Math.min(to, from + 2000)))?.[1] ?? null
}

/** CoreStats counts pages and items. Without it, Scrapy always logs a progress of 0. */
export function readExtensions(tally: Tally, text: string, from: number, to: number): void {
  if (text.slice(from, Math.min(to, from + 2000)).includes('CoreStats')) tally.hasCoreStats = true
}

/** Reads `TELNETCONSOLE_USERNAME` but not the password, which stays only in the log. */
export function readOverriddenSettings(tally: Tally, text: string, from: number, to: number): void {
  const line = readable(text, from, to, 10_000)
  if (/'STATS_CLASS': u?'[^'\n]{0,200}\bDummyStatsCollector'/.test(line)) tally.collectsStats = false
  const name = /'TELNETCONSOLE_USERNAME': u?'([^'\n]{1,200})'/.exec(line)?.[1]
  if (name !== undefined) tally.telnetUsername = name
}

function readStart(tally: Tally, message: string): void {
  const start = /^Scrapy (\d[\w.]{0,30}) started \(bot: ([^\n]{0,200})\)/.exec(message)
  if (start === null) return
  tally.scrapyVersion = start[1] as string
  tally.bot = start[2] as string
}

/** Reads `Crawled 12 pages (at 3 pages/min), scraped 4 items (at 1 items/min)`. */
function readLogStats(tally: Tally, atMs: number | null, text: string, at: number, to: number): boolean {
  const match = LOG_STATS.exec(text.slice(at, Math.min(to, at + 200)))
  if (match === null) return false
  const [pages, pagesPerMinute, items, itemsPerMinute] = match.slice(1).map(Number) as [number, number, number, number]
  if (pages === 0 && items === 0 && !(tally.hasCoreStats && tally.collectsStats)) return true
  if (pages > pagesSoFar(tally)) tally.lastPageAtMs = atMs
  if (items > itemsSoFar(tally)) tally.lastItemAtMs = atMs
  // Several spiders in one process take turns logging. A smaller number belongs to another spider and is ignored.
  if (pages >= (tally.loggedPages ?? 0)) {
    tally.loggedPages = pages
    tally.newPages = 0
  }
  if (items >= (tally.loggedItems ?? 0)) {
    tally.loggedItems = items
    tally.newItems = 0
  }
  tally.pagesPerMinute = pagesPerMinute
  tally.itemsPerMinute = itemsPerMinute
  return true
}

const LOG_STATS =
  /^Crawled (\d{1,15}) pages \(at (\d{1,15}(?:\.\d{1,9})?) pages\/min\), scraped (\d{1,15}) items \(at (\d{1,15}(?:\.\d{1,9})?) items\/min\)/

function countStatus({ responses }: Tally, text: string, at: number): void {
  if (text.charCodeAt(at + 3) !== 41) return
  const status = text.slice(at, at + 3)
  const known = responses[status]
  if (known !== undefined) responses[status] = known + 1
  else if (/^\d{3}$/.test(status) && Object.keys(responses).length < MAX_STATUSES) responses[status] = 1
}

function namesTimeout(text: string, at: number, to: number): boolean {
  return TIMEOUT.test(text.slice(at, Math.min(to, at + 4000)))
}
const TIMEOUT = /took longer than|[Tt]imed? ?[Oo]ut/

function reasonIn(text: string, at: number, to: number): string | null {
  const rest = text.slice(at, Math.min(to, at + MAX_FACT))
  const end = rest.lastIndexOf(')')
  return end <= 0 ? null : readable(rest, 0, end, MAX_FACT)
}

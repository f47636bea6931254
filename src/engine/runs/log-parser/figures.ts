import type { HeadFormat, RecordLevel } from '../../../shared/log-record.ts'
import type { ScrapyStats } from './closing-stats.ts'
import type { LogSeries } from './series.ts'

/**
 * Times (`…AtMs`) come from the log's text, read as if they were UTC. `zoneMinutes` is the zone in the text. If
 * there is none, the caller corrects the times by the node's clock.
 */
export interface LogFigures {
  bytes: number
  /** Bytes that were skipped. If there are any, the counts of lines and records are too low. */
  skippedBytes: number
  isPartial: boolean
  lines: number
  format: HeadFormat | null
  records: Record<RecordLevel, number>
  firstAtMs: number | null
  lastAtMs: number | null
  runtimeMs: number | null
  zoneMinutes: number | null
  /** False: the times have no date (or no year) and count from 1970. */
  hasDate: boolean
  /** Null: the log does not count them (for example, its level is above INFO). */
  pages: number | null
  items: number | null
  /** From the last logstats line or, after the end, averaged over the whole run from the closing stats. */
  pagesPerMinute: number | null
  itemsPerMinute: number | null
  lastPageAtMs: number | null
  lastItemAtMs: number | null
  /** Responses per status. Before the closing stats are read, counts only responses that reached the spider. */
  responses: Record<string, number>
  notes: Record<NoteKind, number>
  latest: Record<LatestKind, string | null>
  scrapyVersion: string | null
  bot: string | null
  pythonVersion: string | null
  telnetConsole: string | null
  telnetUsername: string | null
  /** As in `Resuming crawl (3 requests scheduled)`. */
  resumedWith: string | null
  /** As in `Received SIGTERM` or `Received SIGINT twice`. LogParser's shutdown_reason. */
  shutdownReason: string | null
  closingReason: string | null
  finishReason: string | null
  /** Whether Scrapy's own INFO messages reach the log. If so, the log also shows how the spider ends. */
  showsEnd: boolean
  /** Limited to MAX_STATS_TEXT characters. */
  stats: ScrapyStats | null
  series: LogSeries | null
  errorsDropped: number
}

export const NOTE_KINDS = [
  'retries',
  'gaveUpRetries',
  'robotsForbidden',
  'duplicates',
  'offsite',
  'ignoredResponses',
  'redirects',
  'droppedItems',
  'timeouts',
  'downloadErrors',
  'deprecations',
  'otherWarnings'
] as const
export type NoteKind = (typeof NOTE_KINDS)[number]

/** The newest line of each kind. `item` is the text of the newest item. */
export const LATEST_KINDS = ['crawl', 'scrape', 'item', 'offsite', 'duplicate', 'stat'] as const
export type LatestKind = (typeof LATEST_KINDS)[number]

type Derived =
  | ('bytes' | 'skippedBytes' | 'isPartial' | 'format' | 'hasDate' | 'errorsDropped')
  | ('records' | 'runtimeMs' | 'pages' | 'items')

/** What the parser counts, as plain JSON. */
export interface Tally extends Omit<LogFigures, Derived> {
  isOver: boolean
  /** By index in RECORD_LEVELS. */
  records: number[]
  /** False: the log shows that Scrapy's CoreStats extension is off. */
  hasCoreStats: boolean
  collectsStats: boolean
  loggedPages: number | null
  loggedItems: number | null
  /** Pages in DEBUG lines since the last logstats line. The next logstats line also counts pages in skipped bytes. */
  newPages: number
  newItems: number
  /** Timeouts that a retry reported, and timeouts that failed a download. Many are counted in both. */
  retriedTimeouts: number
  failedTimeouts: number
}

export function emptyTally(): Tally {
  return {
    isOver: false,
    lines: 0,
    records: [0, 0, 0, 0, 0],
    firstAtMs: null,
    lastAtMs: null,
    zoneMinutes: null,
    hasCoreStats: true,
    collectsStats: true,
    loggedPages: null,
    loggedItems: null,
    pagesPerMinute: null,
    itemsPerMinute: null,
    newPages: 0,
    newItems: 0,
    lastPageAtMs: null,
    lastItemAtMs: null,
    responses: {},
    notes: Object.fromEntries(NOTE_KINDS.map((kind) => [kind, 0])) as Record<NoteKind, number>,
    retriedTimeouts: 0,
    failedTimeouts: 0,
    latest: Object.fromEntries(LATEST_KINDS.map((kind) => [kind, null])) as Record<LatestKind, null>,
    scrapyVersion: null,
    bot: null,
    pythonVersion: null,
    telnetConsole: null,
    telnetUsername: null,
    resumedWith: null,
    shutdownReason: null,
    closingReason: null,
    finishReason: null,
    showsEnd: false,
    stats: null,
    series: null
  }
}

export function pagesSoFar({ loggedPages, newPages }: Tally): number {
  return (loggedPages ?? 0) + newPages
}

export function itemsSoFar({ loggedItems, newItems }: Tally): number {
  return (loggedItems ?? 0) + newItems
}

export function errorsSoFar({ records }: Tally): number {
  return (records[3] as number) + (records[4] as number)
}

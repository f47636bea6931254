import { RECORD_LEVELS, type RecordLevel } from '../../../shared/log-record.ts'
import { countsOf, rankOf, type ScrapyStats } from './closing-stats.ts'
import { errorsSoFar, itemsSoFar, type LogFigures, type NoteKind, pagesSoFar, type Tally } from './figures.ts'
import { seriesSoFar } from './series.ts'

const MAX_STATS_TEXT = 10_000

/** A project chooses the names and values of its stats, so their size is limited. Scrapy's stats take precedence. */
export function boundedStats(stats: ScrapyStats): ScrapyStats {
  let room = MAX_STATS_TEXT
  const ranked = Object.entries(stats).toSorted(([one], [other]) => rankOf(one) - rankOf(other))
  const kept = ranked.filter(([key, value]) => {
    room -= key.length + String(value).length + 6
    return room >= 0
  })
  return Object.fromEntries(kept)
}

/** The closing stats that count the same events as log lines. Several matching keys are added up. */
const STATS_OF_NOTES: Partial<Record<NoteKind, RegExp>> = {
  retries: /^retry\/count$/,
  gaveUpRetries: /^retry\/max_reached$/,
  robotsForbidden: /^robotstxt\/forbidden$/,
  // Scrapy logs only the first duplicate.
  duplicates: /^dupefilter\/filtered$/,
  offsite: /^offsite\/filtered$/,
  ignoredResponses: /^httperror\/response_ignored_count$/,
  redirects: /^downloader\/response_status_count\/30[12378]$/,
  droppedItems: /^item_dropped_count$/,
  timeouts: /^downloader\/exception_type_count\/.*Time(?:d)?[Oo]ut/
}
const STATUS = 'downloader/response_status_count/'

/**
 * Closing stats take precedence over log lines that count the same events. A higher count of lines is kept, because
 * several spiders can share a log while only the last dict of stats is kept.
 */
export function figuresOf(
  tally: Tally,
  more: Pick<LogFigures, 'bytes' | 'skippedBytes' | 'format' | 'hasDate' | 'errorsDropped'>
): LogFigures {
  const { stats, records, firstAtMs, lastAtMs } = tally
  const isPartial = more.skippedBytes > 0
  const values = { pages: pagesSoFar(tally), items: itemsSoFar(tally), errors: errorsSoFar(tally) }
  const closed = countsOf(stats)
  const elapsed = stats && elapsedSeconds(stats)
  const perMinute = (count: number | null) => (elapsed && count !== null ? round((count * 60) / elapsed) : null)
  const isCounted = tally.loggedPages !== null || values.pages > 0 || values.items > 0
  const counted = (count: number, hasLines: boolean) => {
    if (!tally.isOver) return isCounted ? count : null
    // Only DEBUG lines cover every page. The progress lines are up to a minute old, but show how far a killed run got.
    const isWhole = hasLines && !isPartial
    return isWhole || (tally.finishReason === null && count > 0) ? count : null
  }
  const pages = closed.pages ?? counted(values.pages, Object.keys(tally.responses).length > 0)
  const items = closed.items ?? counted(values.items, tally.latest.scrape !== null)
  return {
    ...more,
    isPartial,
    lines: tally.lines,
    records: Object.fromEntries(
      RECORD_LEVELS.map((level, index) => {
        const counted = records[index] as number
        return [level, isPartial ? Math.max(counted, numberOf(stats?.[`log_count/${level}`])) : counted]
      })
    ) as Record<RecordLevel, number>,
    firstAtMs,
    lastAtMs,
    runtimeMs: firstAtMs === null || lastAtMs === null ? null : Math.max(0, lastAtMs - firstAtMs),
    zoneMinutes: tally.zoneMinutes,
    pages,
    items,
    pagesPerMinute: perMinute(closed.pages) ?? tally.pagesPerMinute,
    itemsPerMinute: perMinute(closed.items) ?? tally.itemsPerMinute,
    lastPageAtMs: tally.lastPageAtMs,
    lastItemAtMs: tally.lastItemAtMs,
    responses: responsesOf(tally),
    notes: notesOf(tally),
    latest: { ...tally.latest },
    scrapyVersion: tally.scrapyVersion,
    bot: tally.bot,
    pythonVersion: tally.pythonVersion,
    telnetConsole: tally.telnetConsole,
    telnetUsername: tally.telnetUsername,
    resumedWith: tally.resumedWith,
    shutdownReason: tally.shutdownReason,
    closingReason: tally.closingReason,
    finishReason: tally.finishReason,
    showsEnd: tally.showsEnd,
    stats: stats && { ...stats },
    series:
      tally.series &&
      seriesSoFar(tally.series, { ...values, pages: pages ?? values.pages, items: items ?? values.items })
  }
}

/** Scrapy before 2.0 reports only the start time and the finish time. */
function elapsedSeconds(stats: ScrapyStats): number {
  const { elapsed_time_seconds: elapsed, start_time: start, finish_time: finish } = stats
  return numberOf(elapsed) || numberOf((Date.parse(String(finish)) - Date.parse(String(start))) / 1000)
}

function responsesOf({ stats, responses }: Tally): Record<string, number> {
  const closed = Object.entries(stats ?? {}).filter(([key]) => key.startsWith(STATUS))
  if (closed.length === 0) return { ...responses }
  return Object.fromEntries(closed.map(([key, value]) => [key.slice(STATUS.length), numberOf(value)]))
}

function notesOf({ stats, notes, retriedTimeouts, failedTimeouts }: Tally): Record<NoteKind, number> {
  const counted = { ...notes, timeouts: Math.max(retriedTimeouts, failedTimeouts) }
  for (const [kind, pattern] of Object.entries(stats === null ? {} : STATS_OF_NOTES) as [NoteKind, RegExp][]) {
    let sum = 0
    for (const [key, value] of Object.entries(stats as ScrapyStats)) if (pattern.test(key)) sum += numberOf(value)
    counted[kind] = Math.max(counted[kind], sum)
  }
  return counted
}

function numberOf(value: ScrapyStats[string] | undefined): number {
  return typeof value === 'number' && value > 0 ? value : 0
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createLogParser } from './log-parser.ts'

/**
 * The fields in the JSON of LogParser 0.8.4 (my8100/logparser, used by ScrapydWeb), and ours for the same:
 *
 * | LogParser                                    | ours (LogFigures)                                            |
 * | -------------------------------------------- | ------------------------------------------------------------ |
 * | first_log_time, …_timestamp                  | firstAtMs (+ zoneMinutes)                                    |
 * | latest_log_time, …_timestamp                 | lastAtMs                                                     |
 * | runtime                                      | runtimeMs                                                    |
 * | datas: time, pages, pages_min, items, …_min  | series (cumulative); pagesPerMinute, itemsPerMinute (newest) |
 * | pages, items                                 | pages, items                                                 |
 * | latest_matches: scrapy_version               | scrapyVersion                                                |
 * | … telnet_console, telnet_username            | telnetConsole, telnetUsername                                |
 * | … telnet_password                            | left out: a secret; it is in the log for those who may read it |
 * | … resuming_crawl                             | resumedWith                                                  |
 * | … latest_offsite, latest_duplicate           | latest.offsite, latest.duplicate                             |
 * | … latest_crawl, latest_scrape (…_timestamp)  | latest.crawl, latest.scrape; lastPageAtMs, lastItemAtMs      |
 * | … latest_stat, latest_item                   | latest.stat, latest.item                                     |
 * | log_categories: critical_logs, error_logs    | records.CRITICAL, records.ERROR; takeErrors()                |
 * | … warning_logs                               | records.WARNING; notes has the kinds                         |
 * | … redirect_logs, retry_logs, ignore_logs     | notes.redirects, notes.retries, notes.ignoredResponses       |
 * | … details (the newest ten records of each)   | errors with takeErrors(); others are searched in the log     |
 * | shutdown_reason, finish_reason               | shutdownReason, finishReason                                 |
 * | crawler_stats                                | stats                                                        |
 * | crawler_engine                               | comes from the telnet console, not from the log              |
 * | head, tail                                   | the log itself (output/)                                     |
 * | size, position                               | bytes                                                        |
 * | log_path, json_path, json_url, status        | of its files and service                                     |
 * | last_update_…, logparser_version             | of the store                                                 |
 */
interface Answer {
  log: string
  first_log_time: string
  latest_log_time: string
  runtime: string
  datas: [string, number, number, number, number][]
  pages: number | null
  items: number | null
  latest_matches: Record<string, string>
  latest_crawl_timestamp: number
  latest_scrape_timestamp: number
  log_categories: Record<string, { count: number }>
  shutdown_reason: string
  finish_reason: string
  crawler_stats: Record<string, unknown>
}

const SAMPLES = join(import.meta.dirname, 'samples')
const OTHER_SAMPLES = join(import.meta.dirname, '..', '..', 'jobs', 'outcome', 'samples')
const ANSWERS = readFileSync(join(SAMPLES, 'logparser.jsonl'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Answer)

const NONE = 'N/A'

function theirs(answer: Answer) {
  const { latest_matches: latest, log_categories: categories } = answer
  const count = (name: string) => categories[name]?.count
  return {
    first: answer.first_log_time,
    last: answer.latest_log_time,
    runtime: answer.runtime,
    pages: answer.pages,
    items: answer.items,
    'newest of datas': answer.datas.at(-1)?.slice(1) ?? null,
    version: latest['scrapy_version'],
    telnet: latest['telnet_console'],
    crawl: latest['latest_crawl'],
    crawlAt: answer.latest_crawl_timestamp,
    scrape: latest['latest_scrape'],
    scrapeAt: answer.latest_scrape_timestamp,
    item: latest['latest_item'],
    offsite: latest['latest_offsite'],
    duplicate: latest['latest_duplicate'],
    stat: latest['latest_stat'],
    critical: count('critical_logs'),
    errors: count('error_logs'),
    warnings: count('warning_logs'),
    redirects: count('redirect_logs'),
    retries: count('retry_logs'),
    ignored: count('ignore_logs'),
    shutdown: answer.shutdown_reason,
    finish: answer.finish_reason,
    'number of stats': Object.keys(answer.crawler_stats).filter(
      (key) => !['source', 'last_update_time', 'last_update_timestamp'].includes(key)
    ).length
  }
}

function ours(name: string): ReturnType<typeof theirs> {
  const file = [SAMPLES, OTHER_SAMPLES].map((directory) => join(directory, name)).find(existsSync) as string
  const parser = createLogParser()
  parser.push(readFileSync(file))
  parser.end()
  const { latest, records, notes, ...figures } = parser.figures()
  const time = (ms: number | null) => (ms === null ? NONE : new Date(ms).toISOString().slice(0, 19).replace('T', ' '))
  const seconds = Math.floor((figures.lastAtMs ?? 0) / 1000) - Math.floor((figures.firstAtMs ?? 0) / 1000)
  const stat = /Crawled (\d+) pages \(at (\d+) .* scraped (\d+) items \(at (\d+)/.exec(latest.stat ?? '')
  return {
    first: time(figures.firstAtMs),
    last: time(figures.lastAtMs),
    runtime: figures.firstAtMs === null ? NONE : `0:00:${String(seconds).padStart(2, '0')}`,
    pages: figures.pages,
    items: figures.items,
    'newest of datas': stat === null ? null : stat.slice(1).map(Number),
    version: figures.scrapyVersion ?? '',
    telnet: figures.telnetConsole ?? '',
    crawl: latest.crawl ?? '',
    crawlAt: Math.floor((figures.lastPageAtMs ?? 0) / 1000),
    scrape: latest.scrape ?? '',
    scrapeAt: Math.floor((figures.lastItemAtMs ?? 0) / 1000),
    item: latest.item ?? '',
    offsite: latest.offsite ?? '',
    duplicate: latest.duplicate ?? '',
    stat: latest.stat ?? '',
    critical: records.CRITICAL,
    errors: records.ERROR,
    warnings: records.WARNING,
    redirects: notes.redirects,
    retries: notes.retries,
    ignored: notes.ignoredResponses,
    shutdown: figures.shutdownReason ?? NONE,
    finish: figures.finishReason ?? NONE,
    'number of stats': Object.keys(figures.stats ?? {}).length
  }
}

/** Every difference, with the reason why it is intended. */
const DIFFERENCES: { log: RegExp; fields: RegExp; because: string }[] = [
  {
    log: /^(?:json|format)-/,
    fields: /./,
    because: 'LogParser reads the default LOG_FORMAT only; of others it finds nothing, or what happens to match'
  },
  {
    log: /^(?:killed|shutdown)\.log$/,
    fields: /^(?:pages|items)$/,
    because:
      'Between two logstats lines, and without closing stats, LogParser does not count the pages and items of DEBUG lines'
  },
  {
    log: /^everything-1\.0\.log$/,
    fields: /^item$/,
    because: "LogParser decodes the escapes of Python 2 (`u'Stra\\xdfe'`); ours is the text of the log"
  },
  {
    log: /^everything-1\.0\.log$/,
    fields: /^errors$/,
    because:
      'Scrapy 1.0 could not write one record (not ASCII), but counted it: LogParser shows its count, ours what the log has'
  }
]

it.each(ANSWERS)('$log gives the same result in both parsers, except for known differences', (answer) => {
  const [expected, actual] = [theirs(answer), ours(answer.log)]
  const different = Object.keys(expected).filter(
    (field) => JSON.stringify(Reflect.get(expected, field)) !== JSON.stringify(Reflect.get(actual, field))
  )
  const known = DIFFERENCES.filter(({ log }) => log.test(answer.log))
  expect(different.filter((field) => !known.some(({ fields }) => fields.test(field)))).toEqual([])
  // Remove a difference from the list when it is gone.
  for (const { fields, because } of known)
    expect(
      different.some((field) => fields.test(field)),
      because
    ).toBe(true)
})

it('every sample has a recorded result of LogParser', () => {
  const logs = [SAMPLES, OTHER_SAMPLES].flatMap((directory) =>
    readdirSync(directory).filter((name) => name.endsWith('.log'))
  )
  expect(ANSWERS.map(({ log }) => log).toSorted()).toEqual(logs.toSorted())
})

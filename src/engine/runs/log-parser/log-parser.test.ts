import { describe, expect, it } from 'vitest'
import { parseRecordHead } from '../../../shared/log-record.ts'
import { createLogParser } from './log-parser.ts'
import { MAX_POINTS } from './series.ts'
import { at, bytesOf, parse, sample, SAMPLE_NAMES } from './testing/parsed-logs.ts'

describe('a real log', () => {
  it('with everything that Scrapy logs is parsed in full', () => {
    const { figures, errors } = parse(sample('everything-2.13'))
    expect(figures).toMatchObject({
      bytes: sample('everything-2.13').length,
      isPartial: false,
      format: { kind: 'scrapy' },
      records: { DEBUG: 31, WARNING: 3, ERROR: 12, CRITICAL: 0 },
      lines: sample('everything-2.13').toString().split('\n').length - 1,
      pages: 13,
      items: 7,
      finishReason: 'finished',
      closingReason: 'finished',
      shutdownReason: null,
      scrapyVersion: '2.13.4',
      bot: 'scrapybot',
      pythonVersion: '3.11.7',
      responses: { 200: 11, 302: 1, 404: 1, 503: 2 },
      notes: {
        retries: 4,
        gaveUpRetries: 4,
        robotsForbidden: 1,
        offsite: 2,
        ignoredResponses: 1,
        redirects: 1,
        // The log shows only the first duplicate. The closing stats count all.
        duplicates: 19,
        droppedItems: 1,
        timeouts: 2,
        downloadErrors: 3,
        deprecations: 0,
        otherWarnings: 2
      },
      latest: {
        crawl: expect.stringContaining('Crawled (200) <GET'),
        item: "{'number': 8, 'title': 'Straße 8 価格', 'price': '8 €'}",
        stat: expect.stringContaining('Crawled 13 pages')
      },
      telnetConsole: expect.stringMatching(/^127\.0\.0\.1:\d+$/)
    })
    expect(figures.stats).toMatchObject({ 'retry/reason_count/503 Service Unavailable': 1 })
    expect(errors).toHaveLength(12)
  })

  it.each(SAMPLE_NAMES.filter((name) => name.startsWith('everything-') && name !== 'everything-1.0'))(
    '%s gives the same result as that of any other version',
    (name) => {
      const { figures, errors } = parse(sample(name))
      const kinds = errors.map(({ exceptions }) => exceptions.at(-1)?.type.split('.').at(-1) ?? '')
      expect(figures).toMatchObject({ pages: 13, items: 7, finishReason: 'finished', bot: 'scrapybot' })
      expect(figures.notes).toMatchObject({
        retries: 4,
        gaveUpRetries: 4,
        droppedItems: 1,
        robotsForbidden: 1,
        redirects: 1
      })
      expect(figures.notes).toMatchObject({ timeouts: 2, downloadErrors: 3, ignoredResponses: 1 })
      expect(figures.scrapyVersion).toMatch(new RegExp(`^${name.slice('everything-'.length)}\\.`))
      expect(kinds).toEqual(expect.arrayContaining(['ValueError', 'KeyError', 'RuntimeError', '']))
    }
  )

  it.each(SAMPLE_NAMES.filter((name) => /^(format|json)-/.test(name)))(
    'in the format of %s is parsed as well',
    (name) => {
      const { figures } = parse(sample(name))
      const isWhole = name.startsWith('format-pipes') || name.startsWith('json-stdlib')
      expect(figures).toMatchObject({ finishReason: 'finished', items: 7, pages: isWhole ? 13 : 9 })
      expect(figures.format?.kind).toBe(
        name.startsWith('json-') ? 'json' : name === 'format-zone-2.13' ? 'scrapy' : 'pattern'
      )
      const counts = figures.stats as Record<string, number>
      // LogCount starts with the crawler. Scrapy logs several INFO and DEBUG records before that.
      for (const level of ['WARNING', 'ERROR'] as const) {
        expect(figures.records[level]).toBe(counts[`log_count/${level}`] ?? 0)
      }
      expect(figures.latest.item).toMatch(/^\{'number': \d, 'title': 'Straße \d 価格'/)
      const startMs = Date.parse(String(figures.stats?.['start_time']))
      if (name === 'format-bare-2.13') expect(figures.firstAtMs).toBeNull()
      else expect(Math.abs((figures.firstAtMs as number) - startMs)).toBeLessThan(2_000)
      expect(figures.zoneMinutes).toBe(name === 'format-zone-2.13' || name.startsWith('json-structlog') ? 0 : null)
    }
  )

  it.each(SAMPLE_NAMES)('of %s shows the same levels line by line, in the format that the parser learned', (name) => {
    const { figures } = parse(sample(name))
    const counted = { DEBUG: 0, INFO: 0, WARNING: 0, ERROR: 0, CRITICAL: 0 }
    for (const line of sample(name).toString('utf8').split('\n')) {
      const head = parseRecordHead(line, JSON.parse(JSON.stringify(figures.format)))
      if (head !== null) counted[head.level]++
    }
    expect(counted).toEqual(figures.records)
  })

  it('that was killed ends with its last line', () => {
    const { figures } = parse(sample('killed-2.19'))
    expect(figures).toMatchObject({ finishReason: null, closingReason: null, stats: null, items: expect.any(Number) })
    expect(figures.lastItemAtMs).toBe(figures.lastAtMs)
  })

  it.each(['shutdown-2.19', 'shutdown-1.8'])('of %s says which signal the run got', (name) => {
    expect(parse(sample(name)).figures).toMatchObject({ shutdownReason: 'Received SIGINT', finishReason: 'shutdown' })
  })

  it('of a project that cannot be imported has the traceback as its error, although no record contains it', () => {
    const { figures, errors } = parse(sample('broken-2.19'))
    expect(figures.records).toMatchObject({ ERROR: 0, CRITICAL: 0 })
    expect(errors).toMatchObject([
      {
        level: 'CRITICAL',
        logger: '',
        exceptions: [{ type: 'ModuleNotFoundError', value: "No module named 'no_such_library'" }]
      }
    ])
  })

  it('has each error at the reported offset and line', () => {
    const bytes = sample('everything-1.5')
    const lines = bytes.toString('utf8').split('\n')
    for (const { offset, line, message } of parse(bytes).errors) {
      expect(bytes.subarray(offset).toString('utf8').split('\n', 1)[0]).toBe(lines[line - 1])
      expect(lines[line - 1]).toContain(message.split('\n', 1)[0])
    }
  })
})

describe('pages and items', () => {
  const crawl = (time: string, status = 200) =>
    at(time, 'DEBUG', `Crawled (${status}) <GET http://a/1> (referer: None)`)
  const scrape = (time: string) => at(time, 'DEBUG', "Scraped from <200 http://a/1>\n{'a': 1}")
  const stats = (time: string, pages: number, items: number) =>
    at(time, 'INFO', `Crawled ${pages} pages (at 5 pages/min), scraped ${items} items (at 3 items/min)`)

  it('are those of the newest logstats line plus everything after it', () => {
    const { figures } = parse(
      crawl('12:00:00') + stats('12:01:00', 40, 30) + crawl('12:01:01', 404) + scrape('12:01:02')
    )
    expect(figures).toMatchObject({
      pages: 41,
      items: 31,
      pagesPerMinute: 5,
      itemsPerMinute: 3,
      responses: { 200: 1, 404: 1 }
    })
    expect([figures.lastPageAtMs, figures.lastItemAtMs]).toEqual([
      Date.UTC(2026, 10, 2, 12, 1, 1),
      Date.UTC(2026, 10, 2, 12, 1, 2)
    ])
  })

  it('are unknown if the log does not mention them', () => {
    expect(parse(at('12:00:00', 'WARNING', 'careful')).figures).toMatchObject({ pages: null, items: null })
  })

  it('do not progress with a logstats line that repeats the previous one', () => {
    const { figures } = parse(stats('12:01:00', 40, 30) + stats('12:02:00', 40, 31))
    expect([figures.lastPageAtMs, figures.lastItemAtMs]).toEqual([
      Date.UTC(2026, 10, 2, 12, 1),
      Date.UTC(2026, 10, 2, 12, 2)
    ])
  })

  it('of two spiders in one process never decrease', () => {
    expect(parse(stats('12:01:00', 40, 30) + stats('12:01:00', 3, 2)).figures).toMatchObject({ pages: 40, items: 30 })
  })

  it('are right again after the next logstats line if a part of a flood was left out', () => {
    const parser = createLogParser()
    parser.push(bytesOf(`${crawl('12:00:00')}2026-11-02 12:00:01 [sh`))
    parser.skip(1_000_000)
    parser.push(bytesOf(`a rest of a line\n${crawl('12:05:01')}`))
    expect(parser.figures()).toMatchObject({ pages: 2, isPartial: true, skippedBytes: 1_000_023, lines: 2 })
    parser.push(bytesOf(stats('12:06:00', 9_000, 8_000)))
    expect(parser.figures()).toMatchObject({ pages: 9_000, items: 8_000 })
  })

  it('are stored per minute, and in longer steps for a long run', () => {
    const short = parse(crawl('12:00:10') + crawl('12:00:50') + crawl('12:03:00') + at('12:03:01', 'ERROR', 'x'))
      .figures.series
    expect(short).toEqual({
      startMs: Date.UTC(2026, 10, 2, 12),
      widthMs: 60_000,
      pages: [2, 2, 2, 3],
      items: [0, 0, 0, 0],
      errors: [0, 0, 0, 1]
    })
    const days = Array.from({ length: 28 }, (_, day) =>
      crawl('12:00:00').replace('11-02', `11-${String(day + 1).padStart(2, '0')}`)
    )
    const long = parse(days.join('')).figures.series!
    expect(long.pages.length).toBeLessThanOrEqual(MAX_POINTS + 1)
    expect([long.pages[0], long.pages.at(-1)]).toEqual([1, 28])
    expect(long.pages.toSorted((one, other) => one - other)).toEqual(long.pages)
  })
})

describe('a format', () => {
  const startOf = (head: string) => `${head}Scrapy 2.13.0 started (bot: shop)\n`

  it('with only a time of day continues after midnight', () => {
    const clock = (time: string) => `${time} INFO scrapy.utils.log `
    const { figures } = parse(`${startOf(clock('23:59:00'))}${clock('00:01:00')}Spider opened\n`)
    expect(figures).toMatchObject({ hasDate: false, runtimeMs: 120_000 })
  })

  it('with the month first is detected from the settings that Scrapy logs', () => {
    const head = (time: string) => `${time} - scrapy.utils.log - INFO - `
    const settings = "Overridden settings:\n{'LOG_DATEFORMAT': '%m/%d/%Y %H:%M:%S',\n 'BOT_NAME': 'shop'}\n"
    const { figures } = parse(
      startOf(head('02/03/2026 10:00:00')) +
        head('02/03/2026 10:00:00') +
        settings +
        head('02/03/2026 10:00:09') +
        'x\n'
    )
    expect(figures.lastAtMs).toBe(Date.UTC(2026, 1, 3, 10, 0, 9))
  })

  it('can change once the settings of a spider are loaded', () => {
    const { figures } = parse(
      `${at('12:00:00', 'INFO', 'Scrapy 2.13.0 started (bot: shop)', 'scrapy.utils.log')}INFO|scrapy.core.engine|Spider opened\nERROR|shop|boom\n`
    )
    expect(figures.records).toMatchObject({ INFO: 2, ERROR: 1 })
  })

  it('of a spider is detected from its first record', () => {
    const start = at('12:00:00', 'INFO', 'Scrapy 2.19.0 started (bot: shop)', 'scrapy.utils.log')
    const addons = 'INFO | 12:00:00 | scrapy.addons | Enabled addons:\n[]\n'
    const reactor = 'DEBUG | 12:00:00 | scrapy.utils.log | Using reactor: twisted.internet.epollreactor.EPollReactor\n'
    const rest = 'INFO | 12:00:00 | scrapy.middleware | Enabled extensions:\n[]\n'
    expect(parse(start + addons + reactor + rest).figures.records).toMatchObject({ INFO: 3, DEBUG: 1 })
    expect(parse(start + reactor + rest).figures.records).toMatchObject({ INFO: 2, DEBUG: 1 })
  })

  it('that is common is detected without any hint', () => {
    const { figures } = parse(
      '2026-01-02 03:04:05,678 - shop - ERROR - boom\nTraceback (most recent call last):\nKeyError: 1\n'
    )
    expect(figures).toMatchObject({ records: { ERROR: 1 }, firstAtMs: Date.UTC(2026, 0, 2, 3, 4, 5, 678) })
  })
})

describe('pages and items that are not counted', () => {
  const uncounted = (name: string) => parse(sample(`uncounted/${name}`)).figures

  it.each([
    ['no-dump-info', null, null],
    ['dummy-info', null, null],
    ['no-corestats-info', null, null],
    ['no-logcount-info', 1, 5],
    // Every page and every item has a line.
    ['no-dump-debug', 1, 5],
    ['dummy-debug', 1, 5],
    ['no-corestats-debug', 1, 5]
  ])('are unknown in %s (%j pages, %j items), although Scrapy logs a progress of 0', (name, pages, items) => {
    expect(sample(`uncounted/${name}`).toString()).toContain('Crawled 0 pages')
    expect(uncounted(name)).toMatchObject({ pages, items, finishReason: 'finished' })
  })

  it('do not count as missing progress of a running job', () => {
    const parser = createLogParser()
    for (const name of ['dummy-info', 'no-corestats-info'])
      parser.push(sample(`uncounted/${name}`).subarray(0, sample(`uncounted/${name}`).indexOf('Closing spider')))
    expect(parser.figures()).toMatchObject({ pages: null, items: null })
  })

  it('of a killed run are those of its last logstats line; for a closed run, that is not enough', () => {
    const progress = at('10:00:00', 'INFO', 'Crawled 9 pages (at 9 pages/min), scraped 3 items (at 3 items/min)')
    expect(parse(progress).figures).toMatchObject({ pages: 9, items: 3 })
    const closed = at('10:00:09', 'INFO', 'Spider closed (finished)')
    const { figures } = parse(progress + closed)
    expect(figures).toMatchObject({ pages: null, items: null })
    expect(figures.series!.pages.at(-1)).toBe(9)
  })
})

describe('closing stats of a project that adds thousands of keys', () => {
  const stats = (key: string, count: number) => {
    const keys = Array.from({ length: count }, (_, index) => ` '${key}/shop-${index}.example.com/pages': 1,\n`).join('')
    const own = " 'finish_reason': 'finished',\n 'item_scraped_count': 5,\n"
    const lines = key < 'f' ? `${keys}${own}` : `${own}${keys}`
    return at('10:00:00', 'INFO', `Dumping Scrapy stats:\n{${lines.trim().slice(0, -1)}}`)
  }

  it.each([
    ['domains', 1_500],
    ['zones', 1_500],
    ['domains', 5_000],
    ['zones', 5_000],
    ['domains', 100_000],
    ['zones', 100_000]
  ])('%s/…, %i of them, keep those of Scrapy', (key, count) => {
    const { figures } = parse(stats(key, count) + at('10:00:00', 'INFO', 'Spider closed (finished)'))
    expect(figures).toMatchObject({ finishReason: 'finished', items: 5, pages: 0 })
    expect(JSON.stringify(figures.stats).length).toBeLessThan(12_000)
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findHeadFormat, parseRecordHead, type RecordHead, RECORD_LEVELS } from '../log-record.ts'
import { learnHeadFormat, MAX_HEAD, type PatternFormat } from './head-format.ts'
import { createPatternReader } from './pattern-head.ts'

type Head = (time: string, level: string, logger: string) => string

const FORMATS: [name: string, times: [string, string], head: Head][] = [
  ['Python default', ['2026-11-02 12:00:02,250', '2026-11-02 12:00:03,500'], (t, l, n) => `${t} - ${n} - ${l} - `],
  ['level first', ['2026-11-02 12:00:02', '2026-11-02 12:00:03'], (t, l, n) => `${l.padEnd(8)} ${t} ${n}: `],
  ['level right-aligned', ['2026-11-02 12:00:02', '2026-11-02 12:00:03'], (t, l, n) => `${t} ${l.padStart(8)} [${n}] `],
  [
    'padded, no space after',
    ['2026-11-02 12:00:02', '2026-11-02 12:00:03'],
    (t, l, n) => `${t}|${l.padEnd(8)}|${n.padEnd(20)}|`
  ],
  [
    'process and place',
    ['2026-11-02T12:00:02.250+02:00', '2026-11-02T12:00:03.500+02:00'],
    (t, l, n) => `[${t}] [4711:MainThread] [${l}] ${n}:log.py:149 > `
  ],
  ['US dates', ['11/02/26 12:00:02 PM', '11/13/26 01:00:03 PM'], (t, l, n) => `${t} ${n} ${l}: `],
  ['German dates', ['02.11.2026 12:00:02', '13.11.2026 12:00:03'], (t, l, n) => `${t} » ${n} » ${l} » `],
  ['Apache', ['02/Nov/2026:12:00:02 +0000', '02/Nov/2026:12:00:03 +0000'], (t, l, n) => `[${t}] ${l} (${n}) `],
  ['syslog', ['Nov  2 12:00:02', 'Nov 13 12:00:03'], (t, l, n) => `${t} host scrapy[99]: ${l} ${n} `],
  ['compact', ['20261102T120002', '20261102T120003'], (t, l, n) => `${t} ${l} ${n} `],
  ['epoch', ['1793620802.2503', '1793620803.5'], (t, l, n) => `${t} ${l} ${n} `],
  ['clock', ['12:00:02', '12:00:03'], (t, l, n) => `${t} | ${l} | ${n} | `],
  ['lower case', ['2026-11-02 12:00:02', '2026-11-02 12:00:03'], (t, l, n) => `${t} [${l.toLowerCase()}] ${n}: `],
  ['initials', ['12:00:02', '12:00:03'], (t, l, n) => `${l[0]} ${t} ${n}] `],
  [
    'key and value',
    ['2026-11-02T12:00:02Z', '2026-11-02T12:00:03Z'],
    (t, l, n) => `ts=${t} level=${l} logger=${n} msg=`
  ],
  ['no time', ['', ''], (_t, l, n) => `${l}:${n}:`],
  ['level only', ['', ''], (_t, l) => `${l} `]
]

describe('a format', () => {
  it.each(FORMATS)(
    'with %s is learned from a message of Scrapy, and found in others',
    (_name, [first, second], head) => {
      const line = `${head(first, 'INFO', 'scrapy.utils.log')}Scrapy 2.13.0 started (bot: shop)`
      const format = learnHeadFormat(line)!
      expect(findHeadFormat(['printed text', line])).toEqual(format)
      const hasLogger = line.includes('scrapy.utils.log')
      for (const level of RECORD_LEVELS) {
        for (const logger of ['shop', 'scrapy.core.engine', 'shop.spiders.prices-de']) {
          const start = head(second, level, logger)
          const read = parseRecordHead(`${start}Größe: 12:00 ERROR [x]`, format) as RecordHead
          expect({ level: read.level, logger: read.logger, messageAt: read.messageAt }).toEqual({
            level,
            logger: hasLogger ? logger : '',
            messageAt: start.length
          })
          if (second !== '') expect(read.time).toMatch(/^1[23]:00:03$/)
        }
      }
      for (const other of [
        '',
        'Traceback (most recent call last):',
        '  File "x.py", line 1',
        "{'name': 'x'}",
        'ValueError: x'
      ]) {
        expect(parseRecordHead(other, format)).toBeNull()
      }
    }
  )

  it('with colours is learned without them, and the message starts after those of the head', () => {
    const lineOf = (level: string, message: string) =>
      `\u001b[36m2026-11-02 12:00:02,250\u001b[0m \u001b[1;32m${level}\u001b[0m shop.a: \u001b[0m${message}`
    const format = findHeadFormat([lineOf('INFO', 'Spider opened').replace('shop.a', 'scrapy.core.engine')])
    const line = lineOf('ERROR', 'boom')
    const read = parseRecordHead(line, format) as RecordHead
    expect(read).toMatchObject({
      date: '2026-11-02',
      time: '12:00:02',
      fraction: '250',
      level: 'ERROR',
      logger: 'shop.a'
    })
    expect(line.slice(read.messageAt).replaceAll('\u001b[0m', '')).toBe('boom')
  })

  it("of Scrapy's own with colours is detected, too", () => {
    expect(parseRecordHead('2026-11-02 12:00:02 [shop] \u001b[31mERROR\u001b[0m: boom')).toMatchObject({
      level: 'ERROR',
      logger: 'shop'
    })
  })

  it('needs a level before the message', () => {
    for (const line of ['Scrapy 2.13.0 started (bot: shop)', '12:00 Spider opened', "{'title': 'Spider opened'}"]) {
      expect(learnHeadFormat(line)).toBeNull()
    }
  })

  it.each([
    ['2026-01-02 03:04:05,678 - shop - ERROR - boom', 'ERROR', 'shop'],
    ['2026-01-02 03:04:05.678 | WARNING  | shop.spiders:parse:12 - careful', 'WARNING', 'shop.spiders'],
    ['[2026-01-02 03:04:05,678: CRITICAL/MainProcess] boom', 'CRITICAL', ''],
    ['WARNING:shop:careful', 'WARNING', 'shop'],
    ['2026-01-02 03:04:05 [DEBUG] shop: x', 'DEBUG', 'shop']
  ])('that is common is guessed from %j', (line, level, logger) => {
    expect(parseRecordHead(line, findHeadFormat([line]))).toMatchObject({ level, logger })
  })

  it('can be plain JSON', () => {
    const format = findHeadFormat(['12:00 | INFO | scrapy.core.engine | Spider opened'])
    expect(JSON.parse(JSON.stringify(format))).toEqual(format)
  })

  it('is learned and detected quickly, whatever the line', () => {
    const begun = performance.now()
    const pieces = [
      'INFO ',
      '12:00:00 ',
      'scrapy.utils.log',
      ' ',
      'a:',
      '[',
      '\u001b[0m',
      '1793620802.',
      'é',
      'Spider opened',
      '2026-11-02 ',
      'Nov 2 '
    ]
    for (const one of pieces) {
      for (const other of pieces) {
        const head = (one + other).repeat(60)
        const format = learnHeadFormat(`${head}INFO scrapy.core.engine Spider opened`) as PatternFormat | null
        findHeadFormat([head.repeat(50)])
        for (const line of format === null ? [] : [head, head.repeat(50), `${head}INFO `])
          createPatternReader(format!).pattern.exec(line)
      }
    }
    expect(performance.now() - begun).toBeLessThan(2_000)
  })

  it.each([
    ['a word, a dash, a word', 'a - '.repeat(9), 'a-'.repeat(300)],
    ['a word, a name, a word', 'a|scrapy.core.engineI-', 'scrapy.core.engineI'.repeat(30)],
    ['times between words', '-/I12:00:00/-/I12:00:00scrapy.core.engine_:', '/-/I12:00:00'.repeat(50)]
  ])('is not learned if the end of %s would be tried everywhere', (_what, head, line) => {
    const format = learnHeadFormat(`${head} INFO scrapy.core.engine Spider opened`)
    if (format === null) return
    const { pattern } = createPatternReader(format)
    const begun = performance.now()
    for (let times = 0; times < 100; times += 1) pattern.exec(line.slice(0, MAX_HEAD))
    expect(performance.now() - begun).toBeLessThan(1_000)
  })

  it('never makes the parsing of a line throw', () => {
    const formats = FORMATS.map(
      ([, [time], head]) => learnHeadFormat(`${head(time, 'INFO', 'scrapy.utils.log')}Versions: x`)!
    )
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(...FORMATS.map(([, [time], head]) => head(time, 'INFO', 'a')))
    )
    fc.assert(
      fc.property(
        fc.array(text, { maxLength: 4 }),
        fc.constantFrom(...formats, { kind: 'json' as const }),
        (parts, format) => {
          const line = parts.join('')
          const read = parseRecordHead(line, format)
          if (read !== null) expect(read.messageAt).toBeLessThanOrEqual(line.length)
        }
      )
    )
  })
})

describe('a JSON record', () => {
  const JSON_FORMAT = { kind: 'json' } as const
  it.each([
    [
      { asctime: '2026-11-02 12:00:02,250', levelname: 'ERROR', name: 'shop', message: 'boom' },
      { time: '12:00:02', fraction: '250', level: 'ERROR', logger: 'shop' }
    ],
    [
      { timestamp: '2026-11-02T12:00:02.250000Z', level: 'warning', logger: 'shop', event: 'boom' },
      { time: '12:00:02', level: 'WARNING', logger: 'shop' }
    ],
    [
      { ts: 1793620802.25, severity: 'CRITICAL', msg: 'boom' },
      { time: '12:00:02', level: 'CRITICAL', logger: '' }
    ],
    [
      { '@timestamp': '2026-11-02T12:00:02Z', 'log.level': 'info', 'log.logger': 'a', message: 'boom' },
      { level: 'INFO', logger: 'a' }
    ],
    [
      { levelno: 30, message: 'boom' },
      { level: 'WARNING', date: '', time: '' }
    ]
  ])('%j is recognized', (fields, head) => {
    const line = JSON.stringify(fields)
    expect(findHeadFormat([line])).toEqual(JSON_FORMAT)
    expect(parseRecordHead(line, JSON_FORMAT)).toMatchObject({ ...head, message: 'boom', messageAt: 0 })
  })

  it.each([
    '{"name": "kettle", "message": "an item"}',
    '{"level": "high", "message": "x"}',
    '{"level": "info"}',
    '{"level": "info", "message": "cut',
    '{}',
    '["a"]',
    '{"level":{},"message":1}'
  ])('%s is not recognized', (line) => expect(parseRecordHead(line, JSON_FORMAT)).toBeNull())

  it.each([
    ['no text', '{"toString":1}'],
    ['lists deeper than the stack', '['.repeat(60_000) + ']'.repeat(60_000)]
  ])('can have %s as its parts', (_what, value) => {
    const line = `{"level":"INFO","time":${value},"message":${value}}`
    expect(parseRecordHead(line, JSON_FORMAT)).toMatchObject({ level: 'INFO', date: '', time: '' })
  })
})

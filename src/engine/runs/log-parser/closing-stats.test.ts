import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findTestPython } from '../../testing/test-python.ts'
import { parseClosingStats } from './closing-stats.ts'

const sample = (name: string) =>
  readFileSync(join(import.meta.dirname, '..', '..', 'jobs', 'outcome', 'samples', `${name}.log`), 'utf8')
const HEADING = '2026-11-21 01:00:00 [scrapy.statscollectors] INFO: Dumping Scrapy stats:\n'
const statsOf = (dict: string) => parseClosingStats(HEADING + dict).stats

describe('closing stats', () => {
  test('of a real run are read whole, times in UTC', () => {
    const closing = parseClosingStats(sample('finished'))
    expect(closing).toMatchObject({
      finishReason: 'finished',
      pages: 2,
      items: 10,
      errors: 0,
      killingLine: null
    })
    expect(closing.stats).toMatchObject({
      start_time: expect.stringMatching(/^2026-11-21T01:25:25\.\d{3}Z$/),
      finish_time: expect.stringMatching(/^2026-11-21T01:25:2\d\.\d{3}Z$/),
      'downloader/response_status_count/200': 2,
      items_per_minute: null,
      elapsed_time_seconds: expect.any(Number)
    })
  })

  test.each(['json-stdlib-2.13', 'json-structlog-2.13', 'format-pipes-2.13', 'format-colour-2.13'])(
    'are found in the format %s',
    (name) => {
      const text = readFileSync(join(import.meta.dirname, 'samples', `${name}.log`), 'utf8')
      const { finishReason, stats, items } = parseClosingStats(text)
      expect({ finishReason, items }).toEqual({ finishReason: 'finished', items: 7 })
      expect(stats).toMatchObject({
        'downloader/request_count': expect.any(Number),
        start_time: expect.stringMatching(/^2026-/)
      })
    }
  )

  test('of Scrapy 2.7, whose times have no zone, are read the same', () => {
    expect(parseClosingStats(sample('scrapy-2-7'))).toMatchObject({
      finishReason: 'finished',
      pages: 2,
      items: 20,
      stats: { start_time: '2026-11-21T01:25:37.864Z' }
    })
  })

  test('can contain every kind of Python value', () => {
    const dict = String.raw`{'plain': 12,
 'negative': -1.5,
 'exponent': 1e-05,
 'huge': 123456789012345678901234567890,
 'infinite': inf,
 'none': None,
 'true': True,
 "it's": "don't",
 'escaped': 'a\'b\\c\nd\xe9\u20ac\U0001f600\q',
 'long': 'one '
         'two '
         "three",
 'bytes': b'x,}y',
 'list': ['a', {'b': (1, 2)}, "}"],
 'date': datetime.datetime(2026, 1, 2, 3, 4),
 'day': datetime.date(2026, 1, 2),
 'local': datetime.datetime(2026, 1, 2, 3, 4, tzinfo=zoneinfo.ZoneInfo(key='Asia/Tokyo')),
 '__proto__': 1}`
    expect(statsOf(dict)).toEqual(
      Object.fromEntries<string | number | boolean | null>([
        ['plain', 12],
        ['negative', -1.5],
        ['exponent', 0.00001],
        ['huge', '123456789012345678901234567890'],
        ['infinite', 'inf'],
        ['none', null],
        ['true', true],
        ["it's", "don't"],
        ['escaped', "a'b\\c\ndé€😀\\q"],
        ['long', 'one two three'],
        ['bytes', "b'x,}y'"],
        ['list', `['a', {'b': (1, 2)}, "}"]`],
        ['date', '2026-01-02T03:04:00.000Z'],
        ['day', 'datetime.date(2026, 1, 2)'],
        ['local', "datetime.datetime(2026, 1, 2, 3, 4, tzinfo=zoneinfo.ZoneInfo(key='Asia/Tokyo'))"],
        ['__proto__', 1]
      ])
    )
  })

  test.each([
    '',
    '{',
    "{'a'",
    "{'a': ",
    "{'a': 1",
    "{'a': 1,",
    "{'a': 'b",
    "{'a': [1, 2}",
    '{1 2}',
    "{'a' 1}",
    "{'a': }",
    'nothing'
  ])('that break off or are invalid (%j) are ignored', (dict) => expect(statsOf(dict)).toBeNull())

  test('can be an empty dict', () => expect(statsOf('{}')).toEqual({}))

  test('are the last block, and Windows line ends do not matter', () => {
    const text = `${HEADING}{'finish_reason': 'shutdown'}\r\n${HEADING}{'finish_reason': 'finished',\r\n 'item_scraped_count': 3}\r\n`
    expect(parseClosingStats(text)).toMatchObject({ finishReason: 'finished', items: 3, pages: 0 })
  })

  test('are limited in number and size', () => {
    const entries = Array.from({ length: 5000 }, (_, index) => `'${'k'.repeat(300)}${index}': '${'v'.repeat(900)}'`)
    const stats = statsOf(`{${entries.slice(0, 500).join(',\n ')}}`) ?? {}
    for (const [key, value] of Object.entries(stats)) {
      expect(key.length).toBeLessThanOrEqual(200)
      expect(String(value).length).toBeLessThanOrEqual(500)
    }
    const many = statsOf(`{${Array.from({ length: 5000 }, (_, index) => `'${index}': 1`).join(', ')}}`) ?? {}
    expect(Object.keys(many)).toHaveLength(1000)
  })

  test.each([
    ['keys', { '200': 3, None: 1, "b'item_scraped_count'": 9 }],
    ['objects', { item_scraped_count: 5 }],
    ['values', { big: '9007199254740993', none: null, none_text: 'None', true: true, infinite: 'inf' }]
  ])('with %s that a project adds keep Scrapy’s own, whatever the others are', (name, expected) => {
    const text = readFileSync(join(import.meta.dirname, 'samples', 'uncounted', `${name}-info.log`), 'utf8')
    const closing = parseClosingStats(text)
    expect(closing).toMatchObject({ finishReason: 'finished', pages: 1, items: 5, errors: 0 })
    expect(closing.stats).toMatchObject(expected)
  })

  test.each([1_500, 5_000])('with %i keys of a project include those of Scrapy', (count) => {
    const keys = Array.from({ length: count }, (_, index) => ` 'domains/shop-${index}.example/pages': 1,\n`).join('')
    const text = `${HEADING}{'a': 1,\n${keys} 'finish_reason': 'finished',\n 'item_scraped_count': 5}\n`
    expect(parseClosingStats(text)).toMatchObject({ finishReason: 'finished', items: 5, pages: 0 })
  })

  test('have no count if none was made or it is invalid: unknown, not 0', () => {
    const counts = (dict: string) => {
      const { pages, items, errors } = parseClosingStats(HEADING + dict)
      return { pages, items, errors }
    }
    expect(counts('{}')).toEqual({ pages: null, items: null, errors: null })
    expect(counts("{'log_count/INFO': 4}")).toEqual({ pages: null, items: null, errors: 0 })
    expect(counts("{'start_time': 1, 'item_scraped_count': '5'}")).toEqual({ pages: 0, items: null, errors: null })
    expect(counts("{'start_time': 1, 'item_scraped_count': None}").items).toBeNull()
    // The spider cleared its stats at the end.
    expect(counts("{'finish_reason': 'finished', 'finish_time': 1}").items).toBeNull()
    expect(counts("{'start_time': 1, 'item_scraped_count': 9007199254740993}").items).toBeNull()
  })

  test('are read if Python’s pprint writes any such dict', () => {
    // Includes keys and values of all types, even objects whose text is not Python syntax.
    const script = `
import json, pprint, random
class Odd:
    def __init__(self, text): self.text = text
    def __repr__(self): return self.text
dice = random.Random(34)
def text(): return ''.join(dice.choice('abz /_"\\'\\\\\\n{}[],:é😀') for _ in range(dice.choice([0, 3, 9, 120])))
def odd(): return Odd('<' + ''.join(dice.choice('ab {}[]():,"\\'') for _ in range(9)) + '>')
def value(depth=0):
    kind = dice.randrange(9 if depth < 3 else 6)
    if kind == 0: return dice.randint(-5, 5)
    if kind == 1: return dice.choice([None, True, False, 1.5, float('inf'), 2 ** 70])
    if kind == 2: return text()
    if kind == 3: return text().encode()
    if kind == 4: return odd()
    if kind == 5: return dice.choice(['x' * 300, ()])
    if kind == 6: return [value(depth + 1) for _ in range(dice.randrange(9))]
    if kind == 7: return {text(): value(depth + 1) for _ in range(dice.randrange(9))}
    return tuple(value(depth + 1) for _ in range(3))
def key():
    return dice.choice([text, text, lambda: dice.randint(0, 999), lambda: None, odd, lambda: (1, text())])()
for _ in range(400):
    # pprint writes one entry in a line if there are more than fit into one.
    own = {'finish_reason': 'finished', 'item_scraped_count': dice.randint(0, 10 ** 6), 'response_received_count': 7,
           'log_count/ERROR': dice.randint(0, 9), 'log_count/INFO': 9, 'start_time': 1}
    stats = {**{key(): value() for _ in range(dice.randrange(12))}, **own}
    print(json.dumps([pprint.pformat(stats), own]))
`
    const lines = execFileSync(findTestPython(), ['-c', script], { encoding: 'utf8', maxBuffer: 1e9 })
      .trim()
      .split('\n')
    expect(lines).toHaveLength(400)
    for (const line of lines) {
      const [dict, own] = JSON.parse(line) as [string, Record<string, number>]
      const closing = parseClosingStats(`${HEADING}${dict}\n2026-11-21 01:00:00 [x] INFO: Spider closed (finished)\n`)
      const { item_scraped_count: items, response_received_count: pages } = own
      expect(closing, dict).toMatchObject({ finishReason: 'finished', items, pages, errors: own['log_count/ERROR'] })
      expect(closing.stats, dict).toMatchObject(own)
    }
  })

  test('survive whatever Python can print as text', () => {
    const python = (text: string) =>
      `'${Array.from(text, (character) => (/[\w ]/.test(character) ? character : `\\U${(character.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`)).join('')}'`
    const text = fc.string({ unit: 'grapheme', maxLength: 100 })
    fc.assert(
      fc.property(fc.dictionary(text, fc.oneof(text, fc.integer())), (stats) => {
        const lines = Object.entries(stats).map(
          ([key, value]) => `${python(key)}: ${typeof value === 'number' ? value : python(value)}`
        )
        expect(statsOf(`{${lines.join(',\n ')}}`)).toEqual(Object.fromEntries(Object.entries(stats)))
      })
    )
  })
})

describe('the killing line', () => {
  const killing = (text: string) => parseClosingStats(text).killingLine
  const at = '2026-11-21 01:00:00'

  test('is the last error with the exception of its traceback', () => {
    expect(killing(sample('errors'))).toMatch(
      /^Spider error processing <GET http:\/\/127\.0\.0\.1:\d+\/prices\/3> .*: ValueError: could not convert string to float/
    )
  })

  test.each([
    [`${at} [shop] ERROR: first\n${at} [shop] CRITICAL: second\n${at} [shop] INFO: end\n`, 'second'],
    [`${at} [shop] ERROR: boom\n${at} [shop] INFO: got ERROR from the server\n`, 'boom'],
    [`Traceback (most recent call last):\n  File "x.py"\nImportError: no module\n`, 'ImportError: no module'],
    [
      `${at} [a] ERROR: x\nTraceback (most recent call last):\n  y\nKeyError: 1\n\nDuring handling:\n\nTraceback (most recent call last):\n  z\nTypeError: 2\n`,
      'x: TypeError: 2'
    ],
    [
      `${at} [a] ERROR: x\nTraceback (most recent call last):\n  y\nKeyError: 1\n${at} [a] INFO: Traceback is above\n`,
      'x: KeyError: 1'
    ],
    ['[ERROR] custom format\n', '[ERROR] custom format'],
    [`${at} [scrapy] INFO: fine\n 'log_count/ERROR': 3,\n`, null],
    ['', null]
  ])('%j: %j', (text, line) => expect(killing(text)).toBe(line))

  test('is found in JSON and in custom formats', () => {
    const json = (level: string, message: string, more = {}) =>
      `${JSON.stringify({ level, message, name: 'a', ...more })}\n`
    const traceback = 'Traceback (most recent call last):\n  File "x.py", line 1, in y\nKeyError: 1'
    expect(
      killing(json('INFO', 'a') + json('ERROR', 'boom\nmore', { exc_info: traceback }) + json('INFO', 'ERROR'))
    ).toBe('boom: KeyError: 1')
    expect(killing('12:00 | INFO | a.b | Spider opened\n12:01 | ERROR | a.b | boom\n12:02 | INFO | a.b | end\n')).toBe(
      'boom'
    )
  })

  test('is limited in length', () => {
    const text = `${at} [a] ERROR: ${'x'.repeat(100_000)}\nTraceback (most recent call last):\n${'y'.repeat(100_000)}\n`
    expect(killing(text)?.length).toBeLessThan(700)
  })
})

describe('hostile text', () => {
  test('never throws an exception', () => {
    const parts = fc.constantFrom(
      HEADING,
      "{'",
      "': ",
      "'a': 1,",
      '}',
      '\\x',
      '\\U',
      '"',
      '(',
      ')',
      '\n',
      'Spider closed (',
      'ERROR',
      'Traceback (most recent call last):',
      'datetime.datetime(',
      '2026-11-21 01:00:00 [a] ERROR: '
    )
    fc.assert(
      fc.property(
        fc.array(fc.oneof(parts, fc.string({ unit: 'grapheme' }))),
        (pieces) => parseClosingStats(pieces.join('')) !== null
      )
    )
  })

  test.each([
    HEADING,
    `${HEADING}{`,
    "'",
    "{'a': ",
    '[',
    "'a' ",
    '\\',
    '\n',
    'Traceback (most recent call last):\n',
    'Traceback (most recent call last):\n  x\n',
    '2026-11-21 01:00:00 [',
    ' ',
    'Spider closed (',
    '9, ',
    'ERRO'
  ])('of a megabyte of %j is read quickly', (piece) => {
    const text = piece.repeat(1_000_000 / piece.length)
    const begun = performance.now()
    parseClosingStats(text)
    parseClosingStats(`${HEADING}{'a': ${text}`)
    parseClosingStats(`${HEADING}{'a': datetime.datetime(${text}`)
    // A quadratic pass over a megabyte would take minutes.
    expect(performance.now() - begun).toBeLessThan(3000)
  })
})

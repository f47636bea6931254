import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { looksLikeError, parseRecordHead, RECORD_LEVELS, TRACEBACK_HEADING } from './log-record.ts'

const SAMPLES = join(import.meta.dirname, '..', 'engine', 'jobs', 'outcome', 'samples')
const logsIn = (directory: string) =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.log'))
const digits = (length: number) => fc.stringMatching(new RegExp(`^\\d{${length}}$`))
const parts = fc.record({
  date: fc.tuple(digits(4), digits(2), digits(2)).map((all) => all.join('-')),
  time: fc.tuple(digits(2), digits(2), digits(2)).map((all) => all.join(':')),
  fraction: fc.stringMatching(/^\d{0,6}$/),
  logger: fc.string({ unit: 'grapheme', maxLength: 20 }).filter((name) => !name.includes(']')),
  level: fc.constantFrom(...RECORD_LEVELS)
})

describe('the head of a record', () => {
  it('is parsed back from what a formatter wrote, whatever the message', () => {
    fc.assert(
      fc.property(
        parts,
        fc.constantFrom(' ', 'T'),
        fc.constantFrom(',', '.'),
        fc.constantFrom('', 'Z', '+0200', ' -05:00'),
        fc.string({ unit: 'grapheme' }),
        (head, between, point, zone, message) => {
          const { date, time, fraction, logger, level } = head
          const line = `${date}${between}${time}${fraction && point + fraction}${zone} [${logger}] ${level}: ${message}`
          const { messageAt, ...read } = parseRecordHead(line)!
          expect([read, line.slice(messageAt)]).toEqual([head, message])
        }
      )
    )
  })

  it.each([
    ['2026-11-19 03:12:51 [py.warnings] WARN: short for WARNING', 'WARNING'],
    ['2026-11-19 03:12:51 [] INFO: a logger without a name', 'INFO'],
    ['2026-11-19 03:12:51 [shop] ERROR:', 'ERROR']
  ])('of %j has the level %s', (line, level) => expect(parseRecordHead(line)?.level).toBe(level))

  it.each([
    '',
    TRACEBACK_HEADING,
    '  File "x.py", line 1',
    ' 2026-11-19 03:12:51 [shop] ERROR: indented',
    'got 2026-11-19 03:12:51 [shop] ERROR: in the middle',
    '2026-11-19 03:12:51 [a] [b] INFO: two brackets',
    '2026-11-19 03:12:51 [shop] NOTICE: a level that Python does not have',
    '2026-11-19 03:12:51 [shop] info: not a level either',
    '2026-11-19 [shop] ERROR: no time'
  ])('is not in %j', (line) => expect(parseRecordHead(line)).toBeNull())

  it('is read in linear time', () => {
    const begun = performance.now()
    for (const piece of ['2026-11-21 01:00:00 [', '9', '2026-11-21 01:00:00.', ' ']) {
      parseRecordHead(piece.repeat(1_000_000 / piece.length))
    }
    expect(performance.now() - begun).toBeLessThan(1_000)
  })

  it.each(logsIn(SAMPLES))('is found in every record of the real log %s', (name) => {
    const text = readFileSync(join(SAMPLES, name), 'utf8')
    const lines = text.split('\n').filter((line) => line !== '')
    const dated = lines.filter((line) => /^\d{4}-/.test(line))
    expect(lines.filter((line) => parseRecordHead(line) !== null)).toEqual(dated)
    expect(dated.length).toBeGreaterThan(0)
  })
})

describe("a project's own log format", () => {
  it.each([
    ['[ERROR] custom format', true],
    ['12:00 | CRITICAL | boom', true],
    [" 'log_count/ERROR': 3,", false],
    [`${'x'.repeat(120)} ERROR`, false]
  ])('%j is recognized as an error: %s', (line, expected) => expect(looksLikeError(line)).toBe(expected))
})

import { describe, expect, it } from 'vitest'
import { type LogLevel, MAX_LINE_CHARS, plainLine, readLine, styleLine } from './log-line.ts'
import { paint } from './styled-text.ts'

const WIDE = { isNarrow: false, showsTimes: true }
const read = (raw: string, above: LogLevel = 'INFO') => readLine(raw, 0, above)
const shown = (raw: string, above: LogLevel = 'INFO', look = WIDE) => styleLine(read(raw, above), look).text
const painted = (raw: string, above: LogLevel = 'INFO') => {
  const { text, runs } = styleLine(read(raw, above), WIDE)
  return paint(text, 0, text.length, [runs])
}

describe('a line', () => {
  it.each([
    ['2026-11-19 03:12:51 [scrapy.extensions.logstats] INFO: Crawled 4,018 pages', 'INFO'],
    ['2026-11-19 03:12:51,123 [prices] DEBUG: x', 'DEBUG'],
    ['2026-11-19 03:12:51 [py.warnings] WARNING: x', 'WARNING'],
    ['2026-11-19 03:12:51 [twisted] CRITICAL: Unhandled error in Deferred:', 'ERROR'],
    ['\u001b[31m2026-11-19 03:12:51 [prices] ERROR: x\u001b[0m', 'ERROR']
  ])('has the level of %j', (raw, level) => {
    expect(read(raw, 'DEBUG')).toEqual({ raw, level, continues: false, offset: 0 })
  })

  it('of a traceback has the level of the line above it', () => {
    expect(read('Traceback (most recent call last):', 'ERROR')).toMatchObject({ level: 'ERROR', continues: true })
  })

  it('does not start a record with a level in the middle of a message', () => {
    expect(read('  got 2026-11-19 03:12:51 [a] ERROR: no')).toMatchObject({ level: 'INFO', continues: true })
  })
})

describe('a line as it is shown', () => {
  it('has time, level, logger and message in columns', () => {
    const raw = '2026-11-19 03:12:52 [scrapy.core.scraper] ERROR: Spider error'
    expect(shown(raw)).toBe('03:12:52 ERROR    [scrapy.core.scraper] Spider error')
    expect(plainLine(read(raw))).toBe(raw)
    expect(shown(raw, 'INFO', { isNarrow: false, showsTimes: false })).toBe(
      'ERROR    [scrapy.core.scraper] Spider error'
    )
  })

  it('omits the logger if there is no room for it', () => {
    const narrow = { isNarrow: true, showsTimes: true }
    expect(shown('2026-11-19 03:12:52 [scrapy.core.scraper] WARNING: Slow', 'INFO', narrow)).toBe(
      '03:12:52 WARNING Slow'
    )
    expect(shown('Traceback:', 'ERROR', narrow)).toBe('  Traceback:')
  })

  it('highlights the exception of a traceback', () => {
    expect(shown("KeyError: 'offerPrice'", 'ERROR').trim()).toBe("KeyError: 'offerPrice'")
    expect(painted("KeyError: 'offerPrice'", 'ERROR')).toContain('\u001b[31mKeyError')
    expect(painted('  File "a.py"', 'ERROR')).not.toContain('\u001b[31m')
  })

  it('keeps the colours of the spider, and no other control sequences', () => {
    const raw = '2026-11-19 03:12:52 [a] INFO: \u001b[32mgreen\u001b[0m\u001b]0;title\u0007\u001b[2J\tend'
    expect(shown(raw)).toBe('03:12:52 INFO     [a] green    end')
    expect(painted(raw)).toContain('\u001b[32mgreen\u001b[0m')
  })

  it('is cut if it would fill the memory, and says how much is missing', () => {
    const text = shown('x'.repeat(MAX_LINE_CHARS + 1500))
    expect(text.endsWith('… 1,500 more characters')).toBe(true)
    expect(text.length).toBeLessThan(MAX_LINE_CHARS + 60)
  })
})

import { describe, expect, it } from 'vitest'
import { MAX_LINE_CHARS, paintLogLine, parseLogLine, plainLogLine } from './log-line.ts'
import { withoutColours } from './sanitise.ts'

describe('parseLogLine', () => {
  it.each([
    ['2026-11-19 03:12:51 [scrapy.extensions.logstats] INFO: Crawled 4,018 pages', 'INFO'],
    ['2026-11-19 03:12:51,123 [prices] DEBUG: x', 'DEBUG'],
    ['2026-11-19 03:12:51 [py.warnings] WARNING: x', 'WARNING'],
    ['2026-11-19 03:12:51 [twisted] CRITICAL: Unhandled error in Deferred:', 'ERROR']
  ])('reads the level of %j', (raw, level) => {
    expect(parseLogLine(raw, 'DEBUG')).toEqual({ text: raw, level, continues: false })
  })

  it('gives a traceback the level of the line above it', () => {
    expect(parseLogLine('Traceback (most recent call last):', 'ERROR')).toMatchObject({
      level: 'ERROR',
      continues: true
    })
  })

  it('does not take a level in the middle of a message as the start of a line', () => {
    expect(parseLogLine('  got 2026-11-19 03:12:51 [a] ERROR: no', 'INFO')).toMatchObject({
      level: 'INFO',
      continues: true
    })
  })

  it('cuts a line that would fill the memory and says how much is missing', () => {
    const line = parseLogLine('x'.repeat(MAX_LINE_CHARS + 1500), 'INFO')
    expect(line.text.endsWith('… 1,500 more characters')).toBe(true)
    expect(line.text.length).toBeLessThan(MAX_LINE_CHARS + 40)
  })

  it('cleans the text', () => {
    expect(parseLogLine('a\u001b]0;title\u0007b', 'INFO').text).toBe('ab')
  })
})

describe('paintLogLine', () => {
  it('aligns time, level, logger and message in columns', () => {
    const line = parseLogLine('2026-11-19 03:12:52 [scrapy.core.scraper] ERROR: Spider error', 'INFO')
    expect(withoutColours(paintLogLine(line))).toBe('03:12:52 ERROR    [scrapy.core.scraper] Spider error')
    expect(plainLogLine(line)).toBe('2026-11-19 03:12:52 [scrapy.core.scraper] ERROR: Spider error')
  })

  it('omits the logger if there is no room for it', () => {
    const line = parseLogLine('2026-11-19 03:12:52 [scrapy.core.scraper] WARNING: Slow', 'INFO')
    expect(withoutColours(paintLogLine(line, true))).toBe('03:12:52 WARNING Slow')
    expect(paintLogLine(parseLogLine('Traceback:', 'ERROR'), true)).toBe('  Traceback:')
  })

  it('highlights the line that names the exception', () => {
    const painted = paintLogLine(parseLogLine("KeyError: 'offerPrice'", 'ERROR'))
    expect(withoutColours(painted).trim()).toBe("KeyError: 'offerPrice'")
    expect(painted).toContain('\u001b[31mKeyError')
    expect(paintLogLine(parseLogLine('  File "a.py"', 'ERROR'))).not.toContain('\u001b[31m')
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { emptySpans, scanScrapyHead } from './head-spans.ts'
import { msOf, readTimeText, TIME_PATTERNS, TIME_STYLES } from './time-text.ts'

const NOON = Date.UTC(2026, 10, 2, 12, 0, 2)

describe('the text of a time', () => {
  it.each([
    ['2026-11-02 12:00:02', 'iso', NOON, null],
    ['2026-11-02T12:00:02.250Z', 'iso', NOON + 250, 0],
    ['2026-11-02 12:00:02,250 -0530', 'iso', NOON + 250, -330],
    ['2026/11/02 12:00:02+02:00', 'iso', NOON, 120],
    ['02/11/2026 12:00:02', 'numeric', NOON, null],
    ['2.11.26, 12:00:02', 'numeric', NOON, null],
    ['02-11-2026 12:00:02 PM', 'numeric', NOON, null],
    ['11/13/2026 01:00:00 am', 'numeric', Date.UTC(2026, 10, 13, 1), null],
    ['02/Nov/2026:12:00:02 +0000', 'named-month', NOON, 0],
    ['2 November 2026 12:00:02', 'named-month', NOON, null],
    ['Mon Nov  2 12:00:02 2026', 'syslog', NOON, null],
    ['Nov 2, 2026 12:00:02', 'syslog', NOON, null],
    ['Nov  2 12:00:02', 'syslog', Date.UTC(1970, 10, 2, 12, 0, 2), null],
    ['20261102 120002.25', 'compact', NOON + 250, null],
    ['1793620802.25', 'epoch', NOON + 250, 0],
    ['1793620802250', 'epoch', NOON + 250, 0],
    ['12:00:02', 'clock', 12 * 3_600_000 + 2_000, null]
  ] as const)('%s (%s) is parsed', (text, style, atMs, zone) => {
    expect(text).toMatch(new RegExp(`^(?:${TIME_PATTERNS[style]})$`))
    expect(readTimeText(text, style)).toEqual({ atMs, zoneMinutes: zone ?? Number.NaN })
  })

  it('uses the given order of day and month, unless a number settles it', () => {
    expect(readTimeText('02/03/2026 00:00:00', 'numeric', 'month-first').atMs).toBe(Date.UTC(2026, 1, 3))
    expect(readTimeText('02/03/2026 00:00:00', 'numeric', 'day-first').atMs).toBe(Date.UTC(2026, 2, 2))
    expect(readTimeText('13/03/2026 00:00:00', 'numeric', 'month-first').atMs).toBe(Date.UTC(2026, 2, 13))
  })

  it.each(['2026-13-02 12:00:02', '2026-11-02 25:00:02', '2026-00-02 12:00:02'])('%s is not a time', (text) =>
    expect(readTimeText(text, 'iso').atMs).toBeNaN()
  )

  it('counts days as a calendar does, and the fast path of the default format agrees', () => {
    const day = fc.date({
      min: new Date('0001-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59Z'),
      noInvalidDate: true
    })
    const spans = emptySpans()
    fc.assert(
      fc.property(day, (date) => {
        const text = date.toISOString().slice(0, 23)
        const atMs = date.getTime()
        expect(readTimeText(text, 'iso').atMs).toBe(atMs)
        const line = `${text.replace('T', ' ').replace('.', ',')} [a] INFO: x`
        expect(scanScrapyHead(line, 0, line.length, spans)).toBe(true)
        expect(spans.atMs).toBe(atMs)
      })
    )
    expect(msOf(2024, 2, 29, 0, 0, 0, 0)).toBe(Date.UTC(2024, 1, 29))
  })

  it('never makes parsing throw', () => {
    for (const style of TIME_STYLES) {
      fc.assert(
        fc.property(fc.stringMatching(new RegExp(`^(?:${TIME_PATTERNS[style].replaceAll('\\b', '')})$`)), (text) => {
          expect(typeof readTimeText(text, style).atMs).toBe('number')
        }),
        { numRuns: 50 }
      )
    }
  })
})

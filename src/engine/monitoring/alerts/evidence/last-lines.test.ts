import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lastLines } from './last-lines.ts'

const HEAD = '2026-11-28 10:36:58 [scrapy.core.engine] INFO:'
const STATS = '2026-11-28 10:37:02 [scrapy.statscollectors] INFO: Dumping Scrapy stats:'
const many = (count: number) => Array.from({ length: count }, (_, at) => `${HEAD} line ${at}`)

test('the last thirty lines of a log are shown, without a cut first line', () => {
  const lines = many(40)
  expect(lastLines(`${lines.join('\r\n')}\n\n`, false)).toEqual(lines.slice(-30))
  expect(lastLines('half of a line\nwhole\n', true)).toEqual(['whole'])
  expect(lastLines('one line without an end', true)).toEqual(['one line without an end'])
  expect(lastLines('', false)).toEqual([])
})

test('closing stats are shortened to leave room for the lines before them', () => {
  const stats = ["{'downloader/request_bytes': 230,", " 'ours': {'a': {'b': 1},", "          'c': 2},", " 'x': 1}"]
  const end = `${HEAD} Spider closed (finished)`
  const text = ["KeyError: 'price'", STATS, ...stats, end].join('\n')
  expect(lastLines(text, false)).toEqual(["KeyError: 'price'", `${STATS} (4 lines left out)`, end])
  expect(lastLines([STATS, "{'x': 1}", end].join('\n'), false)).toEqual([`${STATS} (1 line left out)`, end])
})

test('stats without an end, and lines that only look like stats, are shown unchanged', () => {
  for (const lines of [
    [STATS, "{'x': 1,", " 'y': 2,"],
    [STATS, "{'x': 1,", `${HEAD} killed {}`],
    [STATS, 'no dictionary {}'],
    [STATS]
  ])
    expect(lastLines(lines.join('\n'), false)).toEqual(lines)
})

test('the last lines of any log are lines of that log, in order, except for shortened stats', () => {
  const line = fc.oneof(fc.string(), fc.constantFrom(STATS, "{'x': 1,", " 'y': 2}", '{}', '', ' }', '\r'))
  fc.assert(
    fc.property(fc.array(line, { maxLength: 60 }), fc.boolean(), (lines, beginsInLine) => {
      const text = lines.join('\n')
      const shown = lastLines(text, beginsInLine)
      expect(shown.length).toBeLessThanOrEqual(30)
      const all = text.split('\n').map((one) => one.trimEnd())
      let at = 0
      for (const one of shown) {
        const found = all.indexOf(one.replace(/ \(\d+ lines? left out\)$/, ''), at)
        expect(found).toBeGreaterThanOrEqual(at)
        at = found + 1
      }
    })
  )
})

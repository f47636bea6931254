import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lastLines } from './last-lines.ts'

const HEAD = '2026-11-28 10:36:58 [scrapy.core.engine] INFO:'
const STATS = '2026-11-28 10:37:02 [scrapy.statscollectors] INFO: Dumping Scrapy stats:'
const many = (count: number) => Array.from({ length: count }, (_, at) => `${HEAD} line ${at}`)

test('a log ends with its last thirty lines, without the half of one at the beginning', () => {
  const lines = many(40)
  expect(lastLines(`${lines.join('\r\n')}\n\n`, false)).toEqual(lines.slice(-30))
  expect(lastLines('half of a line\nwhole\n', true)).toEqual(['whole'])
  expect(lastLines('one line without an end', true)).toEqual(['one line without an end'])
  expect(lastLines('', false)).toEqual([])
})

test('closing statistics leave room for what stands before them', () => {
  const stats = ["{'downloader/request_bytes': 230,", " 'ours': {'a': {'b': 1},", "          'c': 2},", " 'x': 1}"]
  const end = `${HEAD} Spider closed (finished)`
  const text = ["KeyError: 'price'", STATS, ...stats, end].join('\n')
  expect(lastLines(text, false)).toEqual(["KeyError: 'price'", `${STATS} (4 lines left out)`, end])
  expect(lastLines([STATS, "{'x': 1}", end].join('\n'), false)).toEqual([`${STATS} (1 line left out)`, end])
})

test('statistics without an end, and what only looks like them, are shown as they are', () => {
  for (const lines of [
    [STATS, "{'x': 1,", " 'y': 2,"],
    [STATS, "{'x': 1,", `${HEAD} killed {}`],
    [STATS, 'no dictionary {}'],
    [STATS]
  ])
    expect(lastLines(lines.join('\n'), false)).toEqual(lines)
})

test('whatever a log holds, its last lines are lines of it, in their order, but for statistics', () => {
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

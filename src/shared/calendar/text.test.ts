import { describe, expect, it } from 'vitest'
import { expandText, problemOfText } from './index.ts'

const values = {
  nominalMs: Date.UTC(2026, 2, 29, 1, 0, 7, 45),
  previousMs: Date.UTC(2026, 2, 28, 1, 30),
  nowMs: Date.UTC(2026, 2, 29, 1, 1),
  zone: 'Europe/Berlin',
  schedule: 'nightly'
}

describe('placeholders', () => {
  it.each([
    ['{nominal}', '2026-03-29T03:00:07+02:00'],
    ['{nominal:yyyy-MM-dd}/{previous:yyyyMMdd}', '2026-03-29/20260328'],
    ["{nominal:yy/M HH:mm:ss.SSS XXX 'of day' dd}", '26/M 03:00:07.045 +02:00 of day 29'],
    ['{now:unix} {now:unixms}', '1774746060 1774746060000'],
    ['{schedule}: {{nominal} and {', 'nightly: {nominal} and {'],
    ['{"a": {"b": 1}}', '{"a": {"b": 1}}'],
    ['{unknown} {schedule:x}', '{unknown} {schedule:x}']
  ])('%s', (text, expanded) => {
    expect(expandText(text, values)).toBe(expanded)
  })

  it('missing values become empty', () => {
    expect(expandText('[{previous}] [{stats.none}]', { ...values, previousMs: null, stats: {} })).toBe('[] []')
  })

  it('chains have the previous job, its outcome and its stats, whose placeholders are not expanded', () => {
    const chain = { ...values, job: 'j1', outcome: 'succeeded', stats: { item_scraped_count: 12, 'a/b': '{schedule}' } }
    expect(expandText('{job} {outcome} {stats.item_scraped_count} {stats.a/b}', chain)).toBe(
      'j1 succeeded 12 {schedule}'
    )
  })

  it('are limited to a thousand, but literal braces are not', () => {
    expect(problemOfText('{now}'.repeat(1_000))).toBeNull()
    expect(problemOfText('{now}'.repeat(1_001))?.text).toBe('It has more than 1,000 placeholders. Use fewer.')
    expect(() => expandText('{now}'.repeat(1_001), values)).toThrow(/more than 1,000 placeholders/)
    expect(expandText(`${'{{'.repeat(100_000)}{{{schedule}`, values)).toBe(`${'{'.repeat(100_001)}nightly`)
    expect(problemOfText(`${'{{'.repeat(100_000)}{{nominl}`)).toBeNull()
    const stats = { long: 'x'.repeat(100_000) }
    expect(() => expandText('{stats.long}'.repeat(200), { ...values, stats })).toThrow(/more than 16 MB/)
  })

  it('an unknown placeholder is reported with the known ones', () => {
    expect(problemOfText('{nominal:yyyy} {{x} {"a":1}')).toBeNull()
    expect(problemOfText('{nominl}')?.text).toBe(
      '{nominl} is not known here. Use {nominal}, {previous}, {now}, {schedule}; write {{ for a literal brace.'
    )
    expect(problemOfText('{stats.items}')).not.toBeNull()
    expect(problemOfText('{stats.items} {job} {outcome}', 'chain')).toBeNull()
  })
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { judgeOutcome } from './outcome.ts'

const sample = (name: string) => readFileSync(join(import.meta.dirname, 'samples', `${name}.log`), 'utf8')
const code = (value: number) => ({ code: value, signal: null })
const signal = (name: string) => ({ code: null, signal: name })
const stats = (reason: string) =>
  `2026-11-21 01:00:00 [scrapy.statscollectors] INFO: Dumping Scrapy stats:\n{'finish_reason': '${reason}'}\n`
const MEMORY_LIMIT = 'memory limit of 512 MB (used 530 MB)'
const MEMORY_ERROR =
  '2026-11-21 01:00:00 [scrapy.core.scraper] ERROR: Spider error\nTraceback (most recent call last):\n  File "a.py"\nMemoryError\n'
const HIDDEN = '2026-11-21 01:00:00 [shop] WARNING: A price is missing\n'

describe('logs of real Scrapy', () => {
  test.each([
    ['finished', null, false, 'succeeded', 'finished'],
    ['finished', code(0), true, 'succeeded', 'finished'],
    ['scrapy-2-7', null, false, 'succeeded', 'finished'],
    ['item-limit', null, false, 'succeeded', 'closespider_itemcount'],
    ['errors', null, false, 'succeeded', 'finished'],
    ['broken', null, false, 'failed', 'ended without closing stats'],
    ['broken', code(1), false, 'failed', 'exit code 1'],
    ['stopped', null, true, 'cancelled', 'shutdown'],
    ['stopped', null, false, 'failed', 'shutdown'],
    ['shutdown', code(0), true, 'cancelled', 'ended without closing stats'],
    ['shutdown', code(0), false, 'failed', 'ended without closing stats'],
    ['killed', signal('SIGKILL'), true, 'cancelled', 'killed by SIGKILL'],
    ['killed', signal('SIGKILL'), false, 'failed', 'killed by SIGKILL'],
    ['killed', null, false, 'failed', 'ended without closing stats']
  ])('%s, exit %j, cancel asked %s: %s', (name, exit, cancelAsked, outcome, reason) => {
    expect(judgeOutcome({ tail: sample(name), exit, cancelAsked })).toMatchObject({ outcome, reason })
  })

  test('a run that finished with errors shows them, and no killing line', () => {
    expect(judgeOutcome({ tail: sample('errors'), exit: null, cancelAsked: false })).toMatchObject({
      killingLine: null,
      counts: { pages: 3, items: 23, errors: 1 },
      stats: { 'spider_exceptions/ValueError': 1, elapsed_time_seconds: expect.closeTo(0.038, 3) }
    })
  })

  test('a run that failed shows what killed it', () => {
    expect(judgeOutcome({ tail: sample('broken'), exit: null, cancelAsked: false })).toEqual({
      outcome: 'failed',
      reason: 'ended without closing stats',
      killingLine: 'Task exception was never retrieved: RuntimeError: This spider is broken on purpose',
      stats: null,
      counts: { pages: null, items: null, errors: null }
    })
  })
})

test.each([
  [stats('finished'), code(1), false, 'failed', 'exit code 1'],
  [stats('finished'), signal('SIGSEGV'), false, 'failed', 'killed by SIGSEGV'],
  [stats('finished'), signal('SIGKILL'), true, 'cancelled', 'finished'],
  [stats('shutdown'), signal('SIGKILL'), true, 'cancelled', 'shutdown'],
  [stats('cancelled'), null, true, 'cancelled', 'cancelled'],
  [stats('cancelled'), null, false, 'failed', 'cancelled'],
  [stats('closespider_timeout'), null, false, 'succeeded', 'closespider_timeout'],
  [stats('closespider_pagecount'), null, true, 'succeeded', 'closespider_pagecount'],
  [stats('closespider_errorcount'), null, false, 'failed', 'closespider_errorcount'],
  [stats('memusage_exceeded'), null, true, 'failed', 'memusage_exceeded'],
  [stats('banned'), null, false, 'failed', 'banned'],
  ['[scrapy.core.engine] INFO: Spider closed (finished)\n', null, false, 'succeeded', 'finished'],
  ['[scrapy.core.engine] INFO: Closing spider (finished)\n', null, false, 'failed', 'ended without closing stats'],
  [HIDDEN, code(0), false, 'succeeded', 'exit code 0'],
  ['', code(0), false, 'succeeded', 'exit code 0'],
  [null, code(0), false, 'succeeded', 'exit code 0'],
  [HIDDEN, null, false, 'failed', 'ended without closing stats'],
  [null, null, false, 'failed', 'no log'],
  [null, null, true, 'cancelled', 'ended without closing stats'],
  [null, code(2), false, 'failed', 'exit code 2'],
  [null, { code: null, signal: null }, false, 'failed', 'ended for an unknown reason'],
  [stats('shutdown'), { ...code(0), limit: MEMORY_LIMIT }, false, 'failed', 'memory limit of 512 MB'],
  [stats('shutdown'), { ...code(0), limit: MEMORY_LIMIT }, true, 'failed', 'memory limit of 512 MB'],
  [HIDDEN, { ...signal('SIGKILL'), limit: MEMORY_LIMIT }, false, 'failed', 'memory limit of 512 MB'],
  [null, { ...code(0), limit: MEMORY_LIMIT }, false, 'failed', 'memory limit of 512 MB'],
  [stats('finished'), { ...code(0), limit: MEMORY_LIMIT }, false, 'succeeded', 'finished'],
  [stats('finished'), { ...signal('SIGKILL'), limit: MEMORY_LIMIT }, false, 'failed', 'memory limit of 512 MB'],
  [MEMORY_ERROR, code(1), false, 'failed', 'out of memory (MemoryError)'],
  [MEMORY_ERROR, code(1), true, 'cancelled', 'ended without closing stats'],
  [MEMORY_ERROR, signal('SIGKILL'), false, 'failed', 'killed by SIGKILL'],
  [MEMORY_ERROR + stats('finished'), code(0), false, 'succeeded', 'finished']
])('%j, exit %j, cancel asked %s: %s, %s', (tail, exit, cancelAsked, outcome, reason) => {
  expect(judgeOutcome({ tail, exit, cancelAsked })).toMatchObject({ outcome, reason })
})

test('nothing is cancelled that nobody asked to cancel, nothing succeeds whose process failed', () => {
  const reasons = fc.constantFrom('finished', 'shutdown', 'cancelled', 'closespider_itemcount', 'x')
  const tails = fc.oneof(fc.constant(null), fc.string(), reasons.map(stats))
  const ends = fc.oneof(fc.integer({ min: 0, max: 3 }).map(code), fc.constant(signal('SIGTERM')))
  const limited = fc.tuple(ends, fc.constant(MEMORY_LIMIT)).map(([end, limit]) => ({ ...end, limit }))
  const exits = fc.oneof(fc.constant(null), ends, limited)
  fc.assert(
    fc.property(tails, exits, fc.boolean(), (tail, exit, cancelAsked) => {
      const { outcome, reason } = judgeOutcome({ tail, exit, cancelAsked })
      if (exit !== null && 'limit' in exit && outcome !== 'succeeded') expect(reason).toBe('memory limit of 512 MB')
      if (!cancelAsked) expect(outcome).not.toBe('cancelled')
      if (exit !== null && exit.code !== 0) expect(outcome).not.toBe('succeeded')
      expect(outcome).not.toBe('lost')
      expect(reason).not.toBe('')
    })
  )
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createLogParser } from '../../runs/log-parser/log-parser.ts'
import { type Message, plain, render } from '../../../shared/texts/message.ts'
import { judgeOutcome as judge } from './outcome.ts'

const judgeOutcome = (evidence: Parameters<typeof judge>[0]) => {
  const judged = judge(evidence)
  return { ...judged, reason: render(judged.reason) }
}

const sample = (name: string) => readFileSync(join(import.meta.dirname, 'samples', `${name}.log`), 'utf8')
const code = (value: number) => ({ code: value, signal: null })
const signal = (name: string) => ({ code: null, signal: name })
const stats = (reason: string) =>
  `2026-11-21 01:00:00 [scrapy.statscollectors] INFO: Dumping Scrapy stats:\n{'finish_reason': '${reason}'}\n`
const MEMORY_LIMIT = plain('memory limit of 512 MB (used 530 MB)')
const MEMORY_ERROR =
  '2026-11-21 01:00:00 [scrapy.core.scraper] ERROR: Spider error\nTraceback (most recent call last):\n  File "a.py"\nMemoryError\n'
const SPIDERS_OWN = `2026-11-21 01:00:00 [shop] INFO: Spider opened: shop
2026-11-21 01:00:00 [shop.stats] INFO: Crawled 12 pages (at 3 pages/min), scraped 4 items (at 1 items/min)
2026-11-21 01:00:00 [shop] INFO: Spider opened
2026-11-21 01:00:00 [scrapy.core.engine] WARNING: Spider opened
`
const OPENED = '2026-11-21 01:00:00 [scrapy.core.engine] INFO: Spider opened\n'
const HIDDEN = '2026-11-21 01:00:00 [shop] WARNING: A price is missing\n'

describe('a log that was copied before its node deleted it', () => {
  const none = { DEBUG: 0, INFO: 0, WARNING: 0, ERROR: 0, CRITICAL: 0 }
  const copied = { pages: 3, items: 2, stats: null, format: null, showsEnd: true, finishReason: 'finished' }

  test.each([
    [{ ...copied, records: { ...none, INFO: 9 } }, 'succeeded', 'finished'],
    [
      { ...copied, finishReason: null, showsEnd: false, records: { ...none, WARNING: 1 } },
      'unclear',
      'log not fully read'
    ],
    [{ ...copied, finishReason: null, showsEnd: true, records: { ...none, INFO: 1 } }, 'unclear', 'log not fully read'],
    [{ ...copied, finishReason: null, showsEnd: false, records: none }, 'failed', 'no log']
  ])('decides how its run ended: %j is %s', (logged, outcome, reason) => {
    const { format: _, ...read } = logged
    const judged = judgeOutcome({
      tail: null,
      logged: { ...read, format: 'none' as never },
      exit: null,
      cancelAsked: false
    })
    expect(judged).toMatchObject({ outcome, reason })
  })
})

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
    ['killed', null, false, 'failed', 'ended without closing stats'],
    ['more/pipeline-fails', null, false, 'failed', 'shutdown'],
    ['more/pipeline-fails', code(1), false, 'failed', 'exit code 1'],
    ['more/pipeline-fails', signal('SIGKILL'), false, 'failed', 'killed by SIGKILL'],
    ['more/pipeline-fails-2-7', code(1), false, 'failed', 'exit code 1'],
    ['more/pipeline-fails', code(1), true, 'cancelled', 'shutdown']
  ])('%s, exit %j, cancel asked %s: %s', (name, exit, cancelAsked, outcome, reason) => {
    expect(judgeOutcome({ tail: sample(name), exit, cancelAsked })).toMatchObject({ outcome, reason })
  })

  const QUIET = [
    'more/quiet-settings',
    'more/quiet-errors',
    'more/quiet-critical',
    'more/quiet-logger',
    'more/quiet-logger-2-7'
  ]
  const CRASHED = ['more/quiet-crash', 'more/quiet-crash-2-7', 'more/quiet-pipeline-fails', 'broken']

  describe.each(QUIET)('that hide the end of the run, as in %s', (name) => {
    test.each([
      [code(0), false, 'succeeded', 'exit code 0'],
      [code(0), true, 'cancelled', 'ended without closing stats'],
      [code(1), false, 'failed', 'exit code 1'],
      [signal('SIGKILL'), false, 'failed', 'killed by SIGKILL'],
      [null, true, 'cancelled', 'ended without closing stats'],
      [null, false, 'unclear', 'end not visible in the log']
    ])('with exit %j, cancel asked %s: %s', (exit, cancelAsked, outcome, reason) => {
      const { counts, ...judged } = judgeOutcome({ tail: sample(name), exit, cancelAsked })
      expect(judged).toMatchObject({ outcome, reason, stats: null })
      // Counts that the log hides are unknown, not zero.
      expect(counts).toEqual({ pages: null, items: null, errors: name === 'more/quiet-errors' ? 1 : null })
    })
  })

  test.each([...QUIET, 'killed'])('that do not say why the spider closed are overruled by its process: %s', (name) => {
    const judge = (finishReason: string, exitCode = 0) => {
      const exit = { ...code(exitCode)!, finishReason }
      const { outcome, reason, counts } = judgeOutcome({ tail: sample(name), exit, cancelAsked: false })
      expect([counts.pages, counts.items]).toEqual([null, null])
      return `${outcome}: ${reason}`
    }
    expect(judge('finished')).toBe('succeeded: finished')
    expect(judge('closespider_errorcount')).toBe('failed: closespider_errorcount')
    expect(judge('finished', 1)).toBe('failed: exit code 1')
  })

  test('that say why the spider closed need no exit code', () => {
    const exit = { ...code(0)!, finishReason: 'banned' }
    expect(judgeOutcome({ tail: stats('finished'), exit, cancelAsked: false }).reason).toBe('finished')
  })

  test.each(CRASHED)('that hide the end of the run, but not that its crawl raised an exception: %s', (name) => {
    for (const exit of [null, code(0)])
      expect(judgeOutcome({ tail: sample(name), exit, cancelAsked: false })).toMatchObject({
        outcome: 'failed',
        reason: 'ended without closing stats',
        killingLine: expect.stringMatching(/no credentials|no database|broken on purpose/)
      })
  })

  test.each([
    ['more/pipeline-fails', 2],
    ['more/pipeline-fails-2-7', 3],
    ['errors', 1],
    ['killed', 0]
  ])('count each error that is logged, before and after Scrapy counts: %s has %i', (name, errors) => {
    expect(judgeOutcome({ tail: sample(name), exit: null, cancelAsked: false }).counts.errors).toBe(errors)
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
      finishReason: null,
      counts: { pages: null, items: null, errors: 1 }
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
  [HIDDEN, null, false, 'unclear', 'end not visible in the log'],
  ['', null, false, 'unclear', 'end not visible in the log'],
  [SPIDERS_OWN, code(0), false, 'succeeded', 'exit code 0'],
  [SPIDERS_OWN, null, false, 'unclear', 'end not visible in the log'],
  [OPENED, code(0), false, 'failed', 'ended without closing stats'],
  [OPENED, null, false, 'failed', 'ended without closing stats'],
  ['<<Spider opened>> at 12\n', null, false, 'unclear', 'end not visible in the log'],
  ['<<i>> Spider opened\n', null, false, 'failed', 'ended without closing stats'],
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

describe('nothing is claimed about unread parts of a log', () => {
  const UNREAD = '2026-11-21 01:00:00 [shop] WARNING: A price is missing\n'.repeat(3_000).slice(-131_072)
  const judge = (over: Partial<Parameters<typeof judgeOutcome>[0]>) => {
    const { outcome, reason } = judgeOutcome({ tail: UNREAD, exit: null, cancelAsked: false, ...over })
    return `${outcome}: ${reason}`
  }

  test('of only its tail', () => {
    expect(judge({})).toBe('unclear: log not fully read')
    expect(judge({ tail: UNREAD.slice(1) })).toBe('unclear: end not visible in the log')
    expect(judge({ tail: OPENED + UNREAD.slice(OPENED.length) })).toBe('failed: ended without closing stats')
    expect(judge({ tail: UNREAD.slice(0, -stats('finished').length) + stats('finished') })).toBe('succeeded: finished')
    expect(judge({ cancelAsked: true })).toBe('cancelled: log not fully read')
    expect(judge({ exit: code(1) })).toBe('failed: exit code 1')
    expect(judge({ exit: code(0) })).toBe('succeeded: exit code 0')
  })

  test('of one that the node refuses', () => {
    const refused = { tail: null, isRefused: true }
    expect(judge(refused)).toBe('unclear: log refused')
    expect(judge({ ...refused, logged: judgedHead() })).toBe('unclear: log refused')
    expect(judge({ ...refused, logged: { ...judgedHead(), finishReason: 'finished' } })).toBe('succeeded: finished')
    expect(judge({ ...refused, exit: code(1) })).toBe('failed: exit code 1')
    expect(judge({ ...refused, limitHit: plain('wall time limit of 2 min') })).toBe('failed: wall time limit of 2 min')
  })

  function judgedHead() {
    const parser = createLogParser()
    parser.push(Buffer.from(OPENED))
    return parser.figures()
  }
})

test.each([
  ['KeyboardInterrupt', 'KeyboardInterrupt'],
  ['asyncio.exceptions.CancelledError', 'Task failed: asyncio.exceptions.CancelledError']
])('the last error of a run that we stopped is not the interruption itself: %s', (type, line) => {
  const real = '2026-11-21 01:00:00 [shop] ERROR: The price is missing\n'
  const heading = 'Traceback (most recent call last):\n  File "a.py", line 1, in a\n'
  const record = '2026-11-21 01:00:00 [asyncio] ERROR: Task failed\n'
  const interruption = (type === 'KeyboardInterrupt' ? OPENED : record) + heading + `${type}\n`
  const json = (message: string, trouble?: string) =>
    `${JSON.stringify({ levelname: 'ERROR', name: 'shop', message, ...(trouble && { exc_info: trouble }) })}\n`
  const killingLineOf = (tail: string, limitHit: Message | null) =>
    judgeOutcome({ tail, exit: code(1), limitHit, cancelAsked: false }).killingLine
  const limit = plain('wall time limit of 2 min')
  expect(killingLineOf(real + interruption, null)).toBe(line)
  expect(killingLineOf(real + interruption, limit)).toBe('The price is missing')
  expect(killingLineOf(interruption, limit)).toBeNull()
  expect(killingLineOf(OPENED + interruption, limit)).toBeNull()
  const logged = json('no price') + json('Task failed', `${heading}${type}`)
  expect(killingLineOf(logged, null)).toBe(`Task failed: ${type}`)
  expect(killingLineOf(logged, limit)).toBe('no price')
})

test('no run is cancelled without a request, and none succeeds whose process failed', () => {
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

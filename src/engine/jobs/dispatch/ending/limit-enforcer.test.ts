import { describe, expect } from 'vitest'
import { aJobId } from '../../../../shared/testing/ids.ts'
import { it } from '../../../testing/dispatch-fixtures.ts'
import { FakeNode } from '../../../testing/fake-node.ts'
import { LOCAL_TRAITS } from '../../../nodes/node-traits.ts'

describe('the time limit of a run on a remote node', () => {
  it('is enforced by a cancel, and is the reason for the failure', async ({ clock, store, node, engine }) => {
    await engine.start({ n1: node })
    const id = await engine.enqueue({ limits: { wallSeconds: 120 } })
    await clock.advanceBy(115_000)
    expect(node.running[0]!.signals).toEqual([])
    await clock.advanceBy(60_000)
    expect(node.running[0]!.signals).toEqual(['INT', 'INT', 'KILL'])
    node.end(id, 'shutdown')
    await clock.advanceBy(6_000)
    expect(await engine.job(id)).toMatchObject({
      status: 'failed',
      reason: 'wall time limit of 2 min',
      cancelAskedAtMs: null
    })
    expect((await store.listAttempts(aJobId(id)))[0]).toMatchObject({
      limitHit: 'wall time limit of 2 min (ran 2 min)'
    })
    expect(await engine.textOf(id, 'limit_hit')).toBe('Exceeded its wall time limit of 2 min; stopping it')
    expect(await engine.kinds(id)).not.toContain('cancel_asked')
  })

  it('is exceeded once, even if the node forgets the run during the cancel', async ({ clock, store, node, engine }) => {
    await engine.start({ n1: node })
    const id = await engine.enqueue({ limits: { wallSeconds: 60 } })
    await clock.advanceBy(62_000)
    node.restart()
    await clock.advanceBy(20_000)
    expect(await engine.kinds(id)).toContain('vanished')
    expect((await engine.kinds(id)).filter((kind) => kind === 'limit_hit')).toHaveLength(1)
    expect((await store.listAttempts(aJobId(id)))[0]).toMatchObject({
      limitHit: 'wall time limit of 1 min (ran 1 min)'
    })
  })

  it('keeps counting when another engine takes over, which continues the cancel where it was', async ({
    clock,
    node,
    engine
  }) => {
    await engine.start({ n1: node })
    const id = await engine.enqueue({ limits: { wallSeconds: 120 } })
    await clock.advanceBy(60_000)
    await engine.restart({ n1: node })
    await clock.advanceBy(62_000)
    expect(node.running[0]!.signals).toEqual(['INT'])
    await engine.restart({ n1: node })
    await clock.advanceBy(1_000)
    expect(node.running[0]!.signals).toEqual(['INT'])
    await clock.advanceBy(30_000)
    expect(node.running[0]!.signals).toEqual(['INT', 'INT'])
    node.end(id, 'shutdown')
    await clock.advanceBy(6_000)
    expect(await engine.job(id)).toMatchObject({ status: 'failed', reason: 'wall time limit of 2 min' })
    expect((await engine.kinds(id)).filter((kind) => kind === 'limit_hit')).toHaveLength(1)
  })

  it('does not turn an earlier cancel or a finish in time into a failure', async ({ clock, store, node, engine }) => {
    await engine.start({ n1: node })
    const [cancelled, done] = [
      await engine.enqueue({ limits: { wallSeconds: 60 } }),
      await engine.enqueue({ limits: { wallSeconds: 60 } })
    ]
    await clock.advanceBy(50_000)
    await engine.cancel([cancelled])
    node.end(done)
    await clock.advanceBy(20_000)
    node.end(cancelled, 'shutdown')
    await clock.advanceBy(6_000)
    expect((await store.getJobs([aJobId(cancelled), aJobId(done)])).map(({ status }) => status)).toEqual([
      'cancelled',
      'succeeded'
    ])
  })
})

const AT = '2026-01-01 00:00:00'
const crawled = (pages: number, items: number) =>
  `${AT} [scrapy.extensions.logstats] INFO: Crawled ${pages} pages (at 9 pages/min), scraped ${items} items (at 0 items/min)\n`
const ERROR = `${AT} [scrapy.core.scraper] ERROR: Spider error processing <GET https://shop.test/1>\n`
const READING = { readsLogs: true }

describe('limits that are measured in the log of a run', () => {
  const STILL = { limits: { noProgressSeconds: 120 } }
  const write = (node: FakeNode, id: string, text: string) => node.logs.set(id, (node.logs.get(id) ?? '') + text)

  it('end a run that makes no progress, with the limit as the reason for the failure', async ({
    clock,
    node,
    engine
  }) => {
    const id = await engine.startRunning({ n1: node }, STILL, READING)
    write(node, id, crawled(10, 3))
    await clock.advanceBy(60_000)
    write(node, id, crawled(11, 3))
    await clock.advanceBy(110_000)
    expect(node.running[0]!.signals).toEqual([])
    write(node, id, crawled(11, 3))
    await clock.advanceBy(50_000)
    expect(node.running[0]!.signals).toEqual(['INT'])
    await clock.advanceBy(60_000)
    expect(node.running[0]!.signals.slice(0, 3)).toEqual(['INT', 'INT', 'KILL'])
    node.end(id, 'shutdown')
    await clock.advanceBy(6_000)
    expect(await engine.job(id)).toMatchObject({ status: 'failed', reason: 'progress limit of 2 min' })
    expect(await engine.textOf(id, 'limit_hit')).toBe('Exceeded its progress limit of 2 min; stopping it')
    expect((await engine.kinds(id)).filter((kind) => kind === 'limit_hit')).toHaveLength(1)
  })

  it('leave alone a run that gets items without new pages', async ({ clock, node, engine }) => {
    const id = await engine.startRunning({ n1: node }, STILL, READING)
    for (let items = 0; items < 10; items += 1) {
      write(node, id, crawled(10, items))
      await clock.advanceBy(60_000)
    }
    expect(node.running[0]!.signals).toEqual([])
  })

  it('never end a run whose log cannot be read, nor one whose log counts no pages', async ({ clock, node, engine }) => {
    const id = await engine.startRunning({ n1: node }, STILL, READING)
    // Signal 0 only tests whether the process exists.
    const signals = () => node.running[0]!.signals.filter((signal) => signal !== '0')
    await clock.advanceBy(600_000)
    expect(signals()).toEqual([])
    write(node, id, crawled(10, 3))
    await clock.advanceBy(30_000)
    node.logs.delete(id)
    await clock.advanceBy(600_000)
    expect(signals()).toEqual([])
  })

  it('end a run on the local node, too', async ({ clock, engine }) => {
    const local = new FakeNode(clock, { slots: 1, eggs: ['shop@1'], traits: { ...LOCAL_TRAITS, keepsLogs: false } })
    const id = await engine.startRunning({ local }, { limits: { maxErrors: 2, wallSeconds: 1 } }, READING)
    await clock.advanceBy(10_000)
    // The local node enforces the wall time itself.
    expect(local.running[0]!.signals).toEqual([])
    write(local, id, ERROR.repeat(3) + crawled(1, 0))
    await clock.advanceBy(40_000)
    expect(local.running[0]!.signals[0]).toBe('INT')
    local.end(id, 'shutdown')
    await clock.advanceBy(6_000)
    expect(await engine.job(id)).toMatchObject({ status: 'failed', reason: 'error limit of 2' })
  })

  it('end a run that is banned', async ({ clock, node, engine }) => {
    const id = await engine.startRunning({ n1: node }, {}, { ...READING, projectLimits: { maxBanPercent: 50 } })
    const page = (status: number) =>
      `${AT} [scrapy.core.engine] DEBUG: Crawled (${status}) <GET https://shop.test/> (referer: None)\n`
    write(node, id, page(200).repeat(30) + page(403).repeat(15))
    await clock.advanceBy(30_000)
    expect(node.running[0]!.signals).toEqual([])
    write(node, id, page(429).repeat(20))
    await clock.advanceBy(30_000)
    expect(node.running[0]!.signals).toEqual(['INT'])
    expect(await engine.textOf(id, 'limit_hit')).toBe('Exceeded its ban limit of 50 %; stopping it')
  })

  it('are not applied once a cancel was requested', async ({ clock, node, engine }) => {
    const id = await engine.startRunning({ n1: node }, { limits: { maxErrors: 2 } }, READING)
    await engine.cancel([id])
    write(node, id, ERROR.repeat(9))
    await clock.advanceBy(60_000)
    node.end(id, 'shutdown')
    await clock.advanceBy(6_000)
    expect(await engine.job(id)).toMatchObject({ status: 'cancelled' })
    expect(await engine.kinds(id)).not.toContain('limit_hit')
  })

  it('stay in force when another engine takes over, which counts from its own start', async ({
    clock,
    node,
    engine
  }) => {
    const id = await engine.startRunning({ n1: node }, STILL, READING)
    write(node, id, crawled(10, 3))
    await clock.advanceBy(100_000)
    await engine.restart({ n1: node }, READING)
    await clock.advanceBy(100_000)
    expect(node.running[0]!.signals).toEqual([])
    await clock.advanceBy(60_000)
    expect(node.running[0]!.signals).toEqual(['INT'])
    await engine.restart({ n1: node }, READING)
    node.end(id, 'shutdown')
    await clock.advanceBy(6_000)
    expect(await engine.job(id)).toMatchObject({ status: 'failed', reason: 'progress limit of 2 min' })
  })
})

describe('the outcome rules of a project', () => {
  it('fail a run that closed normally, and the reason names the rule', async ({ clock, node, engine }) => {
    const id = await engine.startRunning({ n1: node }, {}, { projectOutcome: { minItems: 10 } })
    node.end(id)
    await clock.advanceBy(6_000)
    expect(await engine.job(id)).toMatchObject({ status: 'failed', reason: 'fewer than 10 items', items: 3 })
    expect(await engine.textOf(id, 'ended')).toBe('Failed: fewer than 10 items (had 3)')
  })
})

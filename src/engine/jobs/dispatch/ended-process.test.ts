import { describe, expect } from 'vitest'
import { aJobId, aNodeId } from '../../../shared/testing/ids.ts'
import { cancelExternal } from '../../api/commands/external-jobs.ts'
import { type DispatchFixtures, it, MINUTE_MS } from '../../testing/dispatch-fixtures.ts'
import { describeNode } from './describe-node.ts'

const HELD = 'The spider has ended; something that it started keeps the node’s process open. Reading its log'
const N1 = aNodeId('n1')
type Engine = DispatchFixtures['engine']

const nodeOf = (engine: Engine) => engine.fleet.get(N1)!
const waitsFor = async (engine: Engine, id: string) =>
  engine.waiting.describeJob(await engine.job(id)).waiting?.text ?? null

describe('a run whose process has ended while its node lists it as running', () => {
  it('is judged by its log once the node reveals it on a cancel, and keeps its slot while it is listed', async ({
    clock,
    node,
    engine
  }) => {
    await engine.start({ n1: node })
    const [first, second, third, fourth] = await engine.enqueueMany(4)
    await clock.advanceBy(2_000)
    node.endProcess(first!)
    await engine.cancel([first!])
    await clock.advanceBy(6_000)
    expect(await engine.job(first!)).toMatchObject({ status: 'succeeded', reason: 'finished', items: 3 })
    expect(await engine.textOf(first!, 'cancel_sent')).toMatch(/^Not stopped \(INT\): .* has already ended$/)
    expect(await engine.textOf(first!, 'finishing')).toBe(HELD)
    expect((await engine.kinds(first!)).filter((kind) => kind === 'cancel_sent')).toHaveLength(1)
    // One of the two slots is held open. The other one runs the second job.
    expect(node.executed).toEqual([first, second])
    expect(await waitsFor(engine, third!)).toBe(
      'all 2 slots are busy; in 1 of them, a spider has ended, but something that it started keeps its process open'
    )
    const { runs } = describeNode(nodeOf(engine), engine.live, null, null)
    expect(runs.map(({ jobId, isHeldOpen = false }) => [jobId, isHeldOpen])).toEqual([
      [second, false],
      [first, true]
    ])
    await clock.advanceBy(2 * MINUTE_MS)
    expect(await engine.kinds(first!)).not.toContain('seen_again')
    node.end(second!)
    await clock.advanceBy(3_000)
    expect(node.executed).toEqual([first, second, third])
    node.end(first!)
    await clock.advanceBy(6_000)
    expect(node.executed).toEqual([first, second, third, fourth])
    expect(node.mostRunningAtOnce).toBe(2)
    expect((await engine.job(first!)).mayHaveRunTwice).toBe(false)
  })

  it('is cancelled if its log does not show its end, and is not stopped a second time after a restart', async ({
    clock,
    node,
    engine
  }) => {
    const id = await engine.startRunning({ n1: node })
    node.endProcess(id, 'finished')
    node.logs.set(id, '2026-01-01 00:00:00 [scrapy.core.engine] INFO: Spider opened\n')
    await engine.cancel([id])
    await clock.advanceBy(6_000)
    expect((await engine.job(id)).status).toBe('cancelled')
    const before = await engine.kinds(id)
    await engine.restart({ n1: node })
    await clock.advanceBy(2 * MINUTE_MS)
    expect(await engine.kinds(id)).toEqual(before)
    expect((await engine.job(id)).mayHaveRunTwice).toBe(false)
    const { runs } = describeNode(nodeOf(engine), engine.live, null, null)
    expect(runs).toMatchObject([{ jobId: id, isHeldOpen: true }])
    const run = { project: runs[0]!.project, jobid: runs[0]!.jobid }
    expect(await cancelExternal(nodeOf(engine), run, engine)).toBeNull()
  })

  it('is found without a cancel, by its complete log and by sending the node a harmless signal', async ({
    clock,
    node,
    engine
  }) => {
    const id = await engine.startRunning({ n1: node }, {}, { readsLogs: true })
    node.endProcess(id)
    await clock.advanceBy(20_000)
    expect((await engine.job(id)).status).toBe('running')
    await clock.advanceBy(40_000)
    expect(await engine.job(id)).toMatchObject({ status: 'succeeded', reason: 'finished' })
    expect(await engine.textOf(id, 'finishing')).toBe(HELD)
    expect(await engine.kinds(id)).not.toContain('cancel_sent')
  })

  it('is not considered ended while it has a process, even if its log is complete', async ({ clock, node, engine }) => {
    const id = await engine.startRunning({ n1: node }, {}, { readsLogs: true })
    node.logs.set(id, '2026-01-01 00:00:00 [scrapy.core.engine] INFO: Spider closed (finished)\n')
    await clock.advanceBy(10 * MINUTE_MS)
    expect((await engine.job(id)).status).toBe('running')
    expect(new Set(node.running[0]!.signals)).toEqual(new Set(['0']))
    expect(node.running[0]!.signals.length).toBeLessThan(6)
  })

  it('is found ten minutes after the last line of its log, even if the log does not show the end', async ({
    clock,
    node,
    engine
  }) => {
    await engine.start({ n1: node }, { readsLogs: true })
    const [killed, silent] = await engine.enqueueMany(2)
    await clock.advanceBy(2_000)
    for (const id of [killed!, silent!]) node.endProcess(id)
    node.logs.set(killed!, '2026-01-01 00:00:00 [scrapy.core.engine] INFO: Spider opened\n')
    node.logs.delete(silent!)
    await clock.advanceBy(9 * MINUTE_MS)
    expect((await engine.job(killed!)).status).toBe('running')
    await clock.advanceBy(2 * MINUTE_MS)
    expect(await engine.job(killed!)).toMatchObject({ status: 'failed', reason: 'ended without closing stats' })
    expect(await engine.job(silent!)).toMatchObject({ status: 'failed', reason: 'no log' })
    expect(await engine.textOf(killed!, 'finishing')).toBe(HELD)
  })

  it('is found by the next engine too, which did not see it start', async ({ clock, node, engine }) => {
    const id = await engine.startRunning({ n1: node }, {}, { readsLogs: true })
    await engine.restart({ n1: node })
    node.endProcess(id)
    node.logs.set(id, '')
    await clock.advanceBy(11 * MINUTE_MS)
    expect(await engine.textOf(id, 'finishing')).toBe(HELD)
  })

  it('is checked for every ten minutes while the log does not grow', async ({ clock, node, engine }) => {
    await engine.start({ n1: node }, { readsLogs: true })
    const [quiet, busy] = await engine.enqueueMany(2)
    await clock.advanceBy(2_000)
    for (let minute = 0; minute < 60; minute++) {
      node.logs.set(busy!, `${node.logs.get(busy!)}2026-01-01 00:00:00 [shop] INFO: minute ${minute}\n`)
      await clock.advanceBy(MINUTE_MS)
    }
    const signalsOf = (id: string) => node.running.find(({ jobid }) => jobid === id)!.signals
    expect([quiet!, busy!].map(signalsOf)).toEqual([['0', '0', '0', '0', '0'], []])
    expect((await engine.job(quiet!)).status).toBe('running')
  })

  it('is not checked for if its node has queued it again, because any signal would remove it', async ({
    clock,
    node,
    engine
  }) => {
    const id = await engine.startRunning({ n1: node }, {}, { readsLogs: true })
    // If another Scrapdeck retries the job, the node lists it as pending again.
    node.isWedged = true
    node.pending = node.running.splice(0)
    await clock.advanceBy(30 * MINUTE_MS)
    expect(node.pending.map(({ jobid }) => jobid)).toEqual([id])
  })

  it('ends as usual if its node lists it as finished a moment later', async ({ clock, node, store, engine }) => {
    const id = await engine.startRunning({ n1: node })
    node.endProcess(id)
    await engine.cancel([id])
    await clock.advanceBy(1_000)
    node.end(id)
    await clock.advanceBy(4_000)
    expect(await engine.textOf(id, 'finishing')).toBe('Ended on the node; reading its log')
    expect((await store.listTimeline(aJobId(id))).at(-1)?.kind).toBe('ended')
    expect(nodeOf(engine).status.external.running).toEqual([])
  })
})

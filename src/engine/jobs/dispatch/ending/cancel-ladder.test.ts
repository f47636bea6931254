import { describe, expect } from 'vitest'
import { stopsOf } from '../../../../shared/stop-ladder.ts'
import { aJobId, branded } from '../../../../shared/testing/ids.ts'
import { plain } from '../../../../shared/texts/message.ts'
import { NodeError } from '../../../nodes/node-client.ts'
import { it, MINUTE_MS } from '../../../testing/dispatch-fixtures.ts'
import { FakeNode } from '../../../testing/fake-node.ts'

describe('a cancel of many jobs', () => {
  it('sends a node a few at a time, and the wait for the next step begins when the step was sent', async ({
    clock,
    engine
  }) => {
    const node = new FakeNode(clock, { slots: 12, eggs: ['shop@1'] })
    await engine.start({ n1: node }, { cancelWaitsMs: [30_000, 15_000, 15_000] })
    const ids = await engine.enqueueMany(12)
    await clock.advanceBy(2_000)
    const sentAtMs = new Map<string, number[]>()
    let inFlight = 0
    let mostInFlight = 0
    node.cancel = async ({ jobid }) => {
      sentAtMs.set(jobid, [...(sentAtMs.get(jobid) ?? []), clock.monotonicMs()])
      mostInFlight = Math.max(mostInFlight, (inFlight += 1))
      await new Promise<void>((resolve) => void clock.setTimer(10_000, resolve))
      inFlight -= 1
      return { wasState: 'running' }
    }
    await engine.cancel(ids)
    // Forces the cancel while most requests wait for their turn. Each job still gets only one request.
    await clock.advanceBy(5_000)
    engine.dispatch.cancel(branded(ids.slice(6)), { force: true })
    await clock.advanceBy(40_000)
    expect(mostInFlight).toBe(3)
    expect([...sentAtMs.keys()].sort()).toEqual([...ids].sort())
    await clock.advanceBy(2 * MINUTE_MS)
    node.cancel = async () => ({ wasState: 'running' })
    await clock.advanceBy(10_000)
    for (const id of ids) {
      const [first, second] = sentAtMs.get(id)!
      expect(second! - first!).toBeGreaterThanOrEqual(ids.indexOf(id) < 6 ? 30_000 : 15_000)
    }
  })
})

describe('cancelling', () => {
  it('gives the spider ten minutes, then sends INT, INT, KILL, and is verified against the node', async ({
    clock,
    node,
    engine
  }) => {
    const id = await engine.startRunning({ n1: node })
    await engine.cancel([id])
    await clock.advanceBy(0)
    // Signal 0 only tests whether the process exists.
    const signals = () => node.running[0]?.signals.filter((signal) => signal !== '0')
    expect(signals()).toEqual(['INT'])
    await clock.advanceBy(10 * MINUTE_MS - 1_000)
    expect(signals()).toEqual(['INT'])
    await clock.advanceBy(2_000)
    expect(signals()).toEqual(['INT', 'INT'])
    await clock.advanceBy(15_000)
    expect(signals()).toEqual(['INT', 'INT', 'KILL'])
    expect((await engine.job(id)).state).toBe('running')
    node.end(id, 'shutdown')
    await clock.advanceBy(3_000)
    expect(await engine.job(id)).toMatchObject({ status: 'cancelled', reason: 'shutdown' })
    const sent = (await engine.kinds(id)).filter((kind) => kind === 'cancel_sent').length
    await clock.advanceBy(120_000)
    expect((await engine.kinds(id)).filter((kind) => kind === 'cancel_sent')).toHaveLength(sent)
  })

  it('waits between the steps for the configured time', async ({ clock, node, engine }) => {
    const id = await engine.startRunning({ n1: node }, {}, { cancelWaitsMs: [1_000, 2_000, 3_000] })
    await engine.cancel([id])
    await clock.advanceBy(0)
    const sentAfter = async (durationMs: number) => {
      await clock.advanceBy(durationMs)
      return node.running[0]?.signals.join(' ')
    }
    expect(await sentAfter(900)).toBe('INT')
    expect(await sentAfter(1_000)).toBe('INT INT')
    expect(await sentAfter(2_000)).toBe('INT INT KILL')
    expect(await sentAfter(3_000)).toBe('INT INT KILL KILL')
    expect(await sentAfter(3_000)).toBe('INT INT KILL KILL')
    expect(await sentAfter(3_000)).toBe('INT INT KILL KILL KILL')
  })

  it('a node that refuses at once gets at most one request per second, even if the wait is 0 s', async ({
    clock,
    node,
    engine
  }) => {
    const id = await engine.startRunning({ n1: node }, {}, { cancelWaitsMs: [0, 0, 0] })
    let asked = 0
    node.cancel = async () => {
      asked += 1
      throw new NodeError('http', plain('Internal Server Error'), { delivered: 'unknown' })
    }
    await engine.cancel([id])
    for (let passed = 0; passed < 10_000; passed += 100) await clock.advanceBy(100)
    expect(asked).toBeGreaterThan(5)
    expect(asked).toBeLessThan(12)
  })

  it('starts at the second step if it is forced', async ({ clock, node, engine }) => {
    const id = await engine.startRunning({ n1: node })
    await engine.cancel([id], { force: true })
    await clock.advanceBy(0)
    await clock.advanceBy(16_000)
    expect(node.running[0]?.signals).toEqual(['INT', 'KILL'])
  })

  it('a job in the queue of the node is cancelled when the node confirms its removal', async ({
    clock,
    node,
    engine
  }) => {
    node.isWedged = true
    await engine.start({ n1: node })
    const [id] = await engine.enqueueMany(1)
    await clock.advanceBy(1_000)
    expect(node.pending).toHaveLength(1)
    await engine.cancel([id!])
    await clock.advanceBy(0)
    expect(await engine.job(id!)).toMatchObject({ status: 'cancelled', reason: 'cancelled before it started' })
    expect(node.pending).toEqual([])
  })

  it('a slot that a cancel frees is used at once', async ({ clock, engine }) => {
    const node = new FakeNode(clock, { slots: 1, eggs: ['shop@1'] })
    node.isWedged = true
    await engine.start({ n1: node })
    const [first, second] = await engine.enqueueMany(2)
    await clock.advanceBy(2_000)
    await engine.cancel([first!])
    await clock.advanceBy(0)
    await clock.advanceBy(2_000)
    expect(node.executed).toEqual([first, second])
  })

  it('a job that the node removed is cancelled, not lost, when the answer to the cancel was lost', async ({
    clock,
    node,
    engine
  }) => {
    node.isWedged = true
    await engine.start({ n1: node })
    const [id] = await engine.enqueueMany(1)
    await clock.advanceBy(1_000)
    const ask = node.cancel.bind(node)
    node.cancel = async (request) => {
      node.cancel = ask
      await ask(request)
      throw new NodeError('timeout', plain('fake did not answer'), { delivered: 'unknown' })
    }
    await engine.cancel([id!])
    await clock.advanceBy(0)
    await clock.advanceBy(60_000)
    expect(await engine.job(id!)).toMatchObject({ status: 'cancelled', reason: 'cancelled before it started' })
  })

  it('continues where the dead engine stopped', async ({ clock, node, engine }) => {
    const id = await engine.startRunning({ n1: node })
    await engine.cancel([id])
    await clock.advanceBy(0)
    await engine.crash()
    await clock.advanceBy(4 * MINUTE_MS)
    await engine.start({ n1: node })
    await clock.advanceBy(5 * MINUTE_MS)
    expect(node.running[0]?.signals).toEqual(['INT'])
    await clock.advanceBy(MINUTE_MS + 1_000)
    expect(node.running[0]?.signals).toEqual(['INT', 'INT'])
    await engine.crash()
    await engine.start({ n1: node })
    await clock.advanceBy(15_000)
    expect(node.running[0]?.signals).toEqual(['INT', 'INT', 'KILL'])
  })

  it('sends a signal after a crash that was forced before it', async ({ clock, store, node, engine }) => {
    const id = await engine.startRunning({ n1: node })
    await engine.cancel([id])
    await clock.advanceBy(0)
    await engine.crash()
    const [attempt] = await store.listLiveAttempts()
    await store.applyChanges([
      {
        jobId: attempt!.jobId,
        attemptNumber: attempt!.number,
        from: ['running'],
        kind: 'cancel_asked',
        entry: { atMs: clock.nowMs(), message: plain('Immediate stop requested'), evidence: { force: true } }
      }
    ])
    await engine.start({ n1: node })
    await clock.advanceBy(1_000)
    expect(node.running[0]?.signals).toEqual(['INT', 'INT'])
  })

  it.for([
    ['its project', { projectCancelWaitSeconds: 60 }, {}, 60],
    ['the request, before its project', { projectCancelWaitSeconds: 60 }, { waitSeconds: 5 }, 5],
    ['the request, even if it says at once', {}, { waitSeconds: 0 }, 0]
  ] as const)(
    'waits after the first INT as %s says, also after a crash',
    async ([, parts, told, seconds], { clock, node, engine }) => {
      const id = await engine.startRunning({ n1: node }, {}, parts)
      await engine.cancel([id], { force: false, ...told })
      await clock.advanceBy(0)
      await engine.crash()
      await engine.start({ n1: node }, parts)
      if (seconds > 0) {
        await clock.advanceBy(seconds * 1_000 - 1_000)
        expect(node.running[0]?.signals).toEqual(['INT'])
      }
      await clock.advanceBy(2_000)
      expect(node.running[0]?.signals).toEqual(['INT', 'INT'])
    }
  )

  it('records the next step and its time, and takes it at once when forced', async ({ clock, store, node, engine }) => {
    const id = await engine.startRunning({ n1: node })
    const stops = async () => stopsOf(await store.listTimeline(aJobId(id)))
    expect(await stops()).toEqual({ sent: [], next: null, kill: null })
    await engine.cancel([id])
    await clock.advanceBy(0)
    const sentAtMs = clock.nowMs()
    expect(await stops()).toEqual({
      sent: [{ step: 'finish', text: 'Asked the run to stop (INT)', atMs: sentAtMs }],
      next: { step: 'stop_now', signal: 'INT', atMs: sentAtMs + 10 * MINUTE_MS },
      kill: { atMs: sentAtMs + 10 * MINUTE_MS + 15_000 }
    })
    await clock.advanceBy(1_000)
    await engine.cancel([id], { force: true })
    await clock.advanceBy(0)
    expect(node.running[0]?.signals).toEqual(['INT', 'INT'])
    const forced = await stops()
    expect(forced.sent.map(({ step }) => step)).toEqual(['finish', 'stop_now'])
    expect(forced.next).toEqual({ step: 'kill', signal: 'KILL', atMs: clock.nowMs() + 15_000 })
    expect(forced.kill).toBeNull()
    await engine.cancel([id], { force: true })
    await clock.advanceBy(0)
    expect(node.running[0]?.signals).toEqual(['INT', 'INT', 'KILL'])
  })
})

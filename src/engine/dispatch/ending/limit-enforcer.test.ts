import { describe, expect } from 'vitest'
import { aJobId } from '../../../shared/testing/ids.ts'
import { it } from '../../testing/dispatch-fixtures.ts'

describe('the time limit of a run on a remote node', () => {
  it('is held by the ladder, and is the reason of the failure', async ({ clock, store, node, engine }) => {
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

  it('is hit once, though the node forgets the run while the ladder climbs', async ({ clock, store, node, engine }) => {
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

  it('counts on when another engine takes over, and goes on with the ladder where it was', async ({
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

  it('does not make a failure of what somebody cancelled before, nor of what finished in time', async ({
    clock,
    store,
    node,
    engine
  }) => {
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

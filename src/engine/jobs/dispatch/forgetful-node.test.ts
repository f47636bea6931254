import { describe, expect } from 'vitest'
import { aJobId } from '../../../shared/testing/ids.ts'
import { type DispatchFixtures, it } from '../../testing/dispatch-fixtures.ts'

async function runOne({ clock, node, engine }: Pick<DispatchFixtures, 'clock' | 'node' | 'engine'>): Promise<void> {
  await engine.enqueue()
  await clock.advanceBy(2_000)
  node.endAll()
  await clock.advanceBy(3_000)
}

describe('a job that is in no list and has no log, after a request without an answer', () => {
  it('is flagged when it is sent again to a node that has forgotten it: it may have run', async ({
    clock,
    node,
    engine
  }) => {
    await engine.start({ n1: node })
    await runOne({ clock, node, engine })
    node.behaviours = ['drop_reply']
    const schedule = node.schedule.bind(node)
    node.schedule = (request) => schedule(request).finally(() => (node.isDown = true))
    const id = await engine.enqueue()
    // The run ends, and the node restarts before the next poll. Its logs were pruned (jobs_to_keep), or it keeps
    // none.
    node.end(id)
    node.restart({ loseLogs: true })
    node.schedule = schedule
    node.isDown = false
    await clock.advanceBy(25_000)
    node.endAll()
    await clock.advanceBy(5_000)
    expect(node.executed.filter((jobid) => jobid.startsWith(id))).toEqual([id, `${id}-2`])
    expect(await engine.job(id)).toMatchObject({ status: 'succeeded', mayHaveRunTwice: true })
  })

  it('is not flagged if the node lists an earlier run of ours: it remembers everything since then', async ({
    clock,
    store,
    node,
    engine
  }) => {
    await engine.start({ n1: node })
    await runOne({ clock, node, engine })
    node.behaviours = ['lose_request']
    const id = await engine.enqueue()
    await clock.advanceBy(15_000)
    expect(node.executed.filter((jobid) => jobid.startsWith(id))).toEqual([`${id}-2`])
    expect(await engine.job(id)).toMatchObject({ mayHaveRunTwice: false })
    const absent = (await store.listTimeline(aJobId(id))).find(({ kind }) => kind === 'absent')
    expect(absent?.text).toContain('never reached')
  })

  it('is flagged if nothing shows that the node remembers, even though it may never have arrived', async ({
    clock,
    store,
    node,
    engine
  }) => {
    await engine.start({ n1: node })
    node.behaviours = ['lose_request']
    const id = await engine.enqueue()
    await clock.advanceBy(15_000)
    expect(node.executed.filter((jobid) => jobid.startsWith(id))).toEqual([`${id}-2`])
    expect(await engine.job(id)).toMatchObject({ mayHaveRunTwice: true })
    const absent = (await store.listTimeline(aJobId(id))).find(({ kind }) => kind === 'absent')
    expect(absent?.evidence).toMatchObject({ remembers: false })
  })
})

describe('a node that restarts and forgets', () => {
  it('a job that left no log is lost, with its evidence', async ({ clock, store, node, engine }) => {
    const id = await engine.startRunning({ n1: node })
    node.restart({ loseLogs: true })
    await clock.advanceBy(15_000)
    expect(await engine.job(id)).toMatchObject({ status: 'lost', reason: 'forgotten by the node' })
    const last = (await store.listTimeline(aJobId(id))).at(-1)!
    expect(last).toMatchObject({ kind: 'ended', evidence: { log: 'not there' } })
  })

  it('a job whose log has its closing stats is judged by them', async ({ clock, node, engine }) => {
    const id = await engine.startRunning({ n1: node })
    node.end(id)
    node.restart()
    await clock.advanceBy(15_000)
    expect(await engine.job(id)).toMatchObject({ status: 'succeeded', items: 3 })
  })

  it('a job whose log still grows continues as an orphan, and is lost only after a minute of silence', async ({
    clock,
    node,
    engine
  }) => {
    const id = await engine.startRunning({ n1: node })
    node.restart()
    for (let step = 0; step < 12; step += 1) {
      node.logs.set(id, `${node.logs.get(id)}a line\n`)
      await clock.advanceBy(10_000)
    }
    expect((await engine.job(id)).state).toBe('running')
    expect(await engine.kinds(id)).toContain('vanished')
    await clock.advanceBy(75_000)
    expect(await engine.job(id)).toMatchObject({ status: 'lost' })
  })
})

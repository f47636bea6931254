import { describe, expect } from 'vitest'
import { type DispatchFixtures, it } from '../testing/dispatch-fixtures.ts'

/** To its end. */
async function runOne({ clock, node, engine }: Pick<DispatchFixtures, 'clock' | 'node' | 'engine'>): Promise<void> {
  await engine.enqueue()
  await clock.advanceBy(2_000)
  node.endAll()
  await clock.advanceBy(3_000)
}

describe('a job that is in no list and has no log, after a request without an answer', () => {
  it('is flagged when it is sent again to a node that has forgotten: it ran, and nobody can know', async ({
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
    // It ends, and the node is restarted, before anybody can look; its logs are pruned (jobs_to_keep), or it keeps none.
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

  it('is not flagged where the node lists a run of ours that ended before: it remembers all that it did since', async ({
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
    const absent = (await store.listTimeline(id)).find(({ kind }) => kind === 'absent')
    expect(absent?.text).toContain('never to have reached')
  })

  it('is flagged where nothing shows that the node remembers, though it may never have arrived', async ({
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
    const absent = (await store.listTimeline(id)).find(({ kind }) => kind === 'absent')
    expect(absent?.evidence).toMatchObject({ remembers: false })
  })
})

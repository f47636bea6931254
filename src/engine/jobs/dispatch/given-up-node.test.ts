import { describe, expect } from 'vitest'
import { aJobId, aNodeId } from '../../../shared/testing/ids.ts'
import { it, MINUTE_MS, onlyOn, type TestedEngine } from '../../testing/dispatch-fixtures.ts'

function giveUpAfter(engine: TestedEngine, giveUpAfterSeconds: number | null): void {
  const { stored } = engine.fleet.get(aNodeId('n1'))!
  engine.fleet.update({ ...stored, giveUpAfterSeconds })
}

describe('a node that does not respond', () => {
  it('is given up after its time limit, and its jobs run elsewhere, flagged', async ({
    clock,
    node,
    other,
    engine
  }) => {
    const id = await engine.startRunning({ n1: node })
    giveUpAfter(engine, 120)
    await engine.restart({ n1: node, n2: other })
    await clock.advanceBy(2_000)
    giveUpAfter(engine, 120)
    node.isDown = true
    await clock.advanceBy(100_000)
    expect(await engine.job(id)).toMatchObject({ state: 'running', mayHaveRunTwice: false })
    await clock.advanceBy(30_000)
    expect(other.executed).toEqual([`${id}-2`])
    expect(await engine.job(id)).toMatchObject({ nodeId: 'n2', mayHaveRunTwice: true })
    expect(await engine.textOf(id, 'given_up')).toBe(
      'Given up: n1 has not responded for 2 min; queued again and flagged, because it may still be running there'
    )
    other.end(`${id}-2`)
    await clock.advanceBy(3_000)
    expect(await engine.job(id)).toMatchObject({ status: 'succeeded', mayHaveRunTwice: true })
  })

  it('keeps its jobs if it is back in time, and forever if no limit is set', async ({
    clock,
    store,
    node,
    other,
    engine
  }) => {
    const id = await engine.startRunning({ n1: node, n2: other }, onlyOn('n1'))
    giveUpAfter(engine, 120)
    for (let time = 0; time < 5; time += 1) {
      node.isDown = true
      await clock.advanceBy(80_000)
      node.isDown = false
      await clock.advanceBy(40_000)
    }
    giveUpAfter(engine, null)
    node.isDown = true
    await clock.advanceBy(120 * MINUTE_MS)
    expect((await store.listAttempts(aJobId(id))).map(({ state }) => state)).toEqual(['running'])
  })

  it('can be given up by hand only while it does not respond', async ({ clock, node, other, engine }) => {
    await engine.start({ n1: node, n2: other })
    const [away, here] = [await engine.enqueue(onlyOn('n1')), await engine.enqueue(onlyOn('n2'))]
    await clock.advanceBy(2_000)
    node.isDown = true
    await clock.advanceBy(5_000)
    expect(await engine.dispatch.runElsewhere([aJobId(away), aJobId(here)])).toEqual([away])
    expect(await engine.job(away)).toMatchObject({ state: 'queued', mayHaveRunTwice: true })
    expect(await engine.job(here)).toMatchObject({ state: 'running', mayHaveRunTwice: false })
  })

  it('does not requeue a job whose cancel was requested', async ({ clock, node, other, engine }) => {
    const id = await engine.startRunning({ n1: node, n2: other }, onlyOn('n1'))
    node.isDown = true
    await clock.advanceBy(5_000)
    await engine.cancel([id])
    expect(await engine.dispatch.runElsewhere([aJobId(id)])).toEqual([id])
    expect(await engine.job(id)).toMatchObject({ status: 'cancelled' })
    node.isDown = false
    await clock.advanceBy(MINUTE_MS)
    expect(node.running[0]?.signals[0]).toBe('INT')
  })
})

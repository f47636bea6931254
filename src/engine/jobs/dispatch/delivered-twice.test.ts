import { describe, expect } from 'vitest'
import { aJobId } from '../../../shared/testing/ids.ts'
import { it } from '../../testing/dispatch-fixtures.ts'

describe('a job whose request a proxy delivered twice', () => {
  it('is flagged, once, as soon as its node lists it twice', async ({ clock, store, node, engine }) => {
    const id = await engine.startRunning({ n1: node })
    expect(await engine.job(id)).toMatchObject({ mayHaveRunTwice: false })
    node.running.push({ ...node.running[0]! })
    await clock.advanceBy(10_000)
    expect(await engine.job(id)).toMatchObject({ mayHaveRunTwice: true, status: 'running' })
    const told = (await store.listTimeline(aJobId(id))).filter(({ kind }) => kind === 'seen_again')
    expect(told.map(({ text }) => text)).toEqual([
      'n1 lists the job twice because the request arrived twice (does a proxy repeat requests?)'
    ])
  })
})

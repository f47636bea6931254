import { describe, expect } from 'vitest'
import { aJobId, aNodeId } from '../../../shared/testing/ids.ts'
import type { NewJob } from '../../model/records.ts'
import { it, onlyOn } from '../../testing/dispatch-fixtures.ts'

const retry = (attempts: number) =>
  ({
    attempts,
    backoffSeconds: 30,
    backoffFactor: 2,
    backoffMaxSeconds: 3_600,
    on: ['failed', 'lost']
  }) as NewJob['retry']

describe('a job that failed', () => {
  it('is tried again after its wait, and ends with the last of its runs', async ({ clock, node, engine }) => {
    const id = await engine.startRunning({ n1: node }, { retry: retry(2) })
    node.end(id, 'memusage_exceeded')
    await clock.advanceBy(3_000)
    expect(await engine.job(id)).toMatchObject({ state: 'queued', hold: 'retry', mayHaveRunTwice: false })
    expect(await engine.textOf(id, 'ended')).toBe('Failed: memusage_exceeded; retrying in 30 s (run 2 of 2)')
    await clock.advanceBy(31_000)
    expect(node.executed).toEqual([id, `${id}-2`])
    node.end(`${id}-2`, 'memusage_exceeded')
    await clock.advanceBy(3_000)
    expect(await engine.job(id)).toMatchObject({ status: 'failed', reason: 'memusage_exceeded' })
    expect(await engine.resultsOf(id)).toEqual([
      ['failed', 'memusage_exceeded'],
      ['failed', 'memusage_exceeded']
    ])
  })

  it('is not tried again if its log hides how it ended, because it may have succeeded', async ({
    clock,
    node,
    engine
  }) => {
    const id = await engine.startRunning({ n1: node }, { retry: retry(3) })
    const [after, onSuccess] = [
      await engine.enqueue({ after: [{ jobId: aJobId(id), on: 'ended' }] }),
      await engine.enqueue({ after: [{ jobId: aJobId(id), on: 'succeeded' }] })
    ]
    node.end(id, null)
    await clock.advanceBy(3_000)
    expect(await engine.job(id)).toMatchObject({
      status: 'unclear',
      reason: 'end not visible in the log',
      killingLine: null,
      pages: null,
      items: null,
      errors: null
    })
    expect(await engine.textOf(id, 'ended')).toBe('Unclear: end not visible in the log')
    expect(await engine.resultsOf(id)).toEqual([['unclear', 'end not visible in the log']])
    expect(await engine.job(onSuccess)).toMatchObject({
      status: 'cancelled',
      reason: `skipped: ${id} ended as unclear`
    })
    expect(await engine.job(after)).toMatchObject({ hold: null })
  })

  it('is flagged if it was lost before the retry, because its node may only have forgotten it', async ({
    clock,
    node,
    engine
  }) => {
    const id = await engine.startRunning({ n1: node }, { retry: retry(2) })
    node.restart({ loseLogs: true })
    await clock.advanceBy(10_000)
    expect(await engine.job(id)).toMatchObject({ state: 'queued', hold: 'retry', mayHaveRunTwice: true })
  })

  it('is not tried again if a cancel was requested', async ({ clock, node, engine }) => {
    const id = await engine.startRunning({ n1: node }, { retry: retry(5) })
    await engine.cancel([id])
    node.end(id, 'memusage_exceeded')
    await clock.advanceBy(3_000)
    expect(await engine.job(id)).toMatchObject({ status: 'failed' })
  })

  it('is tried again even if its node was removed', async ({ clock, node, other, engine }) => {
    await engine.start({ n1: node, n2: other })
    const id = await engine.enqueue({ retry: retry(2), ...onlyOn('n1') })
    await clock.advanceBy(2_000)
    await engine.dispatch.abandonNode(aNodeId('n1'))
    expect(await engine.textOf(id, 'ended')).toBe(
      'Lost: its node was removed from the fleet; retrying in 30 s (run 2 of 2)'
    )
  })
})

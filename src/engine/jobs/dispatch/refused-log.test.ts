import { describe, expect } from 'vitest'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { aJobId, anAttemptNumber } from '../../../shared/testing/ids.ts'
import { plain } from '../../../shared/texts/message.ts'
import { fromProxy, NodeError } from '../../nodes/node-client.ts'
import { it } from '../../testing/dispatch-fixtures.ts'
import { type FakeNode } from '../../testing/fake-node.ts'
import { advanceUntil } from '../../testing/until.ts'

describe('a run that its node no longer lists, and whose log the node refuses', () => {
  const refuseLogs = (node: FakeNode) => {
    node.readLog = async () => {
      throw new NodeError('http', plain('n1 answered 403'), { delivered: 'unknown' })
    }
  }

  it('is lost after a minute, so that it does not hold its slot forever', async ({ clock, node, engine }) => {
    const id = await engine.startRunning({ n1: node })
    refuseLogs(node)
    node.restart()
    await clock.advanceBy(40_000)
    expect(await engine.job(id)).toMatchObject({ state: 'running' })
    await clock.advanceBy(40_000)
    expect(await engine.job(id)).toMatchObject({ status: 'lost', reason: 'log refused' })
  })

  it('is lost one poll later if the disk was full at first', async ({ clock, store, node, engine }) => {
    const id = await engine.startRunning({ n1: node })
    refuseLogs(node)
    node.restart()
    const write = store.applyChanges
    let refused = 0
    store.applyChanges = async () => {
      refused += 1
      throw new Error('the disk is full')
    }
    await clock.advanceBy(80_000)
    expect(refused).toBeGreaterThan(1)
    store.applyChanges = write
    await clock.advanceBy(3_000)
    expect(await engine.job(id)).toMatchObject({ status: 'lost', reason: 'log refused' })
  })

  it('is tried again, flagged, if it was never known to have arrived', async ({ clock, node, engine }) => {
    await engine.start({ n1: node })
    refuseLogs(node)
    node.behaviours = ['lose_request']
    const id = await engine.enqueue()
    await clock.advanceBy(80_000)
    expect(node.executed).toEqual([`${id}-2`])
    expect(await engine.job(id)).toMatchObject({ state: 'running', mayHaveRunTwice: true })
  })
})

it('a run whose log a node always refuses ends without it, and says why', async ({ clock, store, node, engine }) => {
  await engine.start({ n1: node })
  const [id] = await engine.enqueueMany(1)
  await clock.advanceBy(2_000)
  node.readLog = () =>
    Promise.reject(new NodeError('http', plain('n1 answered the log with status 403'), { delivered: 'unknown' }))
  node.end(id!)
  await clock.advanceBy(20_000)
  expect((await engine.job(id!)).state).toBe('running')
  await clock.advanceBy(60_000)
  expect(await engine.job(id!)).toMatchObject({ status: 'unclear', reason: 'log refused' })
  const last = (await store.listTimeline(aJobId(id!))).at(-1)!
  expect(last.text).toBe('Unclear: log refused (n1 answered the log with status 403)')
  expect(last.evidence).toMatchObject({ logProblem: 'n1 answered the log with status 403' })
})

it('a proxy that answers only log requests, while the node is up, does not delay the end forever', async ({
  clock,
  node,
  engine
}) => {
  await engine.start({ n1: node })
  const [id] = await engine.enqueueMany(1)
  await clock.advanceBy(2_000)
  const answer = () =>
    new NodeError('unreachable', plain('n1 is down (the proxy answers 502)'), { delivered: 'unknown' })
  node.readLog = () => Promise.reject(fromProxy(answer()))
  node.end(id!)
  await clock.advanceBy(80_000)
  expect(await engine.job(id!)).toMatchObject({ status: 'unclear', reason: 'log refused' })
})

it('unanswered tries do not count: a log that is refused once after an outage is read', async ({
  clock,
  node,
  engine
}) => {
  await engine.start({ n1: node })
  const [id] = await engine.enqueueMany(1)
  await clock.advanceBy(2_000)
  const { readLog } = node
  node.readLog = () => Promise.reject(new NodeError('timeout', plain('n1 did not answer'), { delivered: 'unknown' }))
  node.end(id!)
  await clock.advanceBy(120_000)
  node.readLog = () => Promise.reject(new NodeError('http', plain('n1 answered 503'), { delivered: 'unknown' }))
  await clock.advanceBy(31_000)
  node.readLog = readLog
  await clock.advanceBy(60_000)
  expect(await engine.job(id!)).toMatchObject({ state: 'ended', status: 'succeeded' })
})

it('a run whose log the blob store refuses does not end until the store accepts it', async ({
  clock,
  store,
  node,
  engine
}) => {
  await engine.start({ n1: node })
  const [id] = await engine.enqueueMany(1)
  await clock.advanceBy(2_000)
  const line = '2026-11-02 12:00:00 [shop] INFO: a line of a log that is too long for the database\n'
  const { write } = engine.blobs
  let refused = 0
  engine.blobs.write = async () => {
    refused += 1
    throw new ScrapdeckError('BLOBS_UNUSABLE', 'The storage does not respond')
  }
  node.end(id!)
  node.logs.set(id!, line.repeat(2_000) + node.logs.get(id!))
  await clock.advanceBy(120_000)
  expect(refused).toBeGreaterThan(3)
  expect((await engine.job(id!)).state).toBe('running')
  engine.blobs.write = write
  await advanceUntil(clock, async () => (await engine.job(id!)).state === 'ended')
  const kept = await store.findArchivedLog(aJobId(id!), anAttemptNumber(1))
  expect(kept?.sizes?.rawBytes).toBeGreaterThanOrEqual(2_000 * line.length)
})

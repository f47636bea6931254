import { expect } from 'vitest'
import { aJobId, anAttemptNumber } from '../../../shared/testing/ids.ts'
import { plain } from '../../../shared/texts/message.ts'
import { NodeError } from '../../nodes/node-client.ts'
import { it, type TestedEngine } from '../../testing/dispatch-fixtures.ts'
import { until } from '../../testing/until.ts'

const ITEMS = new TextEncoder().encode('{"at":1}\n')
const FIRST = anAttemptNumber(1)

/** Polls, because the blobs are written to a real disk. */
const hasSucceeded = (engine: TestedEngine, id: string) =>
  until(
    'the job succeeds',
    async () => (await engine.job(id)).outcome,
    (outcome) => outcome === 'succeeded'
  )

it('a run ends only after its items are archived, if its project requires that', async ({
  clock,
  store,
  node,
  engine
}) => {
  await engine.start({ n1: node }, { keepsItems: true })
  const [id] = await engine.enqueueMany(1)
  await clock.advanceBy(2_000)
  node.items.set(id!, ITEMS)
  node.end(id!)
  await clock.advanceBy(5_000)
  await hasSucceeded(engine, id!)
  expect((await store.findItems(aJobId(id!), FIRST))?.sizes?.rawBytes).toBe(ITEMS.length)
})

it('the items of other projects stay on their node', async ({ clock, store, node, engine }) => {
  await engine.start({ n1: node })
  const [id] = await engine.enqueueMany(1)
  await clock.advanceBy(2_000)
  node.items.set(id!, ITEMS)
  node.end(id!)
  await clock.advanceBy(5_000)
  expect(await engine.job(id!)).toMatchObject({ outcome: 'succeeded' })
  expect(await store.findItems(aJobId(id!), FIRST)).toBeNull()
})

it('items that a node refuses are given up after some tries; the log is fetched once, and the timeline says why', async ({
  clock,
  store,
  node,
  engine
}) => {
  await engine.start({ n1: node }, { keepsItems: true })
  const [id] = await engine.enqueueMany(1)
  await clock.advanceBy(2_000)
  let logReads = 0
  const readLog = node.readLog.bind(node)
  node.readLog = async (...asked) => {
    logReads += 1
    return readLog(...asked)
  }
  node.readItems = () => Promise.reject(new NodeError('http', plain('n1 answered 403'), { delivered: 'unknown' }))
  node.end(id!)
  await clock.advanceBy(20_000)
  await hasSucceeded(engine, id!)
  expect(await store.findItems(aJobId(id!), FIRST)).toMatchObject({ sizes: null, problem: 'n1 answered 403' })
  expect((await store.listTimeline(aJobId(id!))).at(-1)!.evidence).toMatchObject({ itemsProblem: 'n1 answered 403' })
  expect(logReads).toBe(1)
})

it('a run waits for the items of a node that does not respond', async ({ clock, store, node, engine }) => {
  await engine.start({ n1: node }, { keepsItems: true })
  const [id] = await engine.enqueueMany(1)
  await clock.advanceBy(2_000)
  node.items.set(id!, ITEMS)
  const readItems = node.readItems.bind(node)
  node.readItems = () => Promise.reject(new NodeError('unreachable', plain('n1 is away'), { delivered: 'no' }))
  node.end(id!)
  await clock.advanceBy(120_000)
  expect((await engine.job(id!)).state).toBe('running')
  node.readItems = readItems
  await clock.advanceBy(40_000)
  await hasSucceeded(engine, id!)
  expect((await store.findItems(aJobId(id!), FIRST))?.sizes).not.toBeNull()
})

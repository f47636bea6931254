import { expect } from 'vitest'
import { aJobId, aNodeId, aVersionName } from '../../shared/testing/ids.ts'
import type { Distribution } from '../projects/distribution.ts'
import { aNewJob } from '../testing/builders.ts'
import { it } from '../testing/dispatch-fixtures.ts'
import { FakeNode } from '../testing/fake-node.ts'

const TRACEBACK = "Traceback (most recent call last):\n  File ...\nModuleNotFoundError: No module named 'x'"

it('jobs whose egg every node refuses with the same import error fail with it, and say so while they wait', async ({
  clock,
  store,
  engine
}) => {
  const errors = new Map<ReturnType<typeof aNodeId>, string>([[aNodeId('n1'), TRACEBACK]])
  const importErrors: Distribution['importErrors'] = () => errors
  const [one, other] = [new FakeNode(clock, { slots: 1 }), new FakeNode(clock, { slots: 1 })]
  const { promise: tried, reject: refuse } = Promise.withResolvers<{ spiders: number }>()
  tried.catch(() => {})
  other.addVersion = () => tried
  await engine.start({ n1: one, n2: other }, { importErrors })
  await store.enqueueJobs(Array.from({ length: 30 }, () => aNewJob({ version: '1' })))
  await clock.advanceBy(1_000)
  const waiting = () => store.listJobs({ status: ['queued'], project: 'shop' }, { before: null, limit: 100 })
  const first = await waiting()
  expect(first).toHaveLength(30)
  engine.dispatch.wake()
  await clock.advanceBy(0)
  expect(engine.waiting.describeJob(first[0]!).waiting?.text).toContain(
    "n1 cannot import version 1: ModuleNotFoundError: No module named 'x'"
  )

  errors.set(aNodeId('n2'), TRACEBACK)
  refuse(new Error('cannot import x'))
  await clock.advanceBy(5_000)
  expect(await waiting()).toEqual([])
  const job = await engine.job(first[0]!.id)
  expect(job).toMatchObject({ status: 'failed', killingLine: "ModuleNotFoundError: No module named 'x'" })
  const end = (await store.listTimeline(aJobId(job.id))).at(-1)
  expect(end).toMatchObject({
    text: "Failed: no node can import version 1: ModuleNotFoundError: No module named 'x'",
    evidence: { version: aVersionName('1'), nodes: ['n1', 'n2'], output: TRACEBACK }
  })
})

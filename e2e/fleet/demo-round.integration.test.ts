import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../src/engine/testing/until.ts'
import { type DemoFleet, JOB_COUNT, SLOTS_PER_NODE, expectedOutcome, mostAtOnce, startDemoFleet } from './demo-fleet.ts'

let fleet: DemoFleet
beforeAll(async () => {
  fleet = await startDemoFleet()
})
afterAll(() => fleet?.stop())

test(`${JOB_COUNT} jobs on three real Scrapyds: each runs once, ends rightly, and no node ever runs more than its slots`, async () => {
  const asked = await fleet.queueRound()
  expect(asked).toHaveLength(JOB_COUNT)

  const jobs = await until(
    'all jobs to end',
    () => fleet.jobs(),
    (list) => list.length === JOB_COUNT && list.every(({ state }) => state === 'ended'),
    150_000
  )

  // The spiders' own side effects: what really ran, whatever Scrapdeck believes.
  expect(fleet.touched().toSorted()).toEqual(asked.map(({ id }) => id).toSorted())
  expect(jobs.map(({ id, status }) => [id, status]).toSorted()).toEqual(
    asked.map((job) => [job.id, expectedOutcome(job)]).toSorted()
  )
  for (const { attemptCount } of jobs) expect(attemptCount).toBe(1)

  const nodes = await Promise.all(fleet.scrapyds.map(mostAtOnce))
  expect(nodes.reduce((sum, { runs }) => sum + runs, 0)).toBe(JOB_COUNT)
  for (const node of nodes) {
    // Used, and never over: with a slot idle all the time the test would prove little.
    expect(node.runs).toBeGreaterThan(JOB_COUNT / 12)
    expect(node.mostAtOnce).toBe(SLOTS_PER_NODE)
  }
}, 180_000)

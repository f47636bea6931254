import { afterAll, beforeAll, expect, test } from 'vitest'
import { pickLength } from '../../scripts/test-length.mjs'
import type { Job } from '../../src/shared/contract/index.ts'
import { until } from '../../src/engine/testing/until.ts'
import { type DemoFleet, JOB_COUNT, SLOTS_PER_NODE, expectedOutcome, mostAtOnce, startDemoFleet } from './demo-fleet.ts'

const ENGINE_KILLS_AT = pickLength([3, 7, 11], [8, 22, 40])
const SCRAPYD_KILL_AT = pickLength(5, 15)
const SCRAPYD_AWAY_MS = 2_000

let fleet: DemoFleet
beforeAll(async () => {
  fleet = await startDemoFleet()
})
afterAll(() => fleet?.stop())

test('the engine killed three times and one Scrapyd once: every job runs once, or is lost with evidence', async () => {
  const asked = await fleet.queueRound()
  const killed = fleet.scrapyds[0]
  if (!killed) throw new Error('The fleet has no nodes')
  const killedNodeId = (await fleet.service.client.nodes.list()).nodes.find(({ url }) => url === killed.url)?.id

  for (const touchedCount of [...ENGINE_KILLS_AT, SCRAPYD_KILL_AT].toSorted((left, right) => left - right)) {
    // Counted by the spiders, not by the engine: a kill must not wait for the engine to be in a good moment.
    await until(
      'spiders to come up',
      async () => fleet.touched().length,
      (count) => count >= touchedCount,
      90_000
    )
    if (touchedCount === SCRAPYD_KILL_AT) {
      await killed.kill({ withSpiders: true })
      await new Promise((wake) => setTimeout(wake, SCRAPYD_AWAY_MS))
      await killed.restart()
    } else {
      await fleet.service.kill()
      await fleet.service.start()
    }
  }
  const jobs = await until(
    'all jobs to end',
    () => fleet.jobs(),
    (list) => list.length === JOB_COUNT && list.every(({ state }) => state === 'ended'),
    150_000
  )

  // Nothing acknowledged is gone, nothing appeared.
  expect(jobs.map(({ id }) => id).toSorted()).toEqual(asked.map(({ id }) => id).toSorted())

  const runsOf = countRuns(fleet.touched())
  for (const job of jobs) {
    const ran = runsOf.get(job.id) ?? 0
    if (job.status === 'lost') {
      expect(job.nodeId, 'only the killed node may forget').toBe(killedNodeId)
      expect(ran).toBeLessThanOrEqual(1)
      await expectEvidence(job)
    } else {
      expect({ job: job.id, ran, status: job.status }).toEqual({ job: job.id, ran: 1, status: expectedOutcome(job) })
    }
  }
  // At most what was on the killed node at that moment, plus what ended there unseen.
  expect(jobs.filter(({ status }) => status === 'lost').length).toBeLessThanOrEqual(SLOTS_PER_NODE)

  for (const scrapyd of fleet.scrapyds) {
    const { mostAtOnce: most } = await mostAtOnce(scrapyd)
    expect(most).toBeLessThanOrEqual(SLOTS_PER_NODE)
  }
}, 240_000)

/** A later attempt's jobid is the job's id with `-2`, `-3`…: all of them are runs of that job. */
function countRuns(jobids: string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const jobid of jobids) {
    const id = jobid.slice(0, 32)
    counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  return counts
}

async function expectEvidence(job: Job): Promise<void> {
  const { timeline } = await fleet.service.client.jobs.get({ id: job.id })
  const end = timeline.findLast(({ kind }) => kind === 'ended')
  expect(Object.keys(end?.evidence ?? {})).not.toHaveLength(0)
  expect(job.reason).toBeTruthy()
}

import { afterAll, beforeAll, expect, test } from 'vitest'
import { pickLength } from '../../scripts/test-length.mjs'
import type { Job } from '../../src/shared/contract/index.ts'
import { until } from '../../src/engine/testing/until.ts'
import { TEST_CREDENTIALS } from '../support/service.ts'
import {
  type DemoFleet,
  expectedOutcome,
  mostAtOnce,
  type Round,
  sizeOf,
  SLOTS_PER_NODE,
  startDemoFleet
} from './demo-fleet.ts'
import { basicAuthorization } from '../support/basic-authorization.ts'

const WHOLE_ROUND: Round = { quotes: 36, prices: 16, broken: 8 }
/** Each round has more jobs than there are slots. */
const CALM_ROUND = pickLength({ quotes: 4, prices: 2, broken: 2 }, WHOLE_ROUND)
const KILLS_ROUND = pickLength({ quotes: 7, prices: 3, broken: 2 }, WHOLE_ROUND)
/** The engine and a Scrapyd are killed after this many spiders of the round have started. */
const ENGINE_KILLS_AT = pickLength([2, 6, 9], [8, 22, 40])
const SCRAPYD_KILL_AT = pickLength(4, 15)
const SCRAPYD_AWAY_MS = 2_000

let fleet: DemoFleet
beforeAll(async () => {
  fleet = await startDemoFleet()
})
afterAll(() => fleet?.stop())

test(`${sizeOf(CALM_ROUND)} jobs on three real Scrapyds each run once and end with the right outcome, and no node ever runs more than its slots`, async () => {
  const asked = await fleet.queueRound(CALM_ROUND)
  expect(asked).toHaveLength(sizeOf(CALM_ROUND))
  const jobs = await fleet.untilEnded(asked.length)

  // The spiders' own side effects show what really ran, independently of Scrapdeck.
  expect(fleet.touched().toSorted()).toEqual(asked.map(({ id }) => id).toSorted())
  expect(jobs.map(({ id, status }) => [id, status]).toSorted()).toEqual(
    asked.map((job) => [job.id, expectedOutcome(job)]).toSorted()
  )
  for (const { attemptCount } of jobs) expect(attemptCount).toBe(1)

  const nodes = await Promise.all(fleet.scrapyds.map(mostAtOnce))
  expect(nodes.reduce((sum, { runs }) => sum + runs, 0)).toBe(asked.length)
  for (const node of nodes) {
    // The slots were all used but never exceeded. If a slot were always idle, the test would prove little.
    expect(node.runs).toBeGreaterThan(asked.length / 12)
    expect(node.mostAtOnce).toBe(SLOTS_PER_NODE)
  }

  // The nodes still have their newest item files. The listing names exactly the files that can be read.
  const listing = await ask('/items/demo/quotes/')
  const names = [...(await listing.text()).matchAll(/href="([^"]+\.jl)"/g)].map((match) => match[1]!)
  expect([listing.status, names.length > 0]).toEqual([200, true])
  for (const name of names) expect([name, (await ask(`/items/demo/quotes/${name}`)).status]).toEqual([name, 200])
}, 180_000)

function ask(path: string): Promise<Response> {
  const { username, password } = TEST_CREDENTIALS
  const authorization = basicAuthorization({ username, password })
  return fetch(fleet.service.address + path, { headers: { authorization } })
}

test('when the engine is killed three times and one Scrapyd once, every job runs once, or is lost with evidence', async () => {
  const earlier = new Set((await fleet.jobs()).map(({ id }) => id))
  const before = fleet.touched().length
  const asked = await fleet.queueRound(KILLS_ROUND)
  const killed = fleet.scrapyds[0]
  if (!killed) throw new Error('The fleet has no nodes')
  const killedNodeId = (await fleet.service.client.nodes.list()).nodes.find(({ url }) => url === killed.url)?.id

  for (const touchedCount of [...ENGINE_KILLS_AT, SCRAPYD_KILL_AT].toSorted((left, right) => left - right)) {
    // Counts what the spiders recorded, because the kills must be independent of what the engine is doing.
    await until(
      'spiders to come up',
      async () => fleet.touched().length - before,
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
  const all = await fleet.untilEnded(earlier.size + asked.length)
  const jobs = all.filter(({ id }) => !earlier.has(id))

  expect(jobs.map(({ id }) => id).toSorted()).toEqual(asked.map(({ id }) => id).toSorted())

  const runsOf = countRuns(fleet.touched().slice(before))
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
  // Only the jobs in the slots of the killed node can be lost. This includes runs that had ended before Scrapdeck
  // noticed.
  expect(jobs.filter(({ status }) => status === 'lost').length).toBeLessThanOrEqual(SLOTS_PER_NODE)

  for (const scrapyd of fleet.scrapyds) {
    const { mostAtOnce: most } = await mostAtOnce(scrapyd)
    expect(most).toBeLessThanOrEqual(SLOTS_PER_NODE)
  }
}, 240_000)

/** Counts runs per job. The jobid of a later attempt is the job's id with `-2`, `-3`… */
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

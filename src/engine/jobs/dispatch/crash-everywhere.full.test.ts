import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aJobId } from '../../../shared/testing/ids.ts'
import { plain } from '../../../shared/texts/message.ts'
import { isLong } from '../../../../scripts/test-length.mjs'
import { openFilesystemBlobStore } from '../../storage/blobs/filesystem/filesystem-blob-store.ts'
import type { BlobStore } from '../../storage/blobs/blob-store.ts'
import type { Store } from '../../storage/store.ts'
import { aNewJob } from '../../testing/builders.ts'
import { type DispatchHarness, startDispatch } from '../../testing/dispatch-harness.ts'
import { createFakeClock, type FakeClock, settle } from '../../testing/fake-clock.ts'
import { FakeNode, type ScheduleBehaviour } from '../../testing/fake-node.ts'
import { beginLife, type Death, type Life } from '../../testing/mortal.ts'
import { createSeededRandom } from '../../testing/seeded-random.ts'
import { makeTemporaryDirectory, type TemporaryDirectory } from '../../testing/temporary-directory.ts'
import { openTemporaryStore } from '../../testing/temporary-store.ts'

/**
 * Runs a story of six jobs on two nodes many times. In each run, the engine dies at a different call to the store or to
 * a node, and a new engine takes over. All results are checked against what the nodes executed.
 *
 * With CRASH_EVERYWHERE=all (or npm run test:long), the engine dies at every call. By default, most reads are left out.
 * CRASH_SEED=n changes the stories.
 */
const IS_LONG = isLong || process.env['CRASH_EVERYWHERE'] === 'all'
const SEED = Number(process.env['CRASH_SEED'] ?? 1)
const LIMIT_MS = IS_LONG ? 1_800_000 : 120_000
const JOB_MS = 3_000
const LIMIT_SECONDS = 300
const WRITES = ['enqueueJobs', 'beginAttempts', 'cancelQueued', 'askCancel', 'applyChanges', 'markLogArchived']
const ACTS = [...WRITES, 'schedule', 'cancel']
const ONCE = ['queued', 'sending', 'accepted', 'refused', 'uncertain', 'absent', 'running', 'vanished', 'finishing']

interface Story {
  cancels: { job: number; atMs: number; force: boolean }[]
  behaviours: Record<'n1' | 'n2', ScheduleBehaviour[]>
  restartAtMs: number | null
  /** Up to this time, the second node accepts jobs but starts none. */
  wedgedUntilMs: number
  down: { fromMs: number; toMs: number }
}

const PLAIN: Story = {
  cancels: [],
  behaviours: { n1: [], n2: [] },
  restartAtMs: null,
  wedgedUntilMs: 0,
  down: { fromMs: 0, toMs: 0 }
}

let directory: TemporaryDirectory
let blobs: BlobStore
beforeAll(async () => {
  directory = await makeTemporaryDirectory()
  blobs = await openFilesystemBlobStore(directory.path)
})
afterAll(() => directory.remove())

describe('an engine that dies at any of its calls', () => {
  it(
    'has run every acknowledged job exactly once when its successor is done',
    async () => {
      await dieEverywhere(() => PLAIN, 12)
    },
    LIMIT_MS
  )

  it(
    'carries out every cancel, whenever it was requested',
    async () => {
      await dieEverywhere(
        (random) => ({ ...PLAIN, cancels: someCancels(random), wedgedUntilMs: someMs(random, 0.4) }),
        18
      )
    },
    LIMIT_MS
  )

  it(
    'runs no job twice on nodes that lose requests and responses, refuse jobs, and restart',
    async () => {
      await dieEverywhere(
        (random) => ({
          cancels: random.next() < 0.3 ? someCancels(random) : [],
          behaviours: { n1: someBehaviours(random), n2: someBehaviours(random) },
          restartAtMs: random.next() < 0.4 ? someMs(random, 1) : null,
          wedgedUntilMs: someMs(random, 0.2),
          down: { fromMs: someMs(random, 0.5), toMs: someMs(random, 0.5) }
        }),
        36
      )
    },
    LIMIT_MS
  )
})

type Random = ReturnType<typeof createSeededRandom>

function someMs(random: Random, chance: number): number {
  return random.next() < chance ? Math.floor(random.next() * 9_000) : 0
}

function someCancels(random: Random): Story['cancels'] {
  const cancelled = [0, 1, 2, 3, 4, 5].filter(() => random.next() < 0.5)
  return cancelled.map((job) => ({ job, atMs: Math.floor(random.next() * 9_000), force: random.next() < 0.3 }))
}

function someBehaviours(random: Random): ScheduleBehaviour[] {
  const all: ScheduleBehaviour[] = ['ok', 'drop_reply', 'lose_request', 'refuse', 'unreachable']
  return Array.from({ length: 3 }, () => all[Math.floor(random.next() * all.length)]!)
}

/** Tries every call in `ACTS`, but only one in `oneIn` of the reads unless `IS_LONG` is set. */
async function dieEverywhere(storyOf: (random: Random) => Story, oneIn: number): Promise<void> {
  const calls = await tell(storyOf(createSeededRandom(SEED)), null)
  expect(calls.filter((call) => call.endsWith('schedule')).length).toBeGreaterThanOrEqual(3)
  for (const [call, name] of calls.entries()) {
    const isAct = ACTS.includes(name.split('.')[1]!)
    if (!isAct && !IS_LONG && (call + SEED) % oneIn !== 0) continue
    for (const when of isAct ? (['before', 'after'] as const) : (['before'] as const)) {
      await tell(storyOf(createSeededRandom(SEED + (IS_LONG ? call : call % 7))), { call, when })
    }
  }
}

/** Runs the story to its end and checks the results. Returns the calls made by the engine that dies. */
async function tell(story: Story, death: Death | null): Promise<string[]> {
  const clock = createFakeClock()
  const temporary = await openTemporaryStore({ clock, inMemory: true })
  const { store } = temporary
  const nodes = { n1: new FakeNode(clock, { slots: 2, eggs: ['shop@1'] }), n2: new FakeNode(clock, { slots: 1 }) }
  const life = beginLife(death)
  const told: Told = { ids: [], acknowledged: new Set(), cancelled: new Set() }
  let engine: DispatchHarness | null = null
  try {
    for (const [id, behaviours] of Object.entries(story.behaviours)) nodes[id as 'n1'].behaviours = [...behaviours]
    nodes.n1.isWedged = story.wedgedUntilMs > 0
    const first = startDispatch({ store: lendStore(life, store), clock, nodes: lendNodes(life, nodes), blobs })
    engine = await Promise.race([first, life.death.then(() => null)])
    if (engine !== null) void follow(story, engine, lendStore(life, store), clock, told)
    let isSecond = false
    for (let second = 0; second < LIMIT_SECONDS; second += 0.5) {
      await clock.advanceBy(500)
      const atMs = second * 1000
      if (nodes.n1.isWedged && atMs >= story.wedgedUntilMs) nodes.n1.unwedge()
      nodes.n2.isDown = atMs >= story.down.fromMs && atMs < story.down.toMs
      runSpiders(Object.values(nodes), clock)
      if (story.restartAtMs !== null && atMs <= story.restartAtMs && story.restartAtMs < atMs + 500) {
        nodes.n1.restart()
      }
      if (life.isDead() && !isSecond) {
        isSecond = true
        await settle()
        engine = await startDispatch({ store, clock, nodes, blobs })
      }
      if ((life.isDead() || second > 10) && (await isAllDone(store))) break
    }
    await clock.advanceBy(2_000)
    await check({ store, nodes, engine: engine!, told, story }).catch((error: Error) => {
      const where = death === null ? 'nowhere' : `${death.when} call ${death.call}, ${life.calls[death.call]}`
      throw new Error(`dying ${where}, story ${JSON.stringify(story)}: ${error.message}`, { cause: error })
    })
    return life.calls
  } finally {
    void engine?.crash()
    await settle()
    await temporary.remove()
  }
}

interface Told {
  ids: string[]
  acknowledged: Set<string>
  cancelled: Set<string>
}

/** Queues three jobs now and three more after a second, and requests the story's cancels. */
async function follow(story: Story, engine: DispatchHarness, store: Store, clock: FakeClock, told: Told) {
  const enqueue = async () => {
    const jobs = [1, 2, 3].map(() => aNewJob({ version: '1' }))
    told.ids.push(...jobs.map(({ id }) => id))
    await store.enqueueJobs(jobs)
    for (const { id } of jobs) told.acknowledged.add(id)
    engine.dispatch.wake()
  }
  clock.setTimer(1_000, () => void enqueue())
  for (const { job, atMs, force } of story.cancels) {
    clock.setTimer(atMs, () => void cancel(job, force))
  }
  await enqueue()

  async function cancel(job: number, force: boolean) {
    const id = told.ids[job]
    if (id === undefined) return
    const removed = await store.cancelQueued([aJobId(id)], {
      atMs: clock.nowMs(),
      message: plain('Cancelled while queued'),
      evidence: {}
    })
    if (removed.length > 0) return void told.cancelled.add(id)
    const asked = await store.askCancel([aJobId(id)], {
      atMs: clock.nowMs(),
      message: plain('Asked to cancel'),
      evidence: {}
    })
    engine.dispatch.cancel(asked, { force })
    if (asked.length > 0) told.cancelled.add(id)
  }
}

/** Ends each spider after a while, or immediately on its second signal. */
function runSpiders(nodes: FakeNode[], clock: FakeClock): void {
  for (const node of nodes) {
    for (const run of [...node.running]) {
      if (run.signals.length > 1) node.end(run.jobid, 'shutdown')
      else if (clock.nowMs() - run.startedAtMs! >= JOB_MS) {
        node.end(run.jobid, run.signals.length > 0 ? 'shutdown' : 'finished')
      }
    }
  }
}

async function isAllDone(store: Store): Promise<boolean> {
  const { queued, starting, running } = await store.countByState()
  return queued + starting + running === 0
}

async function check(parts: {
  store: Store
  nodes: Record<'n1' | 'n2', FakeNode>
  engine: DispatchHarness
  told: Told
  story: Story
}): Promise<void> {
  const { store, nodes, engine, told, story } = parts
  const jobs = await store.listJobs({}, { before: null, limit: 100 })
  expect(jobs.map(({ id }) => id)).toEqual(expect.arrayContaining([...told.acknowledged]))
  const timelines = new Map<string, string[]>()
  for (const { id } of jobs) {
    timelines.set(
      id,
      (await store.listTimeline(id)).map(({ attemptNumber, kind }) => `${attemptNumber ?? '-'} ${kind}`)
    )
  }
  const seen = jobs.map(({ id, status, reason }) => ({ id, status, reason, timeline: timelines.get(id) }))
  expect(seen.filter(({ id }) => !jobs.find((job) => job.id === id)?.outcome)).toEqual([])
  expect(await store.listLiveAttempts()).toEqual([])
  expect(engine.live.all()).toEqual([])

  const executed = [...nodes.n1.executed, ...nodes.n2.executed]
  for (const { id, status, timeline, reason } of seen) {
    const runs = executed.filter((jobid) => jobid === id || jobid.startsWith(`${id}-`))
    const facts = { id, status, reason, runs, timeline }
    const mayBeLost = story.restartAtMs !== null
    if (status === 'succeeded') expect(runs, JSON.stringify(facts)).toHaveLength(1)
    else expect(runs.length, JSON.stringify(facts)).toBeLessThanOrEqual(1)
    if (status === 'lost') expect(mayBeLost, JSON.stringify(facts)).toBe(true)
    if (status === 'cancelled') {
      expect(timeline?.includes('- cancel_asked') || reason === 'cancelled while queued', JSON.stringify(facts)).toBe(
        true
      )
    }
    expect(['succeeded', 'lost', 'cancelled'], JSON.stringify(facts)).toContain(status)
    const ends = timeline!.filter((entry) => entry.endsWith(' ended'))
    expect(ends.length, JSON.stringify(facts)).toBe(1)
    expect(timeline!.at(-1), JSON.stringify(facts)).toBe(ends[0])
    for (const entry of new Set(timeline)) {
      if (!ONCE.includes(entry.split(' ')[1]!)) continue
      expect(timeline!.filter((other) => other === entry).length, JSON.stringify(facts)).toBe(1)
    }
  }
  for (const node of Object.values(nodes)) expect(node.mostRunningAtOnce).toBeLessThanOrEqual(node.slots)
}

function lendStore(life: Life, store: Store): Store {
  return life.lend('store', store, (method) => WRITES.includes(method))
}

function lendNodes(life: Life, nodes: Record<string, FakeNode>): Record<string, FakeNode> {
  const lent = Object.entries(nodes).map(([id, node]) => [id, life.lend(id, node, (method) => method !== 'close')])
  return Object.fromEntries(lent) as Record<string, FakeNode>
}

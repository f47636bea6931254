import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openFilesystemBlobStore } from '../blobs/filesystem/filesystem-blob-store.ts'
import { NodeError } from '../nodes/node-client.ts'
import type { NewJob, Store } from '../store/store.ts'
import { aNewJob } from '../testing/builders.ts'
import { type DispatchHarness, startDispatch } from '../testing/dispatch-harness.ts'
import { createFakeClock, type FakeClock } from '../testing/fake-clock.ts'
import { FakeNode } from '../testing/fake-node.ts'
import { makeTemporaryDirectory } from '../testing/temporary-directory.ts'
import { openTemporaryStore } from '../testing/temporary-store.ts'

const EGGS = ['shop@1']
const MINUTE = 60_000
let clock: FakeClock
let store: Store
let closeStore: () => Promise<void>
let harness: DispatchHarness
let node: FakeNode
let other: FakeNode

beforeEach(async () => {
  clock = createFakeClock()
  const temporary = await openTemporaryStore({ clock, inMemory: true })
  store = temporary.store
  closeStore = temporary.remove
  node = new FakeNode(clock, { slots: 2, eggs: EGGS })
  other = new FakeNode(clock, { slots: 2, eggs: EGGS })
})

afterEach(async () => {
  await harness.crash()
  expect(clock.timerCount()).toBe(0)
  await closeStore()
})

async function start(nodes: Record<string, FakeNode>): Promise<void> {
  const directory = await makeTemporaryDirectory({ inMemory: true })
  harness = await startDispatch({ store, clock, nodes, blobs: await openFilesystemBlobStore(directory.path) })
}

/** The engine dies and another takes over. */
async function restart(nodes: Record<string, FakeNode>): Promise<void> {
  await harness.crash()
  await start(nodes)
}

async function enqueue(over: Partial<NewJob> = {}): Promise<string> {
  const job = aNewJob({ version: '1', entry: { atMs: clock.nowMs(), text: 'asked', evidence: {} }, ...over })
  await store.enqueueJobs([job])
  harness.dispatch.wake()
  await clock.advanceBy(0)
  return job.id
}

const onlyOn = (nodeId: string) => ({ placement: { nodeId, tags: [] } })
const textOf = async (id: string, kind: string) =>
  (await store.listTimeline(id)).findLast((entry) => entry.kind === kind)?.text
const resultsOf = async (id: string) => (await store.listAttempts(id)).map(({ result, reason }) => [result, reason])

function giveUpAfter(nodeId: string, seconds: number): void {
  const { stored } = harness.fleet.get(nodeId)!
  harness.fleet.update({ ...stored, giveUpAfterSeconds: seconds })
}

const retry = (attempts: number) =>
  ({
    attempts,
    backoffSeconds: 30,
    backoffFactor: 2,
    backoffMaxSeconds: 3_600,
    on: ['failed', 'lost']
  }) as NewJob['retry']

describe('a job that ended badly', () => {
  it('is tried again after its wait, and ends with the last of its runs', async () => {
    await start({ n1: node })
    const id = await enqueue({ retry: retry(2) })
    await clock.advanceBy(2_000)
    node.end(id, 'memusage_exceeded')
    await clock.advanceBy(3_000)
    expect(await harness.job(id)).toMatchObject({ state: 'queued', hold: 'retry', mayHaveRunTwice: false })
    expect(await textOf(id, 'ended')).toBe('Failed: memusage_exceeded; tried again in 30 s (run 2 of 2)')
    await clock.advanceBy(31_000)
    expect(node.executed).toEqual([id, `${id}-2`])
    node.end(`${id}-2`, 'memusage_exceeded')
    await clock.advanceBy(3_000)
    expect(await harness.job(id)).toMatchObject({ status: 'failed', reason: 'memusage_exceeded' })
    expect(await resultsOf(id)).toEqual([
      ['failed', 'memusage_exceeded'],
      ['failed', 'memusage_exceeded']
    ])
  })

  it('is flagged when it was lost before it is tried again: its node only forgot it', async () => {
    await start({ n1: node })
    const id = await enqueue({ retry: retry(2) })
    await clock.advanceBy(2_000)
    node.restart({ loseLogs: true })
    await clock.advanceBy(10_000)
    expect(await harness.job(id)).toMatchObject({ state: 'queued', hold: 'retry', mayHaveRunTwice: true })
  })

  it('is not tried again when somebody asked to cancel it', async () => {
    await start({ n1: node })
    const id = await enqueue({ retry: retry(5) })
    await clock.advanceBy(2_000)
    await store.askCancel([id], { atMs: clock.nowMs(), text: 'asked', evidence: {} })
    harness.dispatch.cancel([id], { force: false })
    node.end(id, 'memusage_exceeded')
    await clock.advanceBy(3_000)
    expect(await harness.job(id)).toMatchObject({ status: 'failed' })
  })

  it('is tried again also when its node was removed', async () => {
    await start({ n1: node, n2: other })
    const id = await enqueue({ retry: retry(2), ...onlyOn('n1') })
    await clock.advanceBy(2_000)
    await harness.dispatch.abandonNode('n1')
    expect(await textOf(id, 'ended')).toBe(
      'Lost: its node was removed from the fleet; tried again in 30 s (run 2 of 2)'
    )
  })
})

describe('a run that its node lists no longer, and whose log the node refuses', () => {
  const refuseLogs = () => {
    node.readLog = async () => {
      throw new NodeError('http', 'n1 answered 403', { delivered: 'unknown' })
    }
  }

  it('is lost after a minute, so that it does not hold its slot for ever', async () => {
    await start({ n1: node })
    const id = await enqueue()
    await clock.advanceBy(2_000)
    refuseLogs()
    node.restart()
    await clock.advanceBy(40_000)
    expect(await harness.job(id)).toMatchObject({ state: 'running' })
    await clock.advanceBy(40_000)
    expect(await harness.job(id)).toMatchObject({ status: 'lost', reason: 'log refused' })
  })

  it('is tried again, flagged, when it was never known to have arrived', async () => {
    await start({ n1: node })
    refuseLogs()
    node.behaviours = ['lose_request']
    const id = await enqueue()
    await clock.advanceBy(80_000)
    expect(node.executed).toEqual([`${id}-2`])
    expect(await harness.job(id)).toMatchObject({ state: 'running', mayHaveRunTwice: true })
  })
})

describe('a node that does not answer', () => {
  it('is given up after the time that it has, and its jobs run elsewhere, flagged', async () => {
    await start({ n1: node })
    const id = await enqueue()
    await clock.advanceBy(2_000)
    giveUpAfter('n1', 120)
    await restartWithBoth()
    giveUpAfter('n1', 120)
    node.isDown = true
    await clock.advanceBy(100_000)
    expect(await harness.job(id)).toMatchObject({ state: 'running', mayHaveRunTwice: false })
    await clock.advanceBy(30_000)
    expect(other.executed).toEqual([`${id}-2`])
    expect(await harness.job(id)).toMatchObject({ nodeId: 'n2', mayHaveRunTwice: true })
    expect(await textOf(id, 'given_up')).toBe(
      'Given up: n1 has not answered for 2 min; back in the queue, and flagged, since it may run there all the same'
    )
    other.end(`${id}-2`)
    await clock.advanceBy(3_000)
    expect(await harness.job(id)).toMatchObject({ status: 'succeeded', mayHaveRunTwice: true })
  })

  it('keeps its jobs when it is back in time, and for ever when nobody said how long', async () => {
    await start({ n1: node, n2: other })
    const id = await enqueue(onlyOn('n1'))
    await clock.advanceBy(2_000)
    giveUpAfter('n1', 120)
    for (let time = 0; time < 5; time += 1) {
      node.isDown = true
      await clock.advanceBy(80_000)
      node.isDown = false
      await clock.advanceBy(40_000)
    }
    giveUpAfter('n1', null as unknown as number)
    node.isDown = true
    await clock.advanceBy(120 * MINUTE)
    expect((await store.listAttempts(id)).map(({ state }) => state)).toEqual(['running'])
  })

  it('is given up by hand only while it does not answer', async () => {
    await start({ n1: node, n2: other })
    const [away, here] = [await enqueue(onlyOn('n1')), await enqueue(onlyOn('n2'))]
    await clock.advanceBy(2_000)
    node.isDown = true
    await clock.advanceBy(5_000)
    expect(await harness.dispatch.runElsewhere([away, here])).toEqual([away])
    expect(await harness.job(away)).toMatchObject({ state: 'queued', mayHaveRunTwice: true })
    expect(await harness.job(here)).toMatchObject({ state: 'running', mayHaveRunTwice: false })
  })

  it('does not bring a job back that somebody asked to cancel', async () => {
    await start({ n1: node, n2: other })
    const id = await enqueue(onlyOn('n1'))
    await clock.advanceBy(2_000)
    node.isDown = true
    await clock.advanceBy(5_000)
    await store.askCancel([id], { atMs: clock.nowMs(), text: 'asked', evidence: {} })
    harness.dispatch.cancel([id], { force: false })
    expect(await harness.dispatch.runElsewhere([id])).toEqual([id])
    expect(await harness.job(id)).toMatchObject({ status: 'cancelled' })
    node.isDown = false
    await clock.advanceBy(MINUTE)
    expect(node.running[0]?.signals[0]).toBe('INT')
  })
})

/** One job runs on n1, which is given up; then `n2` is there as well. */
async function restartWithBoth(): Promise<void> {
  await restart({ n1: node, n2: other })
  await clock.advanceBy(2_000)
}

describe('a run that was given up and comes back', () => {
  /** A job whose run on n1 was given up by hand. */
  async function givenUp(over: Partial<NewJob> = {}): Promise<string> {
    const id = await enqueue(over)
    await clock.advanceBy(2_000)
    node.isDown = true
    await clock.advanceBy(5_000)
    await harness.dispatch.runElsewhere([id])
    await clock.advanceBy(2_000)
    return id
  }

  it('is stopped when the job runs elsewhere by then; the younger run goes on', async () => {
    await start({ n1: node })
    const id = await enqueue()
    await clock.advanceBy(2_000)
    await restartWithBoth()
    node.isDown = true
    await clock.advanceBy(5_000)
    await harness.dispatch.runElsewhere([id])
    await clock.advanceBy(2_000)
    expect(other.executed).toEqual([`${id}-2`])
    node.isDown = false
    await clock.advanceBy(70_000)
    expect(node.running[0]?.signals.slice(0, 3)).toEqual(['INT', 'INT', 'KILL'])
    expect(other.running[0]?.signals).toEqual([])
    expect(await textOf(id, 'seen_again')).toBe(
      'Seen again on n1 (running), where it was given up: it is stopped there, since run 2 of the job goes on'
    )
    node.end(id, 'shutdown')
    other.end(`${id}-2`)
    await clock.advanceBy(6_000)
    expect(await harness.job(id)).toMatchObject({ status: 'succeeded', mayHaveRunTwice: true })
    expect((await harness.kinds(id)).filter((kind) => kind === 'seen_again')).toHaveLength(1)
  })

  it('is recorded once, whatever engine sees it', async () => {
    await start({ n1: node, n2: other })
    const id = await enqueue(onlyOn('n1'))
    await clock.advanceBy(2_000)
    node.isDown = true
    await clock.advanceBy(5_000)
    await store.placeQueued(
      await harness.dispatch.runElsewhere([id]),
      { nodeId: 'n2', tags: [] },
      { atMs: clock.nowMs(), text: 'moved', evidence: {} }
    )
    harness.dispatch.wake()
    await clock.advanceBy(2_000)
    expect(other.executed).toEqual([`${id}-2`])
    node.isDown = false
    await clock.advanceBy(3_000)
    await restart({ n1: node, n2: other })
    await clock.advanceBy(20_000)
    expect((await harness.kinds(id)).filter((kind) => kind === 'seen_again')).toHaveLength(1)
    expect(node.running[0]?.signals.length).toBeGreaterThanOrEqual(2)
  })

  it.each([
    ['still runs', (id: string) => void id],
    ['has ended there meanwhile', (id: string) => node.end(id)]
  ])('is followed on while the job still waits, when it %s', async (_case, meanwhile) => {
    await start({ n1: node })
    const id = await givenUp()
    expect(await harness.job(id)).toMatchObject({ state: 'queued' })
    meanwhile(id)
    // The lists are slow: the dispatcher must not be quicker.
    const list = node.listJobs.bind(node)
    node.listJobs = async () => {
      await new Promise<void>((resolve) => void clock.setTimer(500, resolve))
      return list()
    }
    node.isDown = false
    await clock.advanceBy(20_000)
    if (node.running.length > 0) node.end(id)
    await clock.advanceBy(6_000)
    expect(node.executed).toEqual([id])
    expect(await harness.job(id)).toMatchObject({ status: 'succeeded', attemptCount: 1, mayHaveRunTwice: false })
    expect(await harness.kinds(id)).toContain('found_again')
  })

  it('is judged when it had ended before it was given up, and its log is there after all', async () => {
    await start({ n1: node })
    const id = await enqueue(onlyOn('n1'))
    await clock.advanceBy(2_000)
    const readLog = node.readLog.bind(node)
    node.readLog = async () => {
      throw new NodeError('timeout', 'fake is slow', { delivered: 'unknown' })
    }
    node.end(id)
    await clock.advanceBy(3_000)
    node.isDown = true
    await clock.advanceBy(5_000)
    expect(await harness.dispatch.runElsewhere([id])).toEqual([id])
    node.readLog = readLog
    node.isDown = false
    await clock.advanceBy(MINUTE)
    expect(await harness.job(id)).toMatchObject({ status: 'succeeded', attemptCount: 1 })
    expect(node.executed).toEqual([id])
  })

  it('is followed on although the store fails to read right after it was found', async () => {
    await start({ n1: node })
    const id = await givenUp()
    const apply = store.applyChanges.bind(store)
    const read = store.getJob.bind(store)
    store.applyChanges = async (changes) => {
      const applied = await apply(changes)
      if (changes.some(({ kind }) => kind === 'found_again')) {
        store.getJob = async (jobId) => {
          store.getJob = read
          throw new Error(`disk, while reading ${jobId}`)
        }
      }
      return applied
    }
    node.isDown = false
    await clock.advanceBy(20_000)
    store.getJob = read
    node.end(id)
    await clock.advanceBy(20_000)
    expect(await harness.kinds(id)).toContain('found_again')
    expect(await harness.job(id)).toMatchObject({ status: 'succeeded', attemptCount: 1 })
  })

  it('is stopped all the same when its time was over before it was given up', async () => {
    await start({ n1: node })
    const id = await enqueue({ ...onlyOn('n1'), limits: { wallSeconds: 60 } })
    await clock.advanceBy(58_000)
    node.isDown = true
    await clock.advanceBy(10_000)
    await harness.dispatch.runElsewhere([id])
    node.isDown = false
    await clock.advanceBy(MINUTE)
    expect(await harness.kinds(id)).toContain('found_again')
    expect(node.running[0]?.signals.slice(0, 2)).toEqual(['INT', 'INT'])
  })

  it('is left alone when its jobid is not one that we made', async () => {
    await start({ n1: node, n2: other })
    const id = await enqueue({ jobid: 'nightly', ...onlyOn('n1') })
    await clock.advanceBy(2_000)
    node.isDown = true
    await clock.advanceBy(5_000)
    await harness.dispatch.runElsewhere([id])
    await store.placeQueued([id], { nodeId: 'n2', tags: [] }, { atMs: clock.nowMs(), text: 'moved', evidence: {} })
    harness.dispatch.wake()
    await clock.advanceBy(2_000)
    expect(other.executed).toEqual(['nightly-2'])
    node.isDown = false
    await clock.advanceBy(MINUTE)
    expect(node.running.map(({ jobid, signals }) => [jobid, signals])).toEqual([['nightly', []]])
    expect(await textOf(id, 'seen_again')).toContain('it is left alone there')
  })

  it('strangers are neither asked about twice nor touched', async () => {
    const stranger = { project: 'shop', version: '1', spider: 's', jobid: 'f'.repeat(32), settings: {}, args: {} }
    await node.schedule({ ...stranger, priority: 0 })
    const asked: unknown[] = []
    const ask = store.findAttemptsOnNode.bind(store)
    store.findAttemptsOnNode = (nodeId, runs) => {
      asked.push(...runs)
      return ask(nodeId, runs)
    }
    await start({ n1: node })
    await enqueue()
    await clock.advanceBy(MINUTE)
    expect(asked).toEqual([{ project: 'shop', jobid: stranger.jobid }])
    expect(node.running.flatMap(({ signals }) => signals)).toEqual([])
  })
})

describe('a node that accepts jobs but starts none', () => {
  it('has its jobs taken back and gets no more; they run elsewhere, each once', async () => {
    await start({ n1: node })
    node.isWedged = true
    const ids = [await enqueue(), await enqueue()]
    await clock.advanceBy(10_000)
    expect(harness.dispatch.stuckSinceMs('n1')).toBeNull()
    await clock.advanceBy(12_000)
    expect(harness.dispatch.stuckSinceMs('n1')).not.toBeNull()
    expect(node.pending).toEqual([])
    for (const id of ids) {
      expect(await harness.job(id)).toMatchObject({ state: 'queued', mayHaveRunTwice: false })
      expect(await textOf(id, 'taken_back')).toBe('Taken back: n1 had not started it; back in the queue')
    }
    const waiting = harness.waiting.complete(await harness.job(ids[0]!)).waiting
    expect(waiting).toEqual({ code: 'nodes_down', text: 'n1 accepts jobs but starts none' })
  })

  it('is tried with one job after a while, and is healthy when that starts', async () => {
    await start({ n1: node })
    node.isWedged = true
    const ids = [await enqueue(), await enqueue(), await enqueue()]
    await clock.advanceBy(25_000)
    expect(node.pending).toEqual([])
    await clock.advanceBy(30_000)
    expect(node.pending).toHaveLength(1)
    node.unwedge()
    await clock.advanceBy(8_000)
    expect(harness.dispatch.stuckSinceMs('n1')).toBeNull()
    expect(node.running).toHaveLength(2)
    for (let round = 0; round < 3; round += 1) {
      node.endAll()
      await clock.advanceBy(6_000)
    }
    expect((await store.getJobs(ids)).map(({ status }) => status)).toEqual(['succeeded', 'succeeded', 'succeeded'])
  })

  it('is tried ever more seldom while it starts nothing', async () => {
    await start({ n1: node })
    node.isWedged = true
    await enqueue()
    await clock.advanceBy(60 * MINUTE)
    expect(node.executed.length).toBeGreaterThan(4)
    expect(node.executed.length).toBeLessThan(15)
  })

  it('is nothing any more when it has left the fleet, whatever of it comes in late', async () => {
    await start({ n1: node })
    node.isWedged = true
    await enqueue()
    await clock.advanceBy(25_000)
    const left = harness.fleet.get('n1')!
    await harness.fleet.remove('n1')
    await harness.dispatch.abandonNode('n1')
    expect(harness.dispatch.stuckSinceMs('n1')).toBeNull()
    await harness.dispatch.takeSnapshot(left, await node.listJobs())
    expect(harness.dispatch.stuckSinceMs('n1')).toBeNull()
  })

  it('a job that it starts at the last moment is not stopped by the taking back', async () => {
    await start({ n1: node })
    node.isWedged = true
    const id = await enqueue()
    const cancel = node.cancel.bind(node)
    node.cancel = (request) => {
      node.unwedge()
      return cancel(request)
    }
    await clock.advanceBy(25_000)
    expect(node.running[0]?.signals).toEqual(['0'])
    node.end(id)
    await clock.advanceBy(6_000)
    expect(await harness.job(id)).toMatchObject({ status: 'succeeded' })
    expect(node.executed).toEqual([id])
  })

  it('one that left its queue by itself is lost, not sent again as if it had never arrived', async () => {
    await start({ n1: node })
    node.isWedged = true
    const id = await enqueue()
    await clock.advanceBy(12_000)
    // Another Scrapyd on the same queue took it, or the node lost it while starting it.
    node.pending = []
    await clock.advanceBy(20_000)
    expect(await harness.job(id)).toMatchObject({ status: 'lost' })
    expect(node.executed).toEqual([id])
  })

  it('a job is taken back, not lost, when the answer to that is lost and the engine dies', async () => {
    await start({ n1: node })
    node.isWedged = true
    const id = await enqueue()
    const cancel = node.cancel.bind(node)
    node.cancel = async (request) => {
      await cancel(request)
      throw new NodeError('timeout', 'fake did not answer', { delivered: 'unknown' })
    }
    await clock.advanceBy(20_000)
    expect(node.pending).toEqual([])
    node.isWedged = false
    await restart({ n1: node })
    await clock.advanceBy(40_000)
    expect(await resultsOf(id)).toEqual([
      ['absent', 'never arrived'],
      [null, null]
    ])
    expect(node.executed).toEqual([id, `${id}-2`])
  })

  it('a job that is seen in the queue while it is being taken back is taken back all the same', async () => {
    await start({ n1: node })
    node.isWedged = true
    const id = await enqueue()
    const cancel = node.cancel.bind(node)
    // The node is asked for its lists several times before it comes to this.
    node.cancel = async (request) => {
      await new Promise<void>((resolve) => void clock.setTimer(3_500, resolve))
      return cancel(request)
    }
    await clock.advanceBy(30_000)
    expect(node.pending).toEqual([])
    expect(await resultsOf(id)).toEqual([['absent', 'taken back']])
    expect(await harness.job(id)).toMatchObject({ state: 'queued', mayHaveRunTwice: false })
  })

  it('lists that were asked for before a job was taken back do not bring it to life', async () => {
    await start({ n1: node })
    node.isWedged = true
    const id = await enqueue()
    await clock.advanceBy(14_000)
    const list = node.listJobs.bind(node)
    // From now on each answer arrives three seconds late.
    node.listJobs = async () => {
      const snapshot = await list()
      await new Promise<void>((resolve) => void clock.setTimer(3_000, resolve))
      return snapshot
    }
    await clock.advanceBy(20_000)
    expect(await harness.kinds(id)).not.toContain('found_again')
    expect(await harness.job(id)).toMatchObject({ state: 'queued' })
  })
})

describe('a cancel of many jobs', () => {
  it('asks a node a few at a time, and the wait for the next step begins when the step was sent', async () => {
    node = new FakeNode(clock, { slots: 12, eggs: EGGS })
    await start({ n1: node })
    const ids = await harness.enqueue(12)
    await clock.advanceBy(2_000)
    const sentAtMs = new Map<string, number[]>()
    let inFlight = 0
    let mostInFlight = 0
    node.cancel = async ({ jobid }) => {
      sentAtMs.set(jobid, [...(sentAtMs.get(jobid) ?? []), clock.monotonicMs()])
      mostInFlight = Math.max(mostInFlight, (inFlight += 1))
      await new Promise<void>((resolve) => void clock.setTimer(10_000, resolve))
      inFlight -= 1
      return { wasState: 'running' }
    }
    await store.askCancel(ids, { atMs: clock.nowMs(), text: 'asked', evidence: {} })
    harness.dispatch.cancel(ids, { force: false })
    // Once more, in a hurry, while most wait for their turn: still one request for each.
    await clock.advanceBy(5_000)
    harness.dispatch.cancel(ids.slice(6), { force: true })
    await clock.advanceBy(40_000)
    expect(mostInFlight).toBe(3)
    expect([...sentAtMs.keys()].sort()).toEqual([...ids].sort())
    await clock.advanceBy(2 * MINUTE)
    node.cancel = async () => ({ wasState: 'running' })
    await clock.advanceBy(10_000)
    for (const id of ids) {
      const [first, second] = sentAtMs.get(id)!
      expect(second! - first!).toBeGreaterThanOrEqual(ids.indexOf(id) < 6 ? 30_000 : 15_000)
    }
  })
})

describe('the time limit of a run on a remote node', () => {
  it('is held by the ladder, and is the reason of the failure', async () => {
    await start({ n1: node })
    const id = await enqueue({ limits: { wallSeconds: 120 } })
    await clock.advanceBy(115_000)
    expect(node.running[0]!.signals).toEqual([])
    await clock.advanceBy(60_000)
    expect(node.running[0]!.signals).toEqual(['INT', 'INT', 'KILL'])
    node.end(id, 'shutdown')
    await clock.advanceBy(6_000)
    expect(await harness.job(id)).toMatchObject({
      status: 'failed',
      reason: 'wall time limit of 2 min',
      cancelAskedAtMs: null
    })
    expect((await store.listAttempts(id))[0]).toMatchObject({ limitHit: 'wall time limit of 2 min (ran 2 min)' })
    expect(await textOf(id, 'limit_hit')).toBe('Over its wall time limit of 2 min: it is stopped')
    expect(await harness.kinds(id)).not.toContain('cancel_asked')
  })

  it('is hit once, though the node forgets the run while the ladder climbs', async () => {
    await start({ n1: node })
    const id = await enqueue({ limits: { wallSeconds: 60 } })
    await clock.advanceBy(62_000)
    node.restart()
    await clock.advanceBy(20_000)
    expect(await harness.kinds(id)).toContain('vanished')
    expect((await harness.kinds(id)).filter((kind) => kind === 'limit_hit')).toHaveLength(1)
    expect((await store.listAttempts(id))[0]).toMatchObject({ limitHit: 'wall time limit of 1 min (ran 1 min)' })
  })

  it('counts on when another engine takes over, and goes on with the ladder where it was', async () => {
    await start({ n1: node })
    const id = await enqueue({ limits: { wallSeconds: 120 } })
    await clock.advanceBy(60_000)
    await restart({ n1: node })
    await clock.advanceBy(62_000)
    expect(node.running[0]!.signals).toEqual(['INT'])
    await restart({ n1: node })
    await clock.advanceBy(1_000)
    expect(node.running[0]!.signals).toEqual(['INT', 'INT'])
    node.end(id, 'shutdown')
    await clock.advanceBy(6_000)
    expect(await harness.job(id)).toMatchObject({ status: 'failed', reason: 'wall time limit of 2 min' })
    expect((await harness.kinds(id)).filter((kind) => kind === 'limit_hit')).toHaveLength(1)
  })

  it('does not make a failure of what somebody cancelled before, nor of what finished in time', async () => {
    await start({ n1: node })
    const [cancelled, done] = [
      await enqueue({ limits: { wallSeconds: 60 } }),
      await enqueue({ limits: { wallSeconds: 60 } })
    ]
    await clock.advanceBy(50_000)
    await store.askCancel([cancelled], { atMs: clock.nowMs(), text: 'asked', evidence: {} })
    harness.dispatch.cancel([cancelled], { force: false })
    node.end(done)
    await clock.advanceBy(20_000)
    node.end(cancelled, 'shutdown')
    await clock.advanceBy(6_000)
    expect((await store.getJobs([cancelled, done])).map(({ status }) => status)).toEqual(['cancelled', 'succeeded'])
  })
})

it('an engine that stops leaves no timer behind, whatever it was about to try again', async () => {
  await start({ n1: node })
  const id = await enqueue({ limits: { wallSeconds: 60 } })
  await clock.advanceBy(2_000)
  node.readLog = async () => {
    throw new NodeError('timeout', 'fake is slow', { delivered: 'unknown' })
  }
  node.end(id)
  await clock.advanceBy(3_000)
  await harness.crash()
  expect(clock.timerCount()).toBe(0)
})

describe('what an engine takes over', () => {
  it('a cancel that was to hurry goes on at its second step', async () => {
    await start({ n1: node })
    const id = await enqueue()
    await clock.advanceBy(2_000)
    await store.askCancel([id], { atMs: clock.nowMs(), text: 'Asked to stop at once', evidence: { force: true } })
    await restart({ n1: node })
    await clock.advanceBy(16_000)
    expect(node.running[0]!.signals).toEqual(['INT', 'KILL'])
  })

  it('what was being sent is looked for long enough: the request of an engine that died may arrive late', async () => {
    node.behaviours.push('lose_request')
    await start({ n1: node })
    const id = await enqueue()
    await restart({ n1: node })
    await clock.advanceBy(15_000)
    // A second crash does not make the request older.
    await restart({ n1: node })
    await clock.advanceBy(25_000)
    await node.schedule({
      project: 'shop',
      version: '1',
      spider: 'prices',
      jobid: id,
      settings: {},
      args: {},
      priority: 0
    })
    await clock.advanceBy(MINUTE)
    expect(node.executed).toEqual([id])
    expect(await resultsOf(id)).toEqual([[null, null]])
  })

  it('what never arrived goes back to the queue all the same', async () => {
    node.behaviours.push('lose_request')
    await start({ n1: node })
    const id = await enqueue()
    await restart({ n1: node })
    await clock.advanceBy(40_000)
    expect(await resultsOf(id)).toEqual([
      ['absent', 'never arrived'],
      [null, null]
    ])
  })

  it('what is live on a node that is not in the fleet ends as lost', async () => {
    await start({ n1: node, n2: other })
    const id = await enqueue(onlyOn('n1'))
    await clock.advanceBy(2_000)
    await restart({ n2: other })
    await harness.dispatch.abandonMissingNodes()
    expect(await harness.job(id)).toMatchObject({ status: 'lost', reason: 'node removed' })
  })
})

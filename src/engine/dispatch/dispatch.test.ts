import { afterEach, beforeEach, describe, expect, it, test, vi } from 'vitest'
import { SECRET_MASK } from '../../shared/contract/index.ts'
import { openFilesystemBlobStore } from '../blobs/filesystem/filesystem-blob-store.ts'
import { NodeError } from '../nodes/node-client.ts'
import type { Store } from '../store/store.ts'
import { aNewJob } from '../testing/builders.ts'
import { type DispatchHarness, startDispatch } from '../testing/dispatch-harness.ts'
import { createFakeClock, type FakeClock } from '../testing/fake-clock.ts'
import { FakeNode } from '../testing/fake-node.ts'
import { makeTemporaryDirectory } from '../testing/temporary-directory.ts'
import { openTemporaryStore } from '../testing/temporary-store.ts'

const STRANGER = { project: 'shop', version: '1', spider: 's', settings: {}, args: {}, priority: 0 }
const EGGS = ['shop@1']
let clock: FakeClock
let store: Store
let closeStore: () => Promise<void>
let harness: DispatchHarness
let node: FakeNode
let other: FakeNode

beforeEach(async () => {
  clock = createFakeClock()
  const temporary = await openTemporaryStore({ clock })
  store = temporary.store
  closeStore = temporary.remove
  node = new FakeNode(clock, { slots: 2, eggs: EGGS })
  other = new FakeNode(clock, { slots: 2, eggs: EGGS })
})

afterEach(async () => {
  await harness.crash()
  await closeStore()
})

const start = async (nodes: Record<string, FakeNode>, over: Partial<Parameters<typeof startDispatch>[0]> = {}) => {
  const directory = await makeTemporaryDirectory()
  harness = await startDispatch({ store, clock, nodes, blobs: await openFilesystemBlobStore(directory.path), ...over })
}

describe('sending', () => {
  it('a job that arrives while a slot is free is on its way without waiting for any timer', async () => {
    await start({ n1: node })
    const [id] = await harness.enqueue(1)
    expect(node.executed).toEqual([id])
    expect((await harness.job(id!)).nodeId).toBe('n1')
  })

  it('sixty jobs on two nodes run each once, never more at once than there are slots, and all succeed', async () => {
    await start({ n1: node, n2: other })
    const ids = await harness.enqueue(60)
    for (let second = 0; second < 120 && node.finished.length + other.finished.length < 60; second += 1) {
      node.endAll()
      other.endAll()
      await clock.advanceBy(1_000)
    }
    await clock.advanceBy(5_000)
    expect([...node.executed, ...other.executed].sort()).toEqual([...ids].sort())
    expect([node.mostRunningAtOnce, other.mostRunningAtOnce]).toEqual([2, 2])
    const jobs = await store.getJobs(ids)
    expect(new Set(jobs.map(({ status }) => status))).toEqual(new Set(['succeeded']))
    expect(harness.live.all()).toEqual([])
  })

  it('slots that external jobs use are left alone, and the waiting job says so', async () => {
    await node.schedule({ ...STRANGER, jobid: 'stranger-1' })
    await node.schedule({ ...STRANGER, jobid: 'stranger-2' })
    await start({ n1: node })
    const [id] = await harness.enqueue(1)
    await clock.advanceBy(3_000)
    expect(node.executed).not.toContain(id)
    expect(harness.waiting.complete(await harness.job(id!)).waiting).toEqual({
      code: 'all_slots_busy',
      text: 'all 2 slots busy'
    })
    node.end('stranger-1')
    await clock.advanceBy(2_000)
    expect(node.executed).toContain(id)
  })

  it('a stranger that only the counters tell of keeps its slot beside what is sent meanwhile', async () => {
    await start({ n1: node })
    const list = node.listJobs.bind(node)
    const released = Promise.withResolvers<void>()
    node.listJobs = async () => {
      await released.promise
      return list()
    }
    await node.schedule({ ...STRANGER, jobid: 'stranger' })
    await clock.advanceBy(6_000)
    const [first] = await harness.enqueue(1)
    const [second] = await harness.enqueue(1)
    expect(node.executed).toEqual(['stranger', first])
    released.resolve()
    node.end('stranger')
    await clock.advanceBy(2_000)
    expect(node.executed).toEqual(['stranger', first, second])
  })

  it('jobs left over when the last slot was just filled say so', async () => {
    await start({ n1: node })
    const ids = await harness.enqueue(5)
    expect(harness.waiting.complete(await harness.job(ids[4]!)).waiting?.code).toBe('all_slots_busy')
  })

  it('nothing is sent to a node before it has listed what runs there', async () => {
    const list = node.listJobs.bind(node)
    const released = Promise.withResolvers<void>()
    node.listJobs = async () => {
      await released.promise
      return list()
    }
    await start({ n1: node })
    const [id] = await harness.enqueue(1)
    expect(node.executed).toEqual([])
    expect(harness.waiting.complete(await harness.job(id!)).waiting?.text).toBe('n1 has not listed its jobs yet')
    released.resolve()
    await clock.advanceBy(0)
    expect(node.executed).toEqual([id])
  })

  it("a client's jobid that somebody else's job has on the node does not make the two one", async () => {
    await node.schedule({ ...STRANGER, jobid: 'nightly' })
    node.end('nightly')
    await start({ n1: node })
    const job = aNewJob({ version: '1', jobid: 'nightly' })
    await store.enqueueJobs([job])
    harness.dispatch.wake()
    await clock.advanceBy(5_000)
    expect(node.executed).toEqual(['nightly', job.id])
    expect(await harness.job(job.id)).toMatchObject({ state: 'running', jobid: 'nightly' })
  })

  it('a node that lacks the egg gets it first, then the job', async () => {
    node.eggs.clear()
    await start({ n1: node })
    const [id] = await harness.enqueue(1)
    await clock.advanceBy(1_000)
    expect([...node.eggs]).toEqual(EGGS)
    expect(node.executed).toEqual([id])
  })

  it('a refused job goes to another node, and its timeline says what the first one answered', async () => {
    node.behaviours = ['refuse']
    await start({ n1: node, n2: other })
    const [id] = await harness.enqueue(1)
    await clock.advanceBy(100)
    expect(other.executed).toEqual([`${id}-2`])
    expect(await harness.kinds(id!)).toEqual(['queued', 'sending', 'refused', 'sending', 'accepted', 'running'])
  })

  it('a job that its node refused does not hold up the jobs behind it', async () => {
    node = new FakeNode(clock, { slots: 1, eggs: EGGS })
    node.behaviours = ['refuse']
    await start({ n1: node })
    const [refused, behind] = await harness.enqueue(2)
    await clock.advanceBy(100)
    expect(node.executed).toEqual([behind])
    node.endAll()
    await clock.advanceBy(10_000)
    expect(node.executed).toEqual([behind, `${refused}-2`])
  })

  it('a spider that the node does not know fails the job at once', async () => {
    node.behaviours = ['refuse']
    node.refusal = "spider 'prices' not found"
    await start({ n1: node, n2: other })
    const [id] = await harness.enqueue(1)
    expect(await harness.job(id!)).toMatchObject({
      status: 'failed',
      reason: 'unknown spider',
      killingLine: node.refusal
    })
    expect(other.executed).toEqual([])
  })

  it('a node that refuses the connection gets no more jobs until it answers again', async () => {
    await start({ n1: node })
    node.isDown = true
    const [id] = await harness.enqueue(1)
    await clock.advanceBy(4_000)
    const waiting = harness.waiting.complete(await harness.job(id!)).waiting
    expect(waiting).toEqual({ code: 'nodes_down', text: 'n1 does not answer' })
    node.isDown = false
    await clock.advanceBy(20_000)
    expect(node.executed).toHaveLength(1)
  })
})

describe('secret values', () => {
  const openSecret = async (sealed: string) => {
    if (!sealed.startsWith('sealed:')) throw new Error('sealed elsewhere')
    return sealed.slice('sealed:'.length)
  }
  const secretJob = (TOKEN: string) =>
    aNewJob({
      version: '1',
      settings: { TOKEN, LOG_LEVEL: 'INFO' },
      args: { page: '1', key: 'sealed:abc' },
      secretNames: ['TOKEN', 'key']
    })
  const send = async (job: ReturnType<typeof aNewJob>) => {
    await start({ n1: node }, { openSecret })
    await store.enqueueJobs([job])
    harness.dispatch.wake()
    await clock.advanceBy(100)
  }

  it('are opened for the node that runs the job, and stay sealed in the store', async () => {
    const job = secretJob('sealed:open sesame')
    await send(job)
    expect(node.running[0]).toMatchObject({
      settings: { TOKEN: 'open sesame', LOG_LEVEL: 'INFO' },
      args: { page: '1', key: 'abc' },
      secretNames: ['TOKEN', 'key']
    })
    expect((await harness.job(job.id)).settings).toEqual(job.settings)
    expect(JSON.stringify(await store.listTimeline(job.id))).not.toContain('open sesame')
  })

  it('that cannot be opened here fail the job, which says what to do; nothing is sent', async () => {
    const job = secretJob('of another machine')
    await send(job)
    expect(node.executed).toEqual([])
    const { status, reason, killingLine } = await harness.job(job.id)
    expect([status, reason]).toEqual(['failed', 'secret unreadable'])
    expect(killingLine).toMatch(/TOKEN, key.* nothing was sent. Run the job again and enter its secret values anew/)
    expect(harness.live.all()).toEqual([])
    expect(await harness.kinds(job.id)).toEqual(['queued', 'sending', 'ended'])
  })

  it('that a node answers with are not written down', async () => {
    const job = secretJob('sealed:open sesame')
    node.behaviours = ['refuse']
    node.refusal = "unknown option 'open sesame'"
    await send(job)
    const timeline = JSON.stringify(await store.listTimeline(job.id))
    expect(timeline).toContain(`unknown option '${SECRET_MASK}'`)
    expect(timeline).not.toContain('open sesame')
  })
})

test('a job is sent with its limits over those its project has at that time', async () => {
  await start({ n1: node }, { projectLimits: { wallSeconds: 60, memoryMegabytes: 100 } })
  await store.enqueueJobs([aNewJob({ version: '1', limits: { memoryMegabytes: 200, openFiles: null } })])
  await harness.enqueue(1)
  expect(node.running.map(({ limits }) => limits)).toEqual([
    { wallSeconds: 60, memoryMegabytes: 200 },
    { wallSeconds: 60, memoryMegabytes: 100 }
  ])
})

describe('what a job waits for', () => {
  it('is said anew when a node goes down', async () => {
    await start({ n1: node, n2: other })
    const ids = await harness.enqueue(5)
    const waiting = async () => harness.waiting.complete(await harness.job(ids[4]!)).waiting?.text
    expect(await waiting()).toBe('all 4 slots busy')
    other.isDown = true
    await clock.advanceBy(5_000)
    expect(await waiting()).toBe('all 2 slots busy')
  })
})

describe('a POST without an answer', () => {
  it('is adopted when the node has the job, and never sent again', async () => {
    node.behaviours = ['drop_reply']
    await start({ n1: node, n2: other })
    const [id] = await harness.enqueue(1)
    expect(await harness.kinds(id!)).toContain('uncertain')
    await clock.advanceBy(30_000)
    expect([...node.executed, ...other.executed]).toEqual([id])
    expect((await harness.job(id!)).state).toBe('running')
  })

  it('is sent again only when two snapshots more than a poll interval apart prove that it never arrived', async () => {
    node.behaviours = ['lose_request']
    await start({ n1: node })
    const [id] = await harness.enqueue(1)
    await clock.advanceBy(4_500)
    expect(node.executed).toEqual([])
    await clock.advanceBy(5_000)
    expect(node.executed).toEqual([`${id}-2`])
    expect(await harness.kinds(id!)).toEqual([
      'queued',
      'sending',
      'uncertain',
      'absent',
      'sending',
      'accepted',
      'running'
    ])
  })

  it('holds its slot while it is uncertain', async () => {
    node.behaviours = ['lose_request', 'lose_request']
    await start({ n1: node })
    await harness.enqueue(3)
    await clock.advanceBy(4_000)
    expect(node.executed).toEqual([])
    expect(harness.live.slotsUsedOn('n1')).toBe(2)
  })

  it('waits for a node that is down: nothing is proved about what cannot be seen', async () => {
    const schedule = node.schedule.bind(node)
    node.schedule = async (request) => {
      node.behaviours = ['drop_reply']
      const answer = schedule(request)
      node.isDown = true
      return answer
    }
    await start({ n1: node, n2: other })
    const [id] = await harness.enqueue(1)
    await clock.advanceBy(600_000)
    expect(other.executed).toEqual([])
    expect((await harness.job(id!)).state).toBe('starting')
  })
})

describe('a disk that fails for a moment', () => {
  it.each([
    ['the node has the job', 'ok' as const, (id: string) => [id]],
    ['the node refused it', 'refuse' as const, (id: string) => [`${id}-2`]]
  ])('while the answer to a POST is recorded: %s', async (_case, behaviour, expected) => {
    node.behaviours = [behaviour]
    let failing = 0
    const whole = store
    store = new Proxy(whole, {
      get: (_target, property) =>
        property === 'applyChanges' && failing-- > 0
          ? () => Promise.reject(new Error('disk full'))
          : Reflect.get(whole, property)
    })
    vi.spyOn(console, 'error').mockImplementation(() => {})
    await start({ n1: node })
    const schedule = node.schedule.bind(node)
    node.schedule = (request) => {
      failing = 1
      node.schedule = schedule
      return schedule(request)
    }
    const [id] = await harness.enqueue(1)
    await clock.advanceBy(15_000)
    expect(node.executed).toEqual(expected(id!))
    expect((await harness.job(id!)).state).toBe('running')
    vi.restoreAllMocks()
  })
})

describe('a node that restarts and forgets', () => {
  it('a job that left no log is lost, with its evidence', async () => {
    await start({ n1: node })
    const [id] = await harness.enqueue(1)
    await clock.advanceBy(2_000)
    node.restart({ loseLogs: true })
    await clock.advanceBy(15_000)
    expect(await harness.job(id!)).toMatchObject({ status: 'lost', reason: 'node forgot' })
    const last = (await store.listTimeline(id!)).at(-1)!
    expect(last).toMatchObject({ kind: 'ended', evidence: { log: 'not there' } })
  })

  it('a job whose log has its closing stats is judged by them', async () => {
    await start({ n1: node })
    const [id] = await harness.enqueue(1)
    await clock.advanceBy(2_000)
    node.end(id!)
    node.restart()
    await clock.advanceBy(15_000)
    expect(await harness.job(id!)).toMatchObject({ status: 'succeeded', items: 3 })
  })

  it('a job whose log still grows goes on as an orphan, and is lost only after a minute of silence', async () => {
    await start({ n1: node })
    const [id] = await harness.enqueue(1)
    await clock.advanceBy(2_000)
    node.restart()
    for (let step = 0; step < 12; step += 1) {
      node.logs.set(id!, `${node.logs.get(id!)}a line\n`)
      await clock.advanceBy(10_000)
    }
    expect((await harness.job(id!)).state).toBe('running')
    expect(await harness.kinds(id!)).toContain('vanished')
    await clock.advanceBy(75_000)
    expect(await harness.job(id!)).toMatchObject({ status: 'lost' })
  })
})

it('a run whose log a node never gives out ends without it, and says why', async () => {
  await start({ n1: node })
  const [id] = await harness.enqueue(1)
  await clock.advanceBy(2_000)
  node.readLog = () =>
    Promise.reject(new NodeError('http', 'n1 answered the log with status 403', { delivered: 'unknown' }))
  node.end(id!)
  await clock.advanceBy(20_000)
  expect((await harness.job(id!)).state).toBe('running')
  await clock.advanceBy(60_000)
  expect(await harness.job(id!)).toMatchObject({ state: 'ended', reason: 'no log' })
  const last = (await store.listTimeline(id!)).at(-1)!
  expect(last.evidence).toMatchObject({ logProblem: 'n1 answered the log with status 403' })
})

describe('an engine that dies', () => {
  it.each([
    ['the node has the job', 'drop_reply' as const, (id: string) => [id]],
    ['the POST never went out', 'lose_request' as const, (id: string) => [`${id}-2`]]
  ])('while sending: %s', async (_case, behaviour, expected) => {
    node.behaviours = [behaviour]
    // The reply never comes: the attempt stays `sending` in the store, as after kill -9.
    const schedule = node.schedule.bind(node)
    node.schedule = async (request) => {
      await schedule(request).catch(() => {})
      return new Promise(() => {})
    }
    await start({ n1: node })
    const [id] = await harness.enqueue(1)
    expect(await harness.kinds(id!)).toEqual(['queued', 'sending'])
    // It waits for the reply for ever, and does nothing more.
    void harness.dispatch.stop()
    void harness.fleet.stop()
    node.schedule = schedule
    await start({ n1: node })
    await clock.advanceBy(70_000)
    expect(node.executed).toEqual(expected(id!))
    expect((await harness.job(id!)).state).toBe('running')
  })

  it('takes running jobs over and learns how they ended', async () => {
    await start({ n1: node })
    const [id] = await harness.enqueue(1)
    await clock.advanceBy(2_000)
    await harness.crash()
    node.end(id!)
    await start({ n1: node })
    await clock.advanceBy(3_000)
    expect(await harness.job(id!)).toMatchObject({ status: 'succeeded', attemptCount: 1 })
  })
})

describe('a node that is removed', () => {
  it('leaves nothing live behind, also what was on its way to it or just seen to move', async () => {
    await start({ n1: node })
    const [running] = await harness.enqueue(1)
    await clock.advanceBy(1_500)
    node.end(running!)
    const jobs = [aNewJob({ version: '1' }), aNewJob({ version: '1' })]
    await store.enqueueJobs(jobs)
    harness.dispatch.wake()
    const seen = harness.dispatch.takeSnapshot(harness.fleet.get('n1')!, await node.listJobs())
    const removed = harness.fleet.remove('n1').then(() => harness.dispatch.abandonNode('n1'))
    await clock.advanceBy(5_000)
    await Promise.all([seen, removed])
    expect(harness.live.all()).toEqual([])
    expect(await store.listLiveAttempts()).toEqual([])
    expect((await harness.job(running!)).state).toBe('ended')
    for (const { id } of jobs) expect(['queued', 'ended']).toContain((await harness.job(id)).state)
  })
})

describe('cancelling', () => {
  const cancel = async (id: string, force = false) => {
    await store.askCancel([id], { atMs: clock.nowMs(), text: 'Asked to cancel', evidence: {} })
    harness.dispatch.cancel([id], { force })
    await clock.advanceBy(0)
  }

  it('climbs the ladder INT, INT, KILL and is verified against the node', async () => {
    await start({ n1: node })
    const [id] = await harness.enqueue(1)
    await clock.advanceBy(2_000)
    await cancel(id!)
    const signals = () => node.running[0]?.signals
    expect(signals()).toEqual(['INT'])
    await clock.advanceBy(29_000)
    expect(signals()).toEqual(['INT'])
    await clock.advanceBy(2_000)
    expect(signals()).toEqual(['INT', 'INT'])
    await clock.advanceBy(15_000)
    expect(signals()).toEqual(['INT', 'INT', 'KILL'])
    expect((await harness.job(id!)).state).toBe('running')
    node.end(id!, 'shutdown')
    await clock.advanceBy(3_000)
    expect(await harness.job(id!)).toMatchObject({ status: 'cancelled', reason: 'shutdown' })
    const sent = (await harness.kinds(id!)).filter((kind) => kind === 'cancel_sent').length
    await clock.advanceBy(120_000)
    expect((await harness.kinds(id!)).filter((kind) => kind === 'cancel_sent')).toHaveLength(sent)
  })

  it('waits between the steps as long as it was told to', async () => {
    await start({ n1: node }, { cancelWaitsMs: [1_000, 2_000, 3_000] })
    const [id] = await harness.enqueue(1)
    await clock.advanceBy(2_000)
    await cancel(id!)
    const sentAfter = async (durationMs: number) => {
      await clock.advanceBy(durationMs)
      return node.running[0]?.signals.join(' ')
    }
    expect(await sentAfter(900)).toBe('INT')
    expect(await sentAfter(1_000)).toBe('INT INT')
    expect(await sentAfter(2_000)).toBe('INT INT KILL')
    expect(await sentAfter(3_000)).toBe('INT INT KILL KILL')
    expect(await sentAfter(3_000)).toBe('INT INT KILL KILL')
    expect(await sentAfter(3_000)).toBe('INT INT KILL KILL KILL')
  })

  it('force begins at the second step', async () => {
    await start({ n1: node })
    const [id] = await harness.enqueue(1)
    await clock.advanceBy(2_000)
    await cancel(id!, true)
    await clock.advanceBy(16_000)
    expect(node.running[0]?.signals).toEqual(['INT', 'KILL'])
  })

  it('a job that the node still has in its queue is cancelled when the node says it removed it', async () => {
    node.isWedged = true
    await start({ n1: node })
    const [id] = await harness.enqueue(1)
    await clock.advanceBy(1_000)
    expect(node.pending).toHaveLength(1)
    await cancel(id!)
    expect(await harness.job(id!)).toMatchObject({ status: 'cancelled', reason: 'cancelled before it started' })
    expect(node.pending).toEqual([])
  })

  it('a slot that a cancel frees is used at once', async () => {
    node = new FakeNode(clock, { slots: 1, eggs: EGGS })
    node.isWedged = true
    await start({ n1: node })
    const [first, second] = await harness.enqueue(2)
    await clock.advanceBy(2_000)
    await cancel(first!)
    await clock.advanceBy(2_000)
    expect(node.executed).toEqual([first, second])
  })

  it('a job that the node removed is cancelled, not lost, when the answer to the cancel was lost', async () => {
    node.isWedged = true
    await start({ n1: node })
    const [id] = await harness.enqueue(1)
    await clock.advanceBy(1_000)
    const ask = node.cancel.bind(node)
    node.cancel = async (request) => {
      node.cancel = ask
      await ask(request)
      throw new NodeError('timeout', 'fake did not answer', { delivered: 'unknown' })
    }
    await cancel(id!)
    await clock.advanceBy(60_000)
    expect(await harness.job(id!)).toMatchObject({ status: 'cancelled', reason: 'cancelled before it started' })
  })

  it('goes on where the dead engine stopped', async () => {
    await start({ n1: node })
    const [id] = await harness.enqueue(1)
    await clock.advanceBy(2_000)
    await cancel(id!)
    await harness.crash()
    await start({ n1: node })
    await clock.advanceBy(1_000)
    expect(node.running[0]?.signals).toEqual(['INT', 'INT'])
  })
})

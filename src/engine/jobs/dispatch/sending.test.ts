import { describe, expect } from 'vitest'
import { SECRET_MASK } from '../../../shared/contract/index.ts'
import { aJobId, aNodeId, aProjectName, aVersionName, branded } from '../../../shared/testing/ids.ts'
import { aNewJob } from '../../testing/builders.ts'
import { type DispatchFixtures, it } from '../../testing/dispatch-fixtures.ts'
import { FakeNode } from '../../testing/fake-node.ts'
import { plain, say } from '../../../shared/texts/message.ts'
import { NodeError } from '../../nodes/node-client.ts'
import { failure } from '../../nodes/node-failure.ts'
import { LOCAL_TRAITS } from '../../nodes/node-traits.ts'

const STRANGER = {
  project: aProjectName('shop'),
  version: aVersionName('1'),
  spider: 's',
  settings: {},
  args: {},
  priority: 0
}
const EGGS = ['shop@1']
const refuseAsUnrunnable = async (): Promise<never> => {
  throw new NodeError('refused', plain('n1 was not contacted: too large.'), { delivered: 'no', refusal: 'unrunnable' })
}

describe('sending', () => {
  it('a job that arrives while a slot is free is sent without waiting for any timer', async ({ node, engine }) => {
    await engine.start({ n1: node })
    const [id] = await engine.enqueueMany(1)
    expect(node.executed).toEqual([id])
    expect((await engine.job(id!)).nodeId).toBe('n1')
  })

  it('sixty jobs on two nodes run each once, never more at once than there are slots, and all succeed', async ({
    clock,
    store,
    node,
    other,
    engine
  }) => {
    await engine.start({ n1: node, n2: other })
    const ids = await engine.enqueueMany(60)
    for (let second = 0; second < 120 && node.finished.length + other.finished.length < 60; second += 1) {
      node.endAll()
      other.endAll()
      await clock.advanceBy(1_000)
    }
    await clock.advanceBy(5_000)
    expect([...node.executed, ...other.executed].sort()).toEqual([...ids].sort())
    expect([node.mostRunningAtOnce, other.mostRunningAtOnce]).toEqual([2, 2])
    const jobs = await store.getJobs(branded(ids))
    expect(new Set(jobs.map(({ status }) => status))).toEqual(new Set(['succeeded']))
    expect(engine.live.all()).toEqual([])
  })

  it('slots that external jobs use are left alone, and the waiting job says so', async ({ clock, node, engine }) => {
    await node.schedule({ ...STRANGER, jobid: 'stranger-1' })
    await node.schedule({ ...STRANGER, jobid: 'stranger-2' })
    await engine.start({ n1: node })
    const [id] = await engine.enqueueMany(1)
    await clock.advanceBy(3_000)
    expect(node.executed).not.toContain(id)
    expect(engine.waiting.describeJob(await engine.job(id!)).waiting).toMatchObject({
      code: 'all_slots_busy',
      text: 'all 2 slots are busy'
    })
    node.end('stranger-1')
    await clock.advanceBy(2_000)
    expect(node.executed).toContain(id)
  })

  it('an external job that only the counters show keeps its slot beside jobs sent meanwhile', async ({
    clock,
    node,
    engine
  }) => {
    await engine.start({ n1: node })
    const list = node.listJobs.bind(node)
    const released = Promise.withResolvers<void>()
    node.listJobs = async () => {
      await released.promise
      return list()
    }
    await node.schedule({ ...STRANGER, jobid: 'stranger' })
    await clock.advanceBy(6_000)
    const [first] = await engine.enqueueMany(1)
    const [second] = await engine.enqueueMany(1)
    expect(node.executed).toEqual(['stranger', first])
    released.resolve()
    node.end('stranger')
    await clock.advanceBy(2_000)
    expect(node.executed).toEqual(['stranger', first, second])
  })

  it('jobs left over when the last slot was just filled say so', async ({ node, engine }) => {
    await engine.start({ n1: node })
    const ids = await engine.enqueueMany(5)
    expect(engine.waiting.describeJob(await engine.job(ids[4]!)).waiting?.code).toBe('all_slots_busy')
  })

  it('nothing is sent to a node before it has listed its jobs', async ({ clock, node, engine }) => {
    const list = node.listJobs.bind(node)
    const released = Promise.withResolvers<void>()
    node.listJobs = async () => {
      await released.promise
      return list()
    }
    await engine.start({ n1: node })
    const [id] = await engine.enqueueMany(1)
    expect(node.executed).toEqual([])
    expect(engine.waiting.describeJob(await engine.job(id!)).waiting?.text).toBe('n1 has not listed its jobs yet')
    released.resolve()
    await clock.advanceBy(0)
    expect(node.executed).toEqual([id])
  })

  it('a job with the same jobid as an external job on the node is not confused with it', async ({
    clock,
    store,
    node,
    engine
  }) => {
    await node.schedule({ ...STRANGER, jobid: 'nightly' })
    node.end('nightly')
    await engine.start({ n1: node })
    const job = aNewJob({ version: '1', jobid: 'nightly' })
    await store.enqueueJobs([job])
    engine.dispatch.wake()
    await clock.advanceBy(5_000)
    expect(node.executed).toEqual(['nightly', job.id])
    expect(await engine.job(job.id)).toMatchObject({ state: 'running', jobid: 'nightly' })
  })

  it('a node that lacks the egg gets it first, then the job', async ({ clock, node, engine }) => {
    node.eggs.clear()
    await engine.start({ n1: node })
    const [id] = await engine.enqueueMany(1)
    await clock.advanceBy(1_000)
    expect([...node.eggs]).toEqual(EGGS)
    expect(node.executed).toEqual([id])
  })

  it('a refused job goes to another node, and its timeline has the error of the first one', async ({
    clock,
    node,
    other,
    engine
  }) => {
    node.behaviours = ['refuse']
    await engine.start({ n1: node, n2: other })
    const [id] = await engine.enqueueMany(1)
    await clock.advanceBy(100)
    expect(other.executed).toEqual([`${id}-2`])
    expect(await engine.kinds(id!)).toEqual(['queued', 'sending', 'refused', 'sending', 'accepted', 'running'])
  })

  it('a job that its node refused does not hold up the jobs behind it', async ({ clock, engine }) => {
    const node = new FakeNode(clock, { slots: 1, eggs: EGGS })
    node.behaviours = ['refuse']
    await engine.start({ n1: node })
    const [refused, behind] = await engine.enqueueMany(2)
    await clock.advanceBy(100)
    expect(node.executed).toEqual([behind])
    node.endAll()
    await clock.advanceBy(10_000)
    expect(node.executed).toEqual([behind, `${refused}-2`])
  })

  it('a spider that the node does not know fails the job at once', async ({ node, other, engine }) => {
    node.behaviours = ['refuse']
    node.refusal = "spider 'prices' not found"
    await engine.start({ n1: node, n2: other })
    const [id] = await engine.enqueueMany(1)
    expect(await engine.job(id!)).toMatchObject({
      status: 'failed',
      reason: 'unknown spider',
      killingLine: node.refusal
    })
    expect(other.executed).toEqual([])
  })

  it('a job that no node of its kind can start fails at once, and says why', async ({ node, other, engine }) => {
    node.schedule = refuseAsUnrunnable
    await engine.start({ n1: node, n2: other })
    const [id] = await engine.enqueueMany(1)
    expect(await engine.job(id!)).toMatchObject({ status: 'failed', killingLine: 'n1 was not contacted: too large.' })
    expect(await engine.kinds(id!)).toEqual(['queued', 'sending', 'ended'])
    expect(other.executed).toEqual([])
  })

  it('a job whose arguments a Scrapyd cannot accept waits for a node that can, however long it is busy', async ({
    clock,
    node,
    engine
  }) => {
    node.schedule = refuseAsUnrunnable
    const local = new FakeNode(clock, { slots: 1, eggs: EGGS, traits: LOCAL_TRAITS })
    await local.schedule({ ...STRANGER, jobid: 'stranger' })
    await engine.start({ n1: node, n2: local })
    const [id] = await engine.enqueueMany(1)
    await clock.advanceBy(2 * 3_600_000)
    expect((await engine.job(id!)).status).toBe('queued')
    local.endAll()
    await clock.advanceBy(600_000)
    expect(local.executed).toHaveLength(2)
  })

  it('a node that refuses the connection gets no more jobs until it answers again', async ({ clock, node, engine }) => {
    await engine.start({ n1: node })
    node.isDown = true
    const [id] = await engine.enqueueMany(1)
    await clock.advanceBy(4_000)
    const waiting = engine.waiting.describeJob(await engine.job(id!)).waiting
    expect(waiting).toMatchObject({ code: 'nodes_down', text: 'n1 does not respond' })
    node.isDown = false
    await clock.advanceBy(20_000)
    expect(node.executed).toHaveLength(1)
  })
})

it('the error of a node is in the timeline as a code with parameters', async ({ store, node, engine }) => {
  const said = say('node_error.no_answer', { label: 'n1 (http://n1)', endpoint: 'schedule.json', seconds: 60 })
  node.schedule = () => Promise.reject(failure('timeout', said, 'unknown'))
  await engine.start({ n1: node })
  const [id] = await engine.enqueueMany(1)
  const uncertain = (await store.listTimeline(branded(id!))).find(({ kind }) => kind === 'uncertain')
  const why = 'Node n1 (http://n1) did not answer schedule.json within 60 s. Check whether it is overloaded or stuck.'
  expect(uncertain).toMatchObject({
    code: 'timeline.no_response',
    params: { error: said },
    text: `No response; checking whether the job reached the node (${why})`
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
  const send = async (
    { clock, store, node, engine }: Omit<DispatchFixtures, 'other'>,
    job: ReturnType<typeof aNewJob>
  ) => {
    await engine.start({ n1: node }, { openSecret })
    await store.enqueueJobs([job])
    engine.dispatch.wake()
    await clock.advanceBy(100)
  }

  it('are decrypted for the node that runs the job, and stay encrypted in the store', async ({
    clock,
    store,
    node,
    engine
  }) => {
    const job = secretJob('sealed:open sesame')
    await send({ clock, store, node, engine }, job)
    expect(node.running[0]).toMatchObject({
      settings: { TOKEN: 'open sesame', LOG_LEVEL: 'INFO' },
      args: { page: '1', key: 'abc' },
      secretNames: ['TOKEN', 'key']
    })
    expect((await engine.job(job.id)).settings).toEqual(job.settings)
    expect(JSON.stringify(await store.listTimeline(job.id))).not.toContain('open sesame')
  })

  it('that cannot be decrypted fail the job, which says what to do; nothing is sent', async ({
    clock,
    store,
    node,
    engine
  }) => {
    const job = secretJob('of another machine')
    await send({ clock, store, node, engine }, job)
    expect(node.executed).toEqual([])
    const { status, reason, killingLine, killingLineCode } = await engine.job(job.id)
    expect([status, reason]).toEqual(['failed', 'secret unreadable'])
    expect(killingLineCode).toBe('run_problem.secret_unreadable')
    expect(killingLine).toMatch(/TOKEN, key.* nothing was sent. Run the job again and re-enter its secret values/)
    expect(engine.live.all()).toEqual([])
    expect(await engine.kinds(job.id)).toEqual(['queued', 'sending', 'ended'])
  })

  it('in the response of a node are not recorded', async ({ clock, store, node, engine }) => {
    const job = secretJob('sealed:open sesame')
    node.behaviours = ['refuse']
    node.refusal = "unknown option 'open sesame'"
    await send({ clock, store, node, engine }, job)
    const timeline = JSON.stringify(await store.listTimeline(job.id))
    expect(timeline).toContain(`unknown option '${SECRET_MASK}'`)
    expect(timeline).not.toContain('open sesame')
  })

  const echo = (value: string) => {
    const refusal = say('node_error.refused', { label: 'n1', endpoint: 'schedule.json', why: `no option ${value}.` })
    return say('node_error.egg_refused', { refusal, became: 'removed', version: value })
  }
  it.for([
    ['among its parameters and in nested messages', 'open sesame', echo('open sesame'), echo(SECRET_MASK)],
    [
      'that is a word of ours',
      'removed',
      echo('x'),
      `Node n1 refused schedule.json: no option x. It was ${SECRET_MASK} from the node.`
    ],
    [
      'that spans two parameters',
      'shop, version 1',
      say('node_error.lists_no_spiders', { label: 'n1', project: 'shop', version: '1' }),
      `Node n1 cannot list the spiders of ${SECRET_MASK}: it is a cluster. A node of another kind, or this computer, can.`
    ]
  ] as const)(
    'in the error of a node, %s, are not recorded',
    async ([, secret, said, error], { clock, store, node, engine }) => {
      const job = secretJob(`sealed:${secret}`)
      node.schedule = () => Promise.reject(failure('refused', said, 'no'))
      await send({ clock, store, node, engine }, job)
      const refused = (await store.listTimeline(job.id)).find(({ kind }) => kind === 'refused')
      expect(refused).toMatchObject({ code: 'timeline.not_accepted', params: { error } })
      expect(JSON.stringify(refused)).not.toContain(secret)
    }
  )
})

it('a node that enforces limits gets the limits of the job, which replace those of its project at that time', async ({
  clock,
  store,
  engine
}) => {
  const node = new FakeNode(clock, { slots: 2, eggs: EGGS, traits: LOCAL_TRAITS })
  await engine.start({ n1: node }, { projectLimits: { wallSeconds: 60, memoryMegabytes: 100 } })
  await store.enqueueJobs([aNewJob({ version: '1', limits: { memoryMegabytes: 200, openFiles: null } })])
  await engine.enqueueMany(1)
  expect(node.running.map(({ limits }) => limits)).toEqual([
    { wallSeconds: 60, memoryMegabytes: 200 },
    { wallSeconds: 60, memoryMegabytes: 100 }
  ])
})

it('a node that does not enforce limits gets none, and the timeline names them', async ({ store, node, engine }) => {
  await engine.start({ n1: node })
  const id = await engine.enqueue({ limits: { wallSeconds: 60, memoryMegabytes: 200 } })
  expect(node.running.map(({ limits }) => limits)).toEqual([null])
  const accepted = (await store.listTimeline(aJobId(id))).find(({ kind }) => kind === 'accepted')
  expect(accepted?.evidence).toMatchObject({ limits: 'some limits are enforced only on local nodes' })
})

it('an idle node is polled every second once it has jobs, also if several were sent at once', async ({
  clock,
  node,
  engine
}) => {
  await engine.start({ n1: node })
  const [first] = await engine.enqueueMany(2)
  await clock.advanceBy(2_000)
  expect((await engine.job(first!)).state).toBe('running')
})

describe('a job that is cancelled while it is prepared for sending', () => {
  it('is not sent', async ({ clock, store, node, engine }) => {
    const opening = Promise.withResolvers<string>()
    await engine.start({ n1: node }, { openSecret: () => opening.promise })
    const id = await engine.enqueue({ args: { key: 'sealed:v1:abc' }, secretNames: ['key'] })
    expect((await engine.job(id)).state).toBe('starting')
    await engine.cancel([id])
    opening.resolve('a secret')
    await clock.advanceBy(100)
    expect(node.executed).toEqual([])
    expect(await engine.job(id)).toMatchObject({ status: 'cancelled', reason: 'cancelled before it started' })
    expect(await engine.textOf(id, 'ended')).toBe('Cancelled before it was sent')
    expect((await store.listTimeline(aJobId(id))).map(({ kind }) => kind)).not.toContain('cancel_sent')
    expect(engine.live.slotsUsedOn(aNodeId('n1'))).toBe(0)
  })
})

describe('what a job waits for', () => {
  it('is updated when a node goes down', async ({ clock, node, other, engine }) => {
    await engine.start({ n1: node, n2: other })
    const ids = await engine.enqueueMany(5)
    const waiting = async () => engine.waiting.describeJob(await engine.job(ids[4]!)).waiting?.text
    expect(await waiting()).toBe('all 4 slots are busy')
    other.isDown = true
    await clock.advanceBy(5_000)
    expect(await waiting()).toBe('all 2 slots are busy')
  })
})

import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { aJobId, aProjectName, aVersionName } from '../../../shared/testing/ids.ts'
import { IncomingFiles } from '../../storage/blobs/incoming-files.ts'
import { openFilesystemBlobStore } from '../../storage/blobs/filesystem/filesystem-blob-store.ts'
import { plain } from '../../../shared/texts/message.ts'
import { importErrorOf, NodeError } from '../../nodes/node-client.ts'
import { Distribution } from '../../projects/distribution.ts'
import { Projects } from '../../projects/projects.ts'
import { createJobIds } from '../../runtime/ids.ts'
import { silentLogger } from '../../runtime/logger.ts'
import type { NewJob } from '../../model/records.ts'
import { anEgg } from '../../testing/archives.ts'
import { type DispatchFixtures, it as plainIt, MINUTE_MS, onlyOn } from '../../testing/dispatch-fixtures.ts'
import { FakeNode } from '../../testing/fake-node.ts'
import { createSeededRandom } from '../../testing/seeded-random.ts'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'

const MISSING = "ModuleNotFoundError: No module named 'x'"
const TRACEBACK = `Traceback (most recent call last):\n  File ...\n${MISSING}`
const V1 = aVersionName('1')
const OF_OTHERS = {
  project: aProjectName('theirs'),
  version: V1,
  spider: 'long',
  settings: {},
  args: {},
  env: {},
  priority: 0
}

class TestedNode extends FakeNode {
  tries = 0
  rejectsCredentials = false
  answer: () => Promise<unknown> = () => Promise.reject(refusal(TRACEBACK))

  override async addVersion(project: string, version: string) {
    this.tries += 1
    await this.answer()
    return super.addVersion(project, version)
  }

  override async daemonStatus() {
    if (this.rejectsCredentials) throw new NodeError('unauthorized', plain('it rejects us'), { delivered: 'no' })
    return super.daemonStatus()
  }

  async fill(): Promise<void> {
    for (let slot = 0; slot < this.slots; slot += 1) {
      await this.schedule({ ...OF_OTHERS, jobid: `theirs-${slot}` })
    }
  }
}

function refusal(nodeMessage: string): NodeError {
  return new NodeError('refused', plain('it refused'), { delivered: 'no', refusal: 'import_failed', nodeMessage })
}

async function startRoom({ clock, store, engine }: Pick<DispatchFixtures, 'clock' | 'store' | 'engine'>) {
  const directory = await makeTemporaryDirectory({ inMemory: true })
  const nodes = { n1: new TestedNode(clock, { slots: 2 }), n2: new TestedNode(clock, { slots: 2 }) }
  const projects = await Projects.open({
    store,
    clock,
    logger: silentLogger,
    blobs: await openFilesystemBlobStore(join(directory.path, 'blobs')),
    incoming: IncomingFiles.open(join(directory.path, 'incoming')),
    eggDirectory: join(directory.path, 'eggs'),
    listSpidersOfEgg: async () => ['prices']
  })
  await projects.upload(await anEgg(), { version: V1 })
  const clientOf = (id: string) => nodes[id as keyof typeof nodes]
  const distribution = new Distribution({ projects, clientOf, importErrorOf, clock })
  distribution.events.on('changed', () => engine.dispatch.wake())
  const hold = { isProjectPaused: false }
  await engine.start(nodes, { distribution, isProjectPaused: () => hold.isProjectPaused })
  const newId = createJobIds(clock, createSeededRandom(1))
  return {
    ...nodes,
    hold,
    async remove() {
      distribution.stop()
      await directory.remove()
    },
    enqueue: (over: Partial<NewJob> = {}) => {
      const id = newId()
      return engine.enqueue({ id, jobid: id, ...over })
    },
    statusOf: async (id: string) => (await engine.job(id)).status,
    reasonOf: async (id: string) => engine.waiting.describeJob(await engine.job(id)).waiting?.text,
    endOf: async (id: string) => (await store.listTimeline(aJobId(id))).at(-1)!
  }
}

const it = plainIt.extend('room', async ({ clock, store, engine }, { onCleanup }) => {
  const room = await startRoom({ clock, store, engine })
  onCleanup(room.remove)
  return room
})

describe('an egg that nodes cannot import', () => {
  it('fails its jobs once every node has refused it with the same error, which is their waiting reason until then', async ({
    clock,
    room
  }) => {
    const { promise: tried, reject } = Promise.withResolvers<void>()
    room.n2.answer = () => tried
    const ids: string[] = []
    for (let count = 0; count < 30; count += 1) ids.push(await room.enqueue())
    await clock.advanceBy(1_000)
    expect(await Promise.all(ids.map(room.statusOf))).toEqual(Array(30).fill('queued'))
    expect(await room.reasonOf(ids[0]!)).toBe(`version 1 is being sent to n2; n1 cannot import version 1: ${MISSING}`)

    reject(refusal(`On n2: ${TRACEBACK}`))
    await clock.advanceBy(5_000)
    expect(await Promise.all(ids.map(room.statusOf))).toEqual(Array(30).fill('failed'))
    expect(await room.endOf(ids[0]!)).toMatchObject({
      text: `Failed: no node can import version 1: ${MISSING}`,
      evidence: { version: V1, nodes: ['n1', 'n2'], output: TRACEBACK }
    })
  })

  it('fails a later job only after the node has tried it again; the job runs if the missing module is there by then', async ({
    clock,
    room
  }) => {
    const first = await room.enqueue(onlyOn('n1'))
    await clock.advanceBy(1_000)
    expect(await room.statusOf(first)).toBe('failed')

    const { promise: tried, resolve } = Promise.withResolvers<void>()
    room.n1.answer = () => tried
    const second = await room.enqueue(onlyOn('n1'))
    await clock.advanceBy(20_000)
    expect(room.n1.tries).toBe(1)
    expect(await room.reasonOf(second)).toBe(`n1 cannot import version 1: ${MISSING}`)
    await clock.advanceBy(20_000)
    expect(room.n1.tries).toBe(2)
    const third = await room.enqueue(onlyOn('n1'))
    await clock.advanceBy(1_000)
    expect([await room.statusOf(second), await room.statusOf(third)]).toEqual(['queued', 'queued'])
    resolve()
    await clock.advanceBy(2_000)
    expect([await room.statusOf(second), await room.statusOf(third)]).toEqual(['running', 'running'])
  })

  it('fails a later job when a node refuses it again', async ({ clock, room }) => {
    await room.enqueue()
    await clock.advanceBy(1_000)
    expect([room.n1.tries, room.n2.tries]).toEqual([1, 1])
    const second = await room.enqueue()
    await clock.advanceBy(20_000)
    expect(await room.statusOf(second)).toBe('queued')
    await clock.advanceBy(20_000)
    expect([room.n1.tries, room.n2.tries]).toEqual([2, 2])
    expect(await room.statusOf(second)).toBe('failed')
  })

  it('is shown with the error of a node that could have run the job', async ({ clock, room }) => {
    await room.enqueue(onlyOn('n1'))
    await clock.advanceBy(1_000)
    room.n2.answer = () => Promise.reject(refusal(`On n2: ${TRACEBACK}`))
    const second = await room.enqueue(onlyOn('n2'))
    await clock.advanceBy(1_000)
    expect(await room.endOf(second)).toMatchObject({ evidence: { nodes: ['n2'], output: `On n2: ${TRACEBACK}` } })
  })

  it('fails a job that was held at the time of the refusal only after the node has tried it again', async ({
    clock,
    room
  }) => {
    const held = await room.enqueue({ ...onlyOn('n1'), notBeforeMs: clock.nowMs() + 10_000 })
    const first = await room.enqueue(onlyOn('n1'))
    await clock.advanceBy(1_000)
    expect(await room.statusOf(first)).toBe('failed')
    room.n1.answer = async () => {}
    await clock.advanceBy(15_000)
    expect(await room.reasonOf(held)).toBe(`n1 cannot import version 1: ${MISSING}`)
    await clock.advanceBy(20_000)
    expect(await room.statusOf(held)).toBe('running')
  })

  it.for(['the project', 'the queue'])(
    'fails no job while %s is paused; after it is resumed, the nodes try again',
    async (paused, { clock, engine, room }) => {
      const setPaused = (isPaused: boolean) => {
        if (paused === 'the queue') return engine.dispatch.setPaused(isPaused)
        room.hold.isProjectPaused = isPaused
        engine.dispatch.wake()
      }
      const { promise: tried, reject } = Promise.withResolvers<void>()
      room.n1.answer = () => tried
      const id = await room.enqueue(onlyOn('n1'))
      setPaused(true)
      reject(refusal(TRACEBACK))
      await clock.advanceBy(20 * MINUTE_MS)
      expect([room.n1.tries, await room.statusOf(id)]).toEqual([1, 'queued'])

      room.n1.answer = async () => {}
      setPaused(false)
      await clock.advanceBy(2_000)
      expect([room.n1.tries, await room.statusOf(id)]).toEqual([2, 'running'])
    }
  )

  it('fails no job behind a limit', async ({ clock, engine, room }) => {
    const none = { id: '1', project: aProjectName('shop'), spider: 'prices', tag: null, perNode: false, max: 0 }
    engine.live.replaceLimits([none])
    const held = await room.enqueue(onlyOn('n1'))
    const other = await room.enqueue({ ...onlyOn('n1'), spider: 'other' })
    await clock.advanceBy(MINUTE_MS)
    expect([await room.statusOf(held), await room.statusOf(other)]).toEqual(['queued', 'failed'])
  })

  it('is sent again to all nodes that refused it at once, not one by one', async ({ clock, room }) => {
    await room.enqueue()
    await clock.advanceBy(40_000)
    expect([room.n1.tries, room.n2.tries]).toEqual([1, 1])
    const { promise: tried, reject } = Promise.withResolvers<void>()
    room.n1.answer = () => tried
    room.n2.answer = () => tried
    const second = await room.enqueue()
    await clock.advanceBy(1_000)
    expect([room.n1.tries, room.n2.tries]).toEqual([2, 2])
    reject(refusal(TRACEBACK))
    await clock.advanceBy(2_000)
    expect(await room.statusOf(second)).toBe('failed')
  })

  it('is sent again to a node without a free slot, so that jobs do not wait for its slots', async ({ clock, room }) => {
    await room.enqueue()
    await clock.advanceBy(1_000)
    await room.n2.fill()
    await clock.advanceBy(5_000)
    const second = await room.enqueue()
    await clock.advanceBy(MINUTE_MS)
    expect([room.n1.tries, room.n2.tries]).toEqual([2, 2])
    expect(await room.statusOf(second)).toBe('failed')
  })

  it('fails, after ten minutes, jobs that wait for a node that refused it and now rejects the credentials', async ({
    clock,
    room
  }) => {
    await room.enqueue()
    await clock.advanceBy(1_000)
    room.n2.rejectsCredentials = true
    await clock.advanceBy(MINUTE_MS)
    const second = await room.enqueue()
    await clock.advanceBy(7 * MINUTE_MS)
    expect(await room.statusOf(second)).toBe('queued')
    await clock.advanceBy(4 * MINUTE_MS)
    expect(await room.endOf(second)).toMatchObject({ kind: 'ended', evidence: { nodes: ['n1'] } })
    expect(room.n2.tries).toBe(1)
  })
})

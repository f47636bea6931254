import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { DEFAULT_PROJECT_SETTINGS } from '../../shared/contract/index.ts'
import { aNodeId, aProjectName, aVersionName, branded } from '../../shared/testing/ids.ts'
import { IncomingFiles } from '../storage/blobs/incoming-files.ts'
import { openFilesystemBlobStore } from '../storage/blobs/filesystem/filesystem-blob-store.ts'
import { silentLogger } from '../runtime/logger.ts'
import { anEgg } from '../testing/archives.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { openTemporaryStore } from '../testing/temporary-store.ts'
import { AtOnce } from './at-once.ts'
import { Distribution } from './distribution.ts'
import { Projects } from './projects.ts'

const V1 = aVersionName('1')

/** Node names: `up` nodes respond and take jobs, `refusing` nodes reject eggs. */
async function openRoom() {
  const temporary = await openTemporaryStore()
  const clock = createFakeClock()
  const projects = await Projects.open({
    store: temporary.store,
    blobs: await openFilesystemBlobStore(join(temporary.directory, 'blobs')),
    incoming: IncomingFiles.open(join(temporary.directory, 'incoming')),
    eggDirectory: join(temporary.directory, 'eggs'),
    listSpidersOfEgg: async () => ['prices'],
    clock,
    logger: silentLogger
  })
  const room = {
    projects,
    clock,
    up: ['local', 'n1', 'n2'],
    refusing: new Set<string>(),
    sent: [] as string[],
    atOnce: 0,
    most: 0,
    written: 0,
    gate: Promise.resolve(),
    setAtOnce: () => projects.configure(aProjectName('shop'), { ...DEFAULT_PROJECT_SETTINGS, distribution: 'at_once' }),
    [Symbol.asyncDispose]: temporary.remove
  }
  const distribution = new Distribution({
    projects,
    clock,
    importErrorOf: () => null,
    clientOf: (nodeId) => ({
      async addVersion(_project, version) {
        room.sent.push(`${version} to ${nodeId}`)
        room.atOnce++
        room.most = Math.max(room.most, room.atOnce)
        await room.gate
        room.atOnce--
        if (room.refusing.has(nodeId)) throw new Error(`${nodeId} is full`)
      },
      listSpiders: async () => ['prices']
    })
  })
  distribution.events.on('changed', () => {
    room.written = room.sent.length - room.atOnce
    spread.scanSoon()
  })
  const spread = new AtOnce({ projects, distribution, nodeIds: () => branded(room.up), clock, logger: silentLogger })
  /** Scans, then waits until `count` uploads are sent and recorded, because disk writes take real time. */
  async function untilSent(count: number) {
    spread.scanSoon()
    await clock.advanceBy(1_000)
    await vi.waitFor(() => expect([room.sent.length, room.written]).toEqual([count, count]))
  }
  return Object.assign(room, { distribution, spread, untilSent })
}

test('on demand, no egg is sent before a job needs it', async () => {
  await using t = await openRoom()
  await t.projects.upload(await anEgg(), { version: V1 })
  t.spread.scanSoon()
  await t.clock.advanceBy(60_000)
  expect(t.sent).toEqual([])
  expect(t.clock.timerCount()).toBe(0)
})

test('if set to send at once, the latest version goes to all nodes that are up, and to others when they return', async () => {
  await using t = await openRoom()
  await t.setAtOnce()
  await t.projects.upload(await anEgg(), { version: V1 })
  await t.projects.upload(await anEgg([{ name: 'shop/new.py' }]), { version: aVersionName('2') })
  t.spread.scanSoon()
  await t.untilSent(2)
  expect(t.sent).toEqual(['2 to n1', '2 to n2'])
  t.up.push('n3')
  await t.untilSent(3)
  expect(t.sent.slice(2)).toEqual(['2 to n3'])
})

test('an egg that a node lost, or has in an older form, is sent again automatically', async () => {
  await using t = await openRoom()
  await t.setAtOnce()
  await t.projects.upload(await anEgg(), { version: V1 })
  await t.untilSent(2)
  await t.clock.advanceBy(1_000)
  await t.projects.recordProjectsOnNode(aNodeId('n1'), [])
  await t.untilSent(3)
  expect(t.sent).toEqual(['1 to n1', '1 to n2', '1 to n1'])
  await t.projects.upload(await anEgg([{ name: 'shop/new.py' }]), { version: V1 })
  await t.untilSent(5)
  expect(t.sent.slice(3).sort()).toEqual(['1 to n1', '1 to n2'])
})

test('a node that refuses an egg is tried again after its back-off, without delaying the others', async () => {
  await using t = await openRoom()
  await t.setAtOnce()
  t.refusing.add('n1')
  await t.projects.upload(await anEgg(), { version: V1 })
  await t.untilSent(2)
  await t.clock.advanceBy(27_000)
  expect(t.sent).toEqual(['1 to n1', '1 to n2'])
  t.refusing.clear()
  await t.clock.advanceBy(2_500)
  await t.untilSent(3)
  expect(t.sent.slice(2)).toEqual(['1 to n1'])
  expect(t.distribution.isPresent(aNodeId('n1'), aProjectName('shop'), V1)).toBe(true)
})

test('never more than eight uploads at a time, however many nodes want one', async () => {
  await using t = await openRoom()
  t.up = Array.from({ length: 40 }, (_, index) => `n${index}`)
  await t.setAtOnce()
  await t.projects.upload(await anEgg(), { version: V1 })
  let open = () => {}
  t.gate = new Promise((resolve) => (open = resolve))
  t.spread.scanSoon()
  await t.clock.advanceBy(1_000)
  await vi.waitFor(() => expect(t.atOnce).toBe(8))
  open()
  await t.untilSent(40)
  expect(new Set(t.sent).size).toBe(40)
  expect(t.most).toBe(8)
})

test('after its stop no egg is sent, and no timer is left', async () => {
  await using t = await openRoom()
  await t.setAtOnce()
  await t.projects.upload(await anEgg(), { version: V1 })
  t.spread.scanSoon()
  t.spread.stop()
  t.spread.scanSoon()
  await t.clock.advanceBy(1_000)
  expect(t.sent).toEqual([])
  expect(t.clock.timerCount()).toBe(0)
})

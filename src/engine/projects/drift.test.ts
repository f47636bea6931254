import { join } from 'node:path'
import { expect, test } from 'vitest'
import { aNodeId, aProjectName, aVersionName } from '../../shared/testing/ids.ts'
import { IncomingFiles } from '../storage/blobs/incoming-files.ts'
import { openFilesystemBlobStore } from '../storage/blobs/filesystem/filesystem-blob-store.ts'
import { silentLogger } from '../runtime/logger.ts'
import { anEgg } from '../testing/archives.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { openTemporaryStore } from '../testing/temporary-store.ts'
import { Distribution } from './distribution.ts'
import { type EggToSend, Projects } from './projects.ts'

const N1 = aNodeId('n1')
const SHOP = aProjectName('shop')
const V1_0 = aVersionName('1.0')
const VERSION_V1_0 = aVersionName('1_0')

async function openRoom() {
  const temporary = await openTemporaryStore()
  const clock = createFakeClock()
  const open = async () =>
    Projects.open({
      store: temporary.store,
      blobs: await openFilesystemBlobStore(join(temporary.directory, 'blobs')),
      incoming: IncomingFiles.open(join(temporary.directory, 'incoming')),
      eggDirectory: join(temporary.directory, 'eggs'),
      listSpidersOfEgg: async () => ['prices'],
      clock,
      logger: silentLogger
    })
  const projects = await open()
  const sent: string[] = []
  const receiver = {
    async addVersion(_project: string, version: string, egg: EggToSend) {
      sent.push(`${version} ${egg.sizeBytes}`)
    },
    listSpiders: async () => []
  }
  const distribution = new Distribution({ projects, clientOf: () => receiver, importErrorOf: () => null, clock })
  const states = (version = '1.0') =>
    projects.catalog
      .find(aProjectName('shop'), aVersionName(version))!
      .deployments.filter(({ nodeId }) => nodeId === 'n1')
      .map(({ state, sha256 }) => [
        state,
        sha256 === projects.catalog.find(aProjectName('shop'), aVersionName(version))!.sha256
      ])
  const later = () => clock.advanceBy(1_000)
  return { projects, distribution, sent, states, later, clock, open, [Symbol.asyncDispose]: temporary.remove }
}

test('a version that we sent and a node no longer lists is missing there, and is sent again before the next job', async () => {
  await using t = await openRoom()
  await t.projects.upload(await anEgg(), { version: V1_0 })
  await t.distribution.ensure(N1, SHOP, V1_0)
  expect(t.states()).toEqual([['present', true]])
  await t.later()
  await t.projects.recordSeenOnNode(N1, SHOP, [VERSION_V1_0])
  expect(t.states()).toEqual([['present', true]])
  await t.projects.recordSeenOnNode(N1, SHOP, [])
  expect(t.states()).toEqual([['missing', true]])
  expect(t.distribution.stateOf(aNodeId('n1'), aProjectName('shop'), aVersionName('1.0'))).toBe('absent')
  expect(
    (await t.open()).catalog.find(aProjectName('shop'), aVersionName('1.0'))!.deployments.map(({ state }) => state)
  ).toContain('missing')
  await t.distribution.ensure(aNodeId('n1'), aProjectName('shop'), aVersionName('1.0'))
  expect(t.states()).toEqual([['present', true]])
  expect(t.sent).toHaveLength(2)
})

test('a project that a node no longer lists is missing with all of its versions', async () => {
  await using t = await openRoom()
  await t.projects.upload(await anEgg(), { version: V1_0 })
  await t.distribution.ensure(N1, SHOP, V1_0)
  await t.later()
  await t.projects.recordProjectsOnNode(N1, [])
  expect(t.states()).toEqual([['missing', true]])
})

test('a version that a node lists but we did not send is foreign and may be other code, so ours is sent before a job', async () => {
  await using t = await openRoom()
  await t.projects.upload(await anEgg(), { version: V1_0 })
  await t.later()
  await t.projects.recordSeenOnNode(N1, SHOP, [VERSION_V1_0])
  expect(t.states()).toEqual([['foreign', false]])
  expect(t.distribution.stateOf(N1, SHOP, V1_0)).toBe('absent')
  await t.distribution.ensure(N1, SHOP, V1_0)
  expect(t.states()).toEqual([['present', true]])
})

test('a foreign version that is no longer listed is forgotten; a missing one that returns is foreign', async () => {
  await using t = await openRoom()
  await t.projects.upload(await anEgg(), { version: V1_0 })
  await t.later()
  await t.projects.recordSeenOnNode(N1, SHOP, [VERSION_V1_0])
  await t.later()
  await t.projects.recordSeenOnNode(N1, SHOP, [])
  expect(t.states()).toEqual([])
  await t.distribution.ensure(N1, SHOP, V1_0)
  await t.later()
  await t.projects.recordSeenOnNode(N1, SHOP, [])
  await t.later()
  await t.projects.recordSeenOnNode(N1, SHOP, [VERSION_V1_0])
  expect(t.states()).toEqual([['foreign', false]])
})

test('a node that had a version of its own by the name of a new egg has a foreign one', async () => {
  await using t = await openRoom()
  await t.projects.recordSeenOnNode(N1, SHOP, [VERSION_V1_0])
  await t.projects.upload(await anEgg(), { version: VERSION_V1_0 })
  expect(t.states('1_0')).toEqual([['foreign', false]])
})

test('an egg that was replaced here since it was sent is sent again', async () => {
  await using t = await openRoom()
  await t.projects.upload(await anEgg(), { version: V1_0 })
  await t.distribution.ensure(N1, SHOP, V1_0)
  await t.projects.upload(await anEgg([{ name: 'shop/new.py' }]), { version: V1_0 })
  expect(t.states()).toEqual([['present', false]])
  expect(t.distribution.stateOf(N1, SHOP, V1_0)).toBe('absent')
  await t.distribution.ensure(N1, SHOP, V1_0)
  expect(t.states()).toEqual([['present', true]])
  expect(new Set(t.sent).size).toBe(2)
})

test('a list that was requested before the egg arrived proves nothing about it', async () => {
  await using t = await openRoom()
  const askedAtMs = t.clock.nowMs()
  await t.projects.upload(await anEgg(), { version: V1_0 })
  await t.later()
  await t.distribution.ensure(N1, SHOP, V1_0)
  await t.projects.recordSeenOnNode(N1, SHOP, [], null, askedAtMs)
  await t.projects.recordProjectsOnNode(N1, [], askedAtMs)
  expect(t.states()).toEqual([['present', true]])
})

test('a node that says it does not know the version is missing it', async () => {
  await using t = await openRoom()
  await t.projects.upload(await anEgg(), { version: V1_0 })
  await t.distribution.ensure(N1, SHOP, V1_0)
  await t.distribution.forget(N1, SHOP, V1_0)
  expect(t.states()).toEqual([['missing', true]])
})

import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { ScrapdeckError } from '../../shared/errors.ts'
import { anAttemptNumber, aNodeId, aProjectName, aVersionName } from '../../shared/testing/ids.ts'
import { plain } from '../../shared/texts/message.ts'
import { IncomingFiles } from '../storage/blobs/incoming-files.ts'
import { openFilesystemBlobStore } from '../storage/blobs/filesystem/filesystem-blob-store.ts'
import { silentLogger } from '../runtime/logger.ts'
import { anArchive, anEgg } from '../testing/archives.ts'
import { aNewJob } from '../testing/builders.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { openTemporaryStore } from '../testing/temporary-store.ts'
import { Projects } from './projects.ts'

const N1 = aNodeId('n1')
const SHOP = aProjectName('shop')
const V1 = aVersionName('1')
const V1_0 = aVersionName('1.0')
const V2 = aVersionName('2')

async function openRoom(over: { listSpiders?: ((path: string) => Promise<string[]>) | null } = {}) {
  const temporary = await openTemporaryStore()
  const clock = createFakeClock(Date.UTC(2026, 0, 31, 12))
  const blobs = await openFilesystemBlobStore(join(temporary.directory, 'blobs'))
  const listed: string[] = []
  const room = {
    ...temporary,
    clock,
    blobs,
    listed,
    listSpiders: over.listSpiders === undefined ? async () => ['prices', 'stock'] : over.listSpiders,
    open: async () =>
      Projects.open({
        store: temporary.store,
        blobs,
        incoming: IncomingFiles.open(join(temporary.directory, 'incoming')),
        eggDirectory: join(temporary.directory, 'eggs'),
        listSpidersOfEgg:
          room.listSpiders &&
          ((path) => {
            listed.push(path)
            return room.listSpiders!(path)
          }),
        clock,
        logger: silentLogger
      })
  }
  return { ...room, room, projects: await room.open(), [Symbol.asyncDispose]: temporary.remove }
}

test('an upload is named after the egg and the time, listed, kept, and still known after a restart', async () => {
  await using t = await openRoom()
  const egg = await anEgg()
  const stored = await t.projects.upload(egg, {})
  expect(stored).toMatchObject({ project: 'shop', version: '20260131T120000', spiders: ['prices', 'stock'] })
  expect(stored.deployments).toEqual([expect.objectContaining({ nodeId: 'local', state: 'present' })])
  const again = await t.room.open()
  expect(again.describe()).toMatchObject([{ name: 'shop', latestVersion: '20260131T120000', versions: [stored] }])
  expect(await buffer(await again.eggToSend(SHOP, stored.version).open())).toEqual(Buffer.from(egg))
})

test('the file that Python imports is named like an egg of the project, and is restored from the blob', async () => {
  await using t = await openRoom()
  const egg = await anEgg()
  await t.projects.upload(egg, { project: aProjectName('my shop'), version: aVersionName('1.0-a') })
  expect(basename(t.listed[0]!)).toBe('my_shop-1.0_a.egg')
  const other = await Projects.open({
    store: t.store,
    blobs: t.blobs,
    incoming: IncomingFiles.open(join(t.directory, 'incoming')),
    eggDirectory: join(t.directory, 'elsewhere'),
    listSpidersOfEgg: null,
    clock: t.clock,
    logger: silentLogger
  })
  expect(await readFile((await other.eggFile(aProjectName('my shop'), aVersionName('1.0-a')))!)).toEqual(
    Buffer.from(egg)
  )
  expect(await other.eggFile(aProjectName('my shop'), V2)).toBeNull()
})

test('a zip of a project folder is taken as an egg', async () => {
  await using t = await openRoom()
  const zip = await anArchive([
    { name: 'bot/scrapy.cfg', content: '[settings]\ndefault = bot.settings\n' },
    { name: 'bot/bot/settings.py', content: '' }
  ])
  expect(await t.projects.upload(zip, {})).toMatchObject({ project: 'bot', spiders: ['prices', 'stock'] })
})

test('an egg without a name, or with the default of a tool, requires the project and proposes one', async () => {
  await using t = await openRoom()
  const failure = { code: 'BAD_INPUT', data: { field: 'project', suggestion: 'shop' } }
  await expect(t.projects.upload(await anEgg([], { name: 'project' }), {})).rejects.toMatchObject(failure)
  expect(await t.projects.upload(await anEgg([], { name: 'project' }), { project: SHOP })).toMatchObject({
    project: 'shop'
  })
})

test.each([
  ['r5-feature/x', 'r5-feature/x'],
  ['a\\b', 'a\\b'],
  ['..', '__'],
  ['.', '_']
])('the version %j is stored as %j, and found as Scrapyd lists it', async (version, kept) => {
  await using t = await openRoom()
  const stored = await t.projects.upload(await anEgg(), { project: SHOP, version: aVersionName(version) })
  expect(stored.version).toBe(kept)
  const listed = aVersionName(version.replace(/\W/g, (one) => (one === '-' ? one : '_')))
  for (const name of [aVersionName(version), listed]) expect(t.projects.catalog.find(SHOP, name)).toEqual(stored)
  const again = await t.projects.upload(await anEgg([{ name: 'shop/b.py' }]), { project: SHOP, version: listed })
  expect(again.version).toBe(kept)
  expect(t.projects.catalog.versionNames(SHOP)).toEqual([kept])
})

test.each(['../up', 'a/b', '..', ''])('the project name %j is refused', async (project) => {
  await using t = await openRoom()
  await expect(t.projects.upload(await anEgg(), { project: aProjectName(project) })).rejects.toMatchObject({
    code: 'BAD_INPUT'
  })
  expect(t.listed).toEqual([])
})

test('an egg that cannot be imported is refused and nothing of it is kept', async () => {
  await using t = await openRoom({
    async listSpiders() {
      throw new ScrapdeckError('EGG_IMPORT_FAILED', 'ModuleNotFoundError: numpy')
    }
  })
  await expect(t.projects.upload(await anEgg(), {})).rejects.toMatchObject({ code: 'EGG_IMPORT_FAILED' })
  expect(t.projects.describe()).toEqual([])
  expect(await t.blobs.list('eggs/')).toEqual([])
})

test('without Python an egg is stored, any spider name is accepted, and the spiders are listed once there is Python', async () => {
  await using t = await openRoom({
    async listSpiders() {
      throw new ScrapdeckError('PYTHON_MISSING', 'none')
    }
  })
  await t.projects.upload(await anEgg(), { version: aVersionName('1') })
  expect(t.projects.catalog.resolve(aProjectName('shop'), aVersionName('1'), 'anything')).toMatchObject({
    spiders: null
  })
  t.room.listSpiders = async () => ['late']
  await t.projects.listMissingSpiders()
  expect(t.projects.catalog.spidersOf(aProjectName('shop'), null)).toEqual(['late'])
  expect(t.projects.catalog.find(aProjectName('shop'), aVersionName('1'))!.deployments).toHaveLength(1)
})

test('a replaced version stays on nodes as the old egg, which is deleted here', async () => {
  await using t = await openRoom()
  const first = await t.projects.upload(await anEgg(), { version: V1_0 })
  const sent = { nodeId: N1, state: 'present', sha256: first.sha256, error: null, changedAtMs: 1 } as const
  await t.projects.recordDeployment(SHOP, V1_0, sent)
  const same = await t.projects.upload(await anEgg(), { version: V1_0 })
  expect(same.deployments.map(({ nodeId }) => nodeId).sort()).toEqual(['local', 'n1'])
  const second = await t.projects.upload(await anEgg([{ name: 'shop/new.py' }]), { version: aVersionName('1_0') })
  expect(second.sha256).not.toBe(first.sha256)
  expect(second).toMatchObject({ version: '1.0', deployments: [sent, { nodeId: 'local', sha256: second.sha256 }] })
  expect((await t.blobs.list('eggs/')).map(({ name }) => name)).toEqual([`eggs/${second.sha256}`])
})

test('a version that jobs need cannot be replaced', async () => {
  await using t = await openRoom()
  await t.projects.upload(await anEgg(), { version: V1 })
  await t.store.enqueueJobs([aNewJob({ project: 'shop', version: '1' })])
  const other = await anEgg([{ name: 'shop/new.py' }])
  await expect(t.projects.upload(other, { version: aVersionName('1') })).rejects.toMatchObject({
    code: 'VERSION_IN_USE'
  })
  expect(await t.projects.upload(other, { version: aVersionName('2') })).toMatchObject({ version: '2' })
})

test('as in Scrapyd, a version in use can be replaced and deleted if that is allowed; a running spider keeps its egg', async () => {
  await using t = await openRoom()
  const first = await t.projects.upload(await anEgg(), { version: V1 })
  const job = aNewJob({ project: 'shop', version: '1' })
  await t.store.enqueueJobs([job])
  const entry = { atMs: 1, message: plain(''), evidence: {} }
  const start = {
    jobId: job.id,
    number: anAttemptNumber(1),
    jobid: job.id,
    nodeId: aNodeId('local'),
    version: V1,
    entry
  }
  await t.store.beginAttempts([start])
  const second = await t.projects.upload(await anEgg([{ name: 'shop/new.py' }]), { version: V1 }, { inUse: 'allow' })
  const eggs = async () => (await t.blobs.list('eggs/')).map(({ name }) => name.slice(5)).sort()
  expect(await eggs()).toEqual([first.sha256!, second.sha256!].sort())
  await t.projects.deleteVersion(aProjectName('shop'), aVersionName('1'))
  expect(t.projects.catalog.names()).toEqual([])
  expect(await eggs()).toHaveLength(2)
  // Restarts while the spider runs, then ends the run and restarts again.
  await t.room.open()
  expect(await eggs()).toHaveLength(2)
  const change = {
    jobId: job.id,
    attemptNumber: anAttemptNumber(1),
    from: ['sending' as const],
    to: 'ended' as const,
    entry
  }
  await t.store.applyChanges([{ ...change, kind: 'ended', result: 'succeeded', jobOutcome: 'succeeded' }])
  await t.room.open()
  expect(await eggs()).toEqual([])
})

test('two versions can share one egg, which is deleted with the last of them', async () => {
  await using t = await openRoom()
  const egg = await anEgg()
  await t.projects.upload(egg, { version: aVersionName('1') })
  await t.projects.upload(egg, { version: aVersionName('2') })
  await t.projects.deleteVersion(aProjectName('shop'), aVersionName('1'))
  expect(await buffer(await t.projects.eggToSend(aProjectName('shop'), aVersionName('2')).open())).toEqual(
    Buffer.from(egg)
  )
  await t.projects.deleteProject(aProjectName('shop'))
  expect(t.projects.catalog.names()).toEqual([])
  expect(await t.blobs.list('eggs/')).toEqual([])
})

test('the newest upload is the latest version; two uploads in one second get two versions', async () => {
  await using t = await openRoom()
  await t.projects.upload(await anEgg(), {})
  await t.projects.upload(await anEgg([{ name: 'shop/new.py' }]), {})
  expect(t.projects.catalog.versionNames(aProjectName('shop'))).toEqual(['20260131T120000', '20260131T120001'])
  expect(t.projects.catalog.versionToRun(aProjectName('shop'), null)).toBe('20260131T120001')
  expect(t.projects.catalog.versionToRun(aProjectName('shop'), aVersionName('20260131T120000'))).toBe('20260131T120000')
  expect(t.projects.catalog.versionToRun(aProjectName('shop'), aVersionName('9'))).toBeNull()
})

test('an unknown name is reported with similar ones', async () => {
  await using t = await openRoom()
  await t.projects.upload(await anEgg(), { version: aVersionName('1.0') })
  expect(() => t.projects.catalog.resolve(aProjectName('shpo'), null, 'prices')).toThrow(
    'No node and no upload has a project "shpo". Deploy it first.'
  )
  expect(() => t.projects.catalog.resolve(aProjectName('shop'), aVersionName('9'), 'prices')).toThrow(
    'no version "9". It has "1.0".'
  )
  expect(() => t.projects.catalog.resolve(aProjectName('shop'), null, 'x')).toThrow('no spider "x". It has "prices"')
  expect(() => t.projects.catalog.resolve(aProjectName('shops'), null, 'prices')).toThrow('Did you mean "shop"?')
  expect(() => t.projects.catalog.resolve(aProjectName('shop'), aVersionName('1.1'), 'prices')).toThrow(
    'no version "1.1". Did you mean "1.0"?'
  )
  expect(() => t.projects.catalog.resolve(aProjectName('shop'), null, 'price')).toThrow(
    'no spider "price". Did you mean "prices"?'
  )
  expect(t.projects.catalog.resolve(aProjectName('shop'), aVersionName('1_0'), 'prices').version).toBe('1.0')
})

test('versions seen on nodes are known in the order of the node, run as its latest, and disappear with the last node', async () => {
  await using t = await openRoom()
  await t.projects.recordSeenOnNode(
    aNodeId('n1'),
    aProjectName('old'),
    [aVersionName('1_10'), aVersionName('1_9')],
    ['a', 'b']
  )
  await t.projects.recordSeenOnNode(aNodeId('n2'), aProjectName('old'), [aVersionName('1_9')])
  expect(t.projects.catalog.versionNames(aProjectName('old'))).toEqual(['1_10', '1_9'])
  expect(t.projects.catalog.latestVersion(aProjectName('old'))).toBe('1_9')
  expect(t.projects.catalog.spidersOf(aProjectName('old'), null)).toEqual(['a', 'b'])
  expect(t.projects.catalog.resolve(aProjectName('old'), aVersionName('1.9'), 'a')).toMatchObject({
    sha256: null,
    version: '1_9'
  })
  expect(() => t.projects.catalog.requireEgg(aProjectName('old'), aVersionName('1_9'))).toThrow('only seen on nodes')
  await t.clock.advanceBy(61_000)
  await t.projects.recordProjectsOnNode(aNodeId('n1'), ['other'])
  expect(t.projects.catalog.versionNames(aProjectName('old'))).toEqual(['1_9'])
  await t.projects.forgetNode(aNodeId('n2'))
  expect(t.projects.catalog.names()).toEqual([])
  expect(await t.store.listVersions()).toEqual([])
})

test('invalid names from a hostile node are ignored', async () => {
  await using t = await openRoom()
  await t.projects.recordSeenOnNode(aNodeId('n1'), aProjectName('../..'), [aVersionName('1')])
  await t.projects.recordSeenOnNode(aNodeId('n1'), aProjectName('fine'), [
    aVersionName(''),
    aVersionName('a\nb'),
    aVersionName('x'.repeat(201)),
    aVersionName('1')
  ])
  expect(t.projects.catalog.names()).toEqual(['fine'])
  expect(t.projects.catalog.versionNames(aProjectName('fine'))).toEqual(['1'])
})

test('an upload that a killed engine left unfinished is absent after the next start', async () => {
  await using t = await openRoom()
  await t.projects.upload(await anEgg(), { version: V1 })
  await t.projects.recordDeployment(SHOP, V1, {
    nodeId: N1,
    state: 'sending',
    sha256: null,
    error: null,
    changedAtMs: 1
  })
  expect(
    (await t.room.open()).catalog.find(aProjectName('shop'), aVersionName('1'))!.deployments.map(({ nodeId }) => nodeId)
  ).toEqual(['local'])
  expect((await t.store.listVersions())[0]!.deployments).toHaveLength(1)
})

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
import { WITHOUT_EGG } from './catalog.ts'
import { Projects } from './projects.ts'
import type { SettingsSource } from './settings-projects.ts'

const PROJECT_SHOP = aProjectName('shop')

const SHOP: SettingsSource = { settingsModule: 'shop.settings', path: ['/srv/shop'] }

async function openRoom(settingsProjects: Record<string, SettingsSource> = { shop: SHOP }) {
  await using cleanup = new AsyncDisposableStack()
  const temporary = cleanup.use(await openTemporaryStore())
  const asked: string[] = []
  const clock = createFakeClock(Date.UTC(2026, 0, 31, 12))
  const projects = await Projects.open({
    store: temporary.store,
    blobs: await openFilesystemBlobStore(join(temporary.directory, 'blobs')),
    incoming: IncomingFiles.open(join(temporary.directory, 'incoming')),
    eggDirectory: join(temporary.directory, 'egg-files'),
    settingsProjects,
    listSpidersOfEgg: async () => ['of-egg'],
    listSpidersOfSettings: async (project) => {
      asked.push(project)
      return ['prices']
    },
    clock,
    logger: silentLogger
  })
  const distribution = new Distribution({ projects, clientOf: () => null, importErrorOf: () => null, clock })
  const kept = cleanup.move()
  return { projects, asked, distribution, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

test('a project of [settings] is listed without versions, and its spiders run here and nowhere else', async () => {
  await using t = await openRoom()
  await t.projects.listMissingSpiders()
  expect(t.asked).toEqual(['shop'])
  expect(t.projects.catalog.names()).toEqual(['shop'])
  expect(t.projects.catalog.versionNames(aProjectName('shop'))).toEqual([])
  expect(t.projects.catalog.spidersOf(aProjectName('shop'), null)).toEqual(['prices'])
  expect(t.projects.catalog.versionToRun(aProjectName('shop'), null)).toBe(WITHOUT_EGG)
  expect(t.projects.catalog.resolve(aProjectName('shop'), null, 'prices').version).toBe(WITHOUT_EGG)
  expect(() => t.projects.catalog.resolve(aProjectName('shop'), null, 'nothing')).toThrow('no spider "nothing"')
  expect(await t.projects.source(aProjectName('shop'), WITHOUT_EGG)).toEqual(SHOP)
  expect(t.distribution.stateOf(aNodeId('local'), aProjectName('shop'), WITHOUT_EGG)).toBe('present')
  expect(t.distribution.stateOf(aNodeId('another'), aProjectName('shop'), WITHOUT_EGG)).toBe('never')
})

test('no version of it is found, and there is nothing to delete', async () => {
  await using t = await openRoom()
  expect(() => t.projects.catalog.resolve(aProjectName('shop'), aVersionName('1'), 'prices')).toThrow('no version "1"')
  await expect(t.projects.deleteVersion(aProjectName('shop'), aVersionName('1'))).rejects.toMatchObject({
    code: 'VERSION_NOT_FOUND'
  })
  await expect(t.projects.deleteVersion(aProjectName('shop'), WITHOUT_EGG)).rejects.toMatchObject({
    code: 'VERSION_NOT_FOUND'
  })
  await expect(t.projects.deleteProject(aProjectName('shop'))).rejects.toMatchObject({ code: 'PROJECT_NOT_FOUND' })
})

test('with an egg, the egg is on the path and the configured settings apply, until it is deleted', async () => {
  await using t = await openRoom()
  const { version } = await t.projects.upload(await anEgg(), {
    project: aProjectName('shop'),
    version: aVersionName('1')
  })
  expect(t.projects.catalog.versionToRun(aProjectName('shop'), null)).toBe('1')
  expect(t.projects.describe()[0]?.versions.map((one) => one.version)).toEqual(['1'])
  const egg = await t.projects.eggFile(PROJECT_SHOP, version)
  expect(await t.projects.source(PROJECT_SHOP, version)).toEqual({
    settingsModule: 'shop.settings',
    path: [egg, '/srv/shop']
  })
  await t.projects.deleteProject(aProjectName('shop'))
  expect(t.projects.catalog.versionToRun(aProjectName('shop'), null)).toBe(WITHOUT_EGG)
})

test('an impossible name or module is refused at the start', async () => {
  await expect(openRoom({ '..': SHOP })).rejects.toThrow('[settings]: the project ".." is a folder reference')
  await expect(openRoom({ shop: { ...SHOP, settingsModule: 'no module' } })).rejects.toThrow(
    'not the name of a Python module'
  )
})

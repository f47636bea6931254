import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { RunTemplate, ScheduleSettings } from '../shared/contract/index.ts'
import { aProjectName, aVersionName } from '../shared/testing/ids.ts'
import { buildEgg } from './projects/egg-builder.ts'
import { type EngineWithFakeNode, openEngineWithFakeNode } from './testing/engine-with-fake-node.ts'

const SHOP = aProjectName('shop')
let house: EngineWithFakeNode

beforeEach(async () => {
  house = await openEngineWithFakeNode()
  await house.prepare()
})
afterEach(() => house.remove())

async function addVersion(version: string) {
  const egg = await buildEgg([
    { path: 'scrapy.cfg', bytes: Buffer.from('[settings]\ndefault = shop.settings\n') },
    { path: 'shop/settings.py', bytes: Buffer.from(`VERSION = ${version}`) }
  ])
  const path = join(house.directory, `${version}.egg`)
  await writeFile(path, egg)
  return house.engine.scrapyd.addVersion(SHOP, aVersionName(version), await readFile(path))
}

const pin = (version: string | null) => house.client.projects.pinVersion({ project: 'shop', version })
const shop = () => house.client.projects.get({ project: 'shop' })

async function versionsSent(): Promise<[source: string, version: string | undefined][]> {
  await house.until(async () => {
    house.node.endAll()
    return (await house.client.jobs.list({})).jobs.every(({ state }) => state === 'ended')
  })
  const { jobs } = await house.client.jobs.list({})
  return Promise.all(
    jobs.map(async ({ id, source }) => {
      const { attempts } = await house.client.jobs.get({ id })
      return [source, attempts[0]?.version] as [string, string | undefined]
    })
  )
}

test('jobs of every endpoint that name no version run the pinned one, even after a newer upload', async () => {
  const { client, engine } = house
  await pin('1')
  const template = RunTemplate.parse({ project: 'shop', spiders: ['prices'] })
  const chain = { name: 'then', enabled: true, project: 'shop', spider: 'prices', on: 'ended' as const, run: template }
  await client.chains.create(chain)
  expect(await addVersion('2')).toEqual({ spiders: 1, pinned: '1' })
  await client.jobs.run({ project: 'shop', spiders: ['prices'] })
  const order = { settings: {}, args: {}, priority: 0, jobid: null }
  await engine.scrapyd.schedule({ project: SHOP, version: null, spider: 'prices' }, () => order)
  await client.crawl({ spider: 'prices', project: 'shop' })
  const rules = [{ kind: 'once', atMs: house.clock.nowMs() + 1_000 }]
  await client.schedules.create(ScheduleSettings.parse({ name: 'once', zone: 'UTC', rules, jobs: [template] }))
  await house.until(async () => (await client.jobs.list({})).jobs.some(({ source }) => source === 'schedule'))
  await house.until(async () => {
    house.node.endAll()
    return (await client.jobs.list({})).jobs.some(({ source }) => source === 'chain')
  })
  const sent = await versionsSent()
  expect([...new Set(sent.map(([source]) => source))].sort()).toEqual(['api', 'chain', 'crawl', 'schedule', 'scrapyd'])
  expect(new Set(sent.map(([, version]) => version))).toEqual(new Set(['1']))
  expect(await engine.scrapyd.listVersions(SHOP)).toEqual(['1', '2'])

  await client.jobs.run({ project: 'shop', spiders: ['prices'], version: '2' })
  expect(await versionsSent()).toContainEqual(['api', '2'])
})

test('a rollback also applies to queued jobs and survives a restart; unpinning returns to the latest', async () => {
  await addVersion('2')
  await house.client.system.setPaused({ paused: true })
  await house.client.jobs.run({ project: 'shop', spiders: ['prices'] })
  expect(await pin('1')).toMatchObject({ activeVersion: '1', latestVersion: '2', settings: { pinnedVersion: '1' } })
  await house.restart()
  await house.client.system.setPaused({ paused: false })
  expect(await versionsSent()).toEqual([['api', '1']])
  expect(await pin(null)).toMatchObject({ activeVersion: '2', settings: { pinnedVersion: null } })
})

test('no endpoint can delete the pinned version; deleting the project unpins it', async () => {
  await pin('1')
  await addVersion('2')
  const refused = { code: 'VERSION_PINNED', message: expect.stringContaining('shop is pinned to version 1') }
  await expect(house.client.projects.deleteVersion({ project: 'shop', version: '1' })).rejects.toMatchObject(refused)
  await expect(house.engine.scrapyd.deleteVersion(SHOP, aVersionName('1'))).rejects.toMatchObject(refused)
  await house.client.projects.deleteProject({ project: 'shop' })
  await addVersion('3')
  expect(await shop()).toMatchObject({ activeVersion: '3', settings: { pinnedVersion: null } })
})

test('settings that do not mention the pin leave it unchanged; a version that does not exist cannot be pinned', async () => {
  await pin('1')
  const { pinnedVersion: _pin, ...settings } = (await shop()).settings
  await house.client.projects.configure({ project: 'shop', settings: { ...settings, weight: 2 } })
  expect((await shop()).settings).toMatchObject({ weight: 2, pinnedVersion: '1' })
  await expect(pin('9')).rejects.toMatchObject({ code: 'VERSION_NOT_FOUND' })
})

test('a fleet file pins a version, keeps a pin that it does not mention, and reports a missing pinned version', async () => {
  const { fleetFile } = house.client
  await addVersion('2')
  await pin('1')
  const { yaml } = await fleetFile.export()
  expect(yaml).toContain('pinnedVersion: "1"')
  await fleetFile.apply({
    yaml: yaml.replace(/\n.*pinnedVersion.*/, '').replace('name: shop', 'name: shop\n    weight: 2')
  })
  expect((await shop()).settings).toMatchObject({ weight: 2, pinnedVersion: '1' })
  const { changes } = await fleetFile.apply({ yaml: yaml.replace('pinnedVersion: "1"', 'pinnedVersion: "9"') })
  expect(changes[0]?.notes).toEqual([
    'version 9 of shop is not deployed here: jobs that name no version wait until it is'
  ])
  expect(await shop()).toMatchObject({ activeVersion: null, settings: { pinnedVersion: '9' } })
  await expect(house.client.jobs.run({ project: 'shop', spiders: ['prices'] })).rejects.toMatchObject({
    code: 'VERSION_NOT_FOUND',
    message: 'shop is pinned to version "9", which is missing. Upload it, or pin another version.'
  })
  await addVersion('9')
  expect((await shop()).activeVersion).toBe('9')
  await house.client.jobs.run({ project: 'shop', spiders: ['prices'] })
})

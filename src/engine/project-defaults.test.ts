import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  JobDefaults,
  type ProjectSettings,
  RunTemplate,
  ScheduleSettings,
  SECRET_MASK
} from '../shared/contract/index.ts'
import { aNodeId, aProjectName } from '../shared/testing/ids.ts'
import { type EngineWithFakeNode, openEngineWithFakeNode } from './testing/engine-with-fake-node.ts'

const SHOP = aProjectName('shop')
let house: EngineWithFakeNode
let nodeId: string

beforeEach(async () => {
  house = await openEngineWithFakeNode()
  nodeId = await house.prepare()
})
afterEach(() => house.remove())

const shop = () => house.client.projects.get({ project: 'shop' })
async function configure(defaults: Partial<JobDefaults>, ofPrices: Partial<JobDefaults> = {}) {
  const settings = (await shop()).settings
  return house.client.projects.configure({
    project: 'shop',
    settings: {
      ...settings,
      defaults: JobDefaults.parse(defaults),
      spiderDefaults: { prices: JobDefaults.parse(ofPrices) }
    }
  })
}
const newest = async () => (await house.client.jobs.list({ limit: 1 })).jobs[0]!

test('orders of every door start from the defaults of their project and spider', async () => {
  const { client, engine, clock } = house
  await configure(
    { args: { country: 'de', page: '1' }, settings: { LOG_LEVEL: 'INFO' }, priority: 3 },
    {
      ...{ args: { page: '2' }, env: { PROXY: 'http://proxy' } }
    }
  )
  const inherited = {
    ...{ args: { country: 'de', page: '2' }, settings: { LOG_LEVEL: 'INFO' } },
    ...{ env: { PROXY: 'http://proxy' }, priority: 3 }
  }
  const template = RunTemplate.parse({ project: 'shop', spiders: ['prices'] })
  const chain = { name: 'then', enabled: true, project: 'shop', spider: 'prices', on: 'ended' as const, run: template }
  await client.chains.create(chain)
  await client.jobs.run({ project: 'shop', spiders: ['prices'] })
  await client.jobs.runMany({ jobs: [{ project: 'shop', spider: 'prices' }] })
  await engine.scrapyd.schedule({
    ...{ project: SHOP, version: null, spider: 'prices', settings: {}, args: {} },
    ...{ priority: null, jobid: null }
  })
  await client.crawl({ spider: 'prices', project: 'shop' })
  const rules = [{ kind: 'once', atMs: clock.nowMs() + 1_000 }]
  await client.schedules.create(ScheduleSettings.parse({ name: 'once', zone: 'UTC', rules, jobs: [template] }))
  const jobsOf = async () => (await client.jobs.list({ spider: 'prices' })).jobs
  await house.until(async () => {
    house.node.endAll()
    const sources = (await jobsOf()).map(({ source }) => source)
    return sources.includes('schedule') && sources.includes('chain')
  })
  const jobs = await jobsOf()
  expect(new Set(jobs.map(({ source }) => source))).toEqual(new Set(['api', 'scrapyd', 'crawl', 'schedule', 'chain']))
  for (const job of jobs) expect(job).toMatchObject(inherited)
  expect(jobs.every(({ args }) => Object.keys(args).length === 2)).toBe(true)
})

test('explicit values win, single defaults can be left out, and a retry keeps what its job had', async () => {
  await configure({ args: { country: 'de', page: '1' }, tags: ['eu'] })
  await house.client.system.setPaused({ paused: true })
  const { jobs } = await house.client.jobs.run({
    ...{ project: 'shop', spiders: ['prices'], args: { page: '9' }, withoutDefaults: ['country'], nodeId: null }
  })
  expect(jobs[0]).toMatchObject({ args: { page: '9' }, placement: { nodeId: null, tags: [] } })
  expect(jobs[0]!.args).toEqual({ page: '9' })
  await configure({ args: { other: '1' } })
  const again = await house.client.jobs.retry({ ids: [jobs[0]!.id] })
  expect(again.jobs[0]!.args).toEqual({ page: '9' })
})

test('secrets among defaults are sealed, masked everywhere, kept when sent back masked, and opened for the node', async () => {
  const secret = { args: { key: 'hush-1' }, secretNames: ['key'] }
  expect((await configure(secret)).settings.defaults.args).toEqual({ key: SECRET_MASK })
  // As a form does: everything is sent back as it was shown.
  const { settings } = await shop()
  await house.client.projects.configure({ project: 'shop', settings: { ...settings, weight: 2 } })
  const { yaml } = await house.client.fleetFile.export()
  const { changes } = await house.client.fleetFile.plan({ yaml: yaml.replace('hush-1', 'hush-2') })
  expect(yaml.match(/hush-1/g)).toHaveLength(1)
  expect(JSON.stringify(changes)).not.toContain('hush')
  await house.client.jobs.run({ project: 'shop', spiders: ['prices'] })
  expect(await newest()).toMatchObject({ args: { key: SECRET_MASK }, secretNames: ['key'] })
  await house.until(async () => house.node.running.length === 1)
  expect(house.node.running[0]?.args).toMatchObject({ key: 'hush-1' })
})

test.each<[string, Partial<JobDefaults>]>([
  ['ARGUMENT_RESERVED', { args: { _job: '1' } }],
  ['NODE_NOT_FOUND', { nodeId: aNodeId('nobody') }],
  ['BAD_INPUT', { secretNames: ['missing'] }],
  ['BAD_INPUT', { args: { key: SECRET_MASK }, secretNames: ['key'] }]
])('refuses defaults that no order could start from: %s %j', async (code, defaults) => {
  await expect(configure(defaults)).rejects.toMatchObject({ code })
  expect((await shop()).settings.defaults).toEqual(JobDefaults.parse({}))
})

test('a fleet file keeps defaults, with nodes by name', async () => {
  await configure({ nodeId: aNodeId(nodeId) }, { args: { page: '2' }, env: { PROXY: 'x' } })
  const before = (await shop()).settings
  const { yaml } = await house.client.fleetFile.export()
  expect(yaml).toContain('node: berlin')
  const { settings }: { settings: ProjectSettings } = await shop()
  await configure({})
  await house.client.fleetFile.apply({ yaml })
  expect((await shop()).settings).toEqual(before)
  expect(settings).toEqual(before)
  await expect(
    house.client.fleetFile.plan({ yaml: yaml.replace('node: berlin', 'node: paris') })
  ).rejects.toMatchObject({ code: 'FLEET_FILE_INVALID', message: expect.stringContaining('project shop') })
})

test('a node that cannot set environment variables runs the job without them, and the timeline says so', async () => {
  await configure({ env: { PROXY: 'x' } })
  const { jobs } = await house.client.jobs.run({ project: 'shop', spiders: ['prices'] })
  await house.until(async () => (await house.client.jobs.get({ id: jobs[0]!.id })).job.state === 'running')
  const { timeline } = await house.client.jobs.get({ id: jobs[0]!.id })
  const said = house.node.traits.setsEnvironment ? undefined : 'remote nodes cannot set environment variables'
  expect(timeline.find(({ kind }) => kind === 'accepted')?.evidence['env']).toBe(said)
})

import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  JobDefaults,
  type ProjectSettings,
  type ProjectSettingsChange,
  RunTemplate,
  ScheduleSettings,
  SECRET_MASK
} from '../shared/contract/index.ts'
import { ownParts } from '../shared/job-defaults.ts'
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

test('jobs of every endpoint start with the defaults of their project and spider', async () => {
  const { client, engine, clock } = house
  await configure(
    { args: { country: 'de', page: '1' }, settings: { LOG_LEVEL: 'INFO' }, priority: 3 },
    {
      args: { page: '2' },
      env: { PROXY: 'http://proxy' }
    }
  )
  const inherited = {
    args: { country: 'de', page: '2' },
    settings: { LOG_LEVEL: 'INFO' },
    env: { PROXY: 'http://proxy' },
    priority: 3
  }
  const template = RunTemplate.parse({ project: 'shop', spiders: ['prices'] })
  const chain = { name: 'then', enabled: true, project: 'shop', spider: 'prices', on: 'ended' as const, run: template }
  await client.chains.create(chain)
  await client.jobs.run({ project: 'shop', spiders: ['prices'] })
  await client.jobs.runMany({ jobs: [{ project: 'shop', spider: 'prices' }] })
  const order = { settings: {}, args: {}, priority: null, jobid: null }
  await engine.scrapyd.schedule({ project: SHOP, version: null, spider: 'prices' }, () => order)
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
    project: 'shop',
    spiders: ['prices'],
    args: { page: '9' },
    withoutDefaults: ['country'],
    nodeId: null
  })
  expect(jobs[0]).toMatchObject({ args: { page: '9' }, placement: { nodeId: null, tags: [] } })
  expect(jobs[0]!.args).toEqual({ page: '9' })
  await configure({ args: { other: '1' } })
  const again = await house.client.jobs.retry({ ids: [jobs[0]!.id] })
  expect(again.jobs[0]!.args).toEqual({ page: '9' })
})

test('a job and its retry say which defaults they took and which they left out', async () => {
  await configure({ args: { country: 'de', page: '1' }, env: { PROXY: 'p' }, priority: 3, tags: ['eu'] })
  await house.client.system.setPaused({ paused: true })
  const order = { project: 'shop', spiders: ['prices'], args: { country: 'fr' }, withoutDefaults: ['page'] }
  const { jobs } = await house.client.jobs.run(order)
  await configure({ args: { country: 'uk' } })
  const again = await house.client.jobs.retry({ ids: [jobs[0]!.id] })
  for (const id of [jobs[0]!.id, again.jobs[0]!.id]) {
    const detail = await house.client.jobs.get({ id })
    expect(detail.timeline[0]?.evidence).toMatchObject({
      fromDefaults: ['env.PROXY', 'priority', 'placement'],
      withoutDefaults: ['page']
    })
    expect(ownParts(detail)).toMatchObject({ args: { country: 'fr' }, env: {}, priority: undefined, tags: undefined })
  }
  const ids = [jobs[0]!.id]
  await house.client.jobs.setPriority({ ids, priority: 9 })
  await house.client.jobs.place({ ids, nodeId: null, tags: ['us'] })
  const changed = ownParts(await house.client.jobs.get({ id: ids[0]! }))
  expect(changed).toMatchObject({ env: {}, priority: 9, nodeId: null, tags: ['us'] })
})

test('a retry keeps the priority and place that an operator gave its job, and does not call them defaults', async () => {
  await configure({ args: { page: '1' }, priority: 3, tags: ['eu'] })
  await house.client.system.setPaused({ paused: true })
  const order = { project: 'shop', spiders: ['prices'] }
  const [set, moved, first] = await Promise.all(
    [order, order, { ...order, priority: 9 }].map(async (one) => (await house.client.jobs.run(one)).jobs[0]!.id)
  )
  await house.client.jobs.setPriority({ ids: [set!], priority: 9 })
  await house.client.jobs.place({ ids: [set!, moved!], nodeId: null, tags: ['us'] })
  await house.client.jobs.reorder({ ids: [moved!], to: { before: first! } })
  const { jobs } = await house.client.jobs.retry({ ids: [set!, moved!] })
  for (const { id } of jobs) {
    const copy = await house.client.jobs.get({ id })
    expect(copy.timeline[0]?.evidence['fromDefaults']).toEqual(['args.page'])
    expect(ownParts(copy)).toMatchObject({ args: {}, priority: 9, nodeId: null, tags: ['us'] })
  }
})

test('concurrent changes of different settings all take effect, and the secrets among the others stay', async () => {
  const { client } = house
  await configure(
    { args: { key: 'hush-1' }, secretNames: ['key'] },
    { args: { token: 'hush-2' }, secretNames: ['token'], priority: 1 }
  )
  const change = (settings: ProjectSettingsChange) => client.projects.changeSettings({ project: 'shop', settings })
  await Promise.all([
    change({ weight: 2 }),
    client.projects.setPaused({ project: 'shop', paused: true }),
    change({ noOverlap: true }),
    change({ spiderDefaults: { other: JobDefaults.parse({ priority: 7 }) } }),
    change({ cancelWaitSeconds: 5 }),
    client.projects.pinVersion({ project: 'shop', version: '1' }),
    change({ spiderDefaults: { gone: JobDefaults.parse({ priority: 8 }) } })
  ])
  await change({ spiderDefaults: { gone: null } })
  const { settings } = await shop()
  expect(settings).toMatchObject({
    weight: 2,
    paused: true,
    noOverlap: true,
    cancelWaitSeconds: 5,
    pinnedVersion: '1',
    defaults: { args: { key: SECRET_MASK } },
    spiderDefaults: { prices: { priority: 1 }, other: { priority: 7 } }
  })
  expect(Object.keys(settings.spiderDefaults).sort()).toEqual(['other', 'prices'])
  await client.projects.setPaused({ project: 'shop', paused: false })
  await client.jobs.run({ project: 'shop', spiders: ['prices'] })
  await house.until(async () => house.node.running.length === 1)
  expect(house.node.running[0]?.args).toMatchObject({ key: 'hush-1', token: 'hush-2' })
})

test('a changed setting is validated like a whole configuration, and a refusal changes nothing', async () => {
  const before = (await shop()).settings
  const codeOf = (settings: ProjectSettingsChange) =>
    house.client.projects.changeSettings({ project: 'shop', settings }).then(
      () => null,
      (error: { code: string }) => error.code
    )
  const spiders = Array.from({ length: 2_001 }, (_, index) => [`s${index}`, JobDefaults.parse({ priority: 1 })])
  expect(await codeOf({ defaults: JobDefaults.parse({ nodeId: 'n-000000000000' }) })).toBe('NODE_NOT_FOUND')
  expect(await codeOf({ defaults: JobDefaults.parse({ args: { _job: 'x' } }) })).toBe('ARGUMENT_RESERVED')
  expect(await codeOf({ spiderDefaults: Object.fromEntries(spiders) })).toBe('BAD_INPUT')
  expect((await shop()).settings).toEqual(before)
})

test('secrets among defaults are encrypted, masked everywhere, kept when sent back masked, and decrypted for the node', async () => {
  const secret = { args: { key: 'hush-1' }, secretNames: ['key'] }
  expect((await configure(secret)).settings.defaults.args).toEqual({ key: SECRET_MASK })
  // As in a form, everything is sent back as it was displayed.
  const { settings } = await shop()
  await house.client.projects.configure({ project: 'shop', settings: { ...settings, weight: 2 } })
  const { yaml } = await house.client.fleetFile.export()
  expect(yaml).toContain(SECRET_MASK)
  expect(yaml).not.toContain('hush')
  const { changes } = await house.client.fleetFile.plan({ yaml: yaml.replace(SECRET_MASK, 'hush-2') })
  expect(changes).toMatchObject([{ noun: 'project', name: 'shop', fields: [{ name: 'defaults' }] }])
  expect(JSON.stringify(changes)).not.toContain('hush')
  await house.client.jobs.run({ project: 'shop', spiders: ['prices'] })
  expect(await newest()).toMatchObject({ args: { key: SECRET_MASK }, secretNames: ['key'] })
  await house.until(async () => house.node.running.length === 1)
  expect(house.node.running[0]?.args).toMatchObject({ key: 'hush-1' })
})

test('an export has dots for the secrets of a project and its spiders, and changes nothing when it is applied unchanged', async () => {
  await configure(
    { args: { key: 'hush-1' }, env: { TOKEN: 'hush-2' }, secretNames: ['key', 'TOKEN'] },
    { settings: { PASSWORD: 'hush-3' }, secretNames: ['PASSWORD'] }
  )
  const { yaml } = await house.client.fleetFile.export()
  expect(yaml).not.toContain('hush')
  expect(yaml.split(SECRET_MASK)).toHaveLength(4)
  expect(await house.client.fleetFile.apply({ yaml, prune: true })).toMatchObject({ changes: [] })
  await house.client.fleetFile.apply({ yaml: yaml.replace('name: shop', 'name: shop\n    weight: 3') })
  expect((await shop()).settings.weight).toBe(3)
  await house.client.jobs.run({ project: 'shop', spiders: ['prices'] })
  await house.until(async () => house.node.running.length === 1)
  expect(house.node.running[0]).toMatchObject({ args: { key: 'hush-1' }, settings: { PASSWORD: 'hush-3' } })
})

test('a value that replaces a secret default is secret too, even if it is not marked: of a spider or of an order', async () => {
  await configure(
    { args: { key: 'hush-1' }, settings: { API_KEY: 'hush-2' }, secretNames: ['key', 'API_KEY'] },
    { args: { key: 'x' }, env: { API_KEY: 'y' } }
  )
  const masked = { args: { key: SECRET_MASK }, settings: { API_KEY: SECRET_MASK }, env: { API_KEY: SECRET_MASK } }
  await house.client.jobs.run({ project: 'shop', spiders: ['prices'] })
  expect(await newest()).toMatchObject(masked)
  await house.until(async () => house.node.running.length === 1)
  expect(house.node.running[0]).toMatchObject({ args: { key: 'x' }, settings: { API_KEY: 'hush-2' } })
  house.node.endAll()
  await house.client.jobs.run({ project: 'shop', spiders: ['prices'], args: { key: 'z' } })
  expect(await newest()).toMatchObject(masked)
  await house.until(async () => house.node.running.length === 1 && house.node.running[0]?.args['key'] === 'z')
})

test.each<[string, Partial<JobDefaults>]>([
  ['ARGUMENT_RESERVED', { args: { _job: '1' } }],
  ['NODE_NOT_FOUND', { nodeId: aNodeId('nobody') }],
  ['BAD_INPUT', { secretNames: ['missing'] }],
  ['BAD_INPUT', { args: { key: SECRET_MASK }, secretNames: ['key'] }]
])('refuses defaults that no order could use: %s %j', async (code, defaults) => {
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

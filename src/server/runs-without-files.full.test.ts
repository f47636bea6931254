import { createRouterClient } from '@orpc/server'
import { expect, it } from 'vitest'
import { givenRights } from '../engine/access/given-roles.ts'
import { WITHOUT_FILES } from '../engine/access/run-rights.ts'
import { permissionsOf } from '../shared/permissions.ts'
import { branded } from '../shared/testing/ids.ts'
import { openWithLimitedUser } from './testing/limited-client.ts'

const SPELLED = { urls: '["fi\tle:///etc/passwd"]' }
const RUN = { project: 'shop', spiders: ['x'], args: SPELLED }
const HOURLY = { rules: [{ kind: 'interval' as const, everySeconds: 3_600, anchorMs: 0 }], zone: 'UTC' }
const CHAIN = { name: 'c', project: 'shop', spider: '*', on: 'ended' as const }

async function open() {
  const opened = await openWithLimitedUser({ shop: 'operator', news: 'deployer' })
  const { client, clock } = opened
  const settingsOf = async (id: string) => (await client.jobs.get({ id: branded(id) })).job.settings
  const newest = async () => (await client.jobs.list({})).jobs[0]!
  /** Restarts, retries and firings need different times. */
  const later = () => clock.advanceBy(1_000)
  return { ...opened, settingsOf, newest, later }
}

it('any run that an operator orders, once or as a crawl, cannot read files', async () => {
  const { limited, settingsOf, newest } = await open()
  const { ids } = await limited.jobs.runMany({ jobs: [{ project: 'shop', spider: 'x', args: SPELLED }] })
  const urls = { project: 'shop', spider: 'x', start_urls: ['\u0001fi\nle:///etc/passwd'], params: { depth: 1 } }
  for (const id of [
    (await limited.jobs.run({ ...RUN, settings: { DOWNLOAD_DELAY: '1' } })).jobs[0]!.id,
    ids[0]!,
    String((await limited.crawl(urls)).body.job_id)
  ]) {
    expect(await settingsOf(id)).toMatchObject(WITHOUT_FILES)
  }
  expect((await newest()).project).toBe('shop')
})

it('a run of a user who may choose code keeps the right to read files', async () => {
  const { client, limited, settingsOf } = await open()
  for (const job of [
    (await client.jobs.run({ ...RUN, args: { url: 'file:///srv/list.html' } })).jobs[0]!,
    (await limited.jobs.run({ ...RUN, project: 'news' })).jobs[0]!
  ]) {
    expect(await settingsOf(job.id)).toEqual({})
  }
})

it("runs of an operator's schedule cannot read files: when it fires, runs now or is backfilled, by any user", async () => {
  const { client, limited, settingsOf, later, clock } = await open()
  const { id } = (await limited.schedules.create({ ...HOURLY, name: 'n', jobs: [RUN] })).schedule
  await clock.advanceBy(3_600_000)
  const fired = (await client.jobs.list({})).jobs
  expect(fired.map(({ source }) => source)).toEqual(['schedule'])
  expect(await settingsOf(fired[0]!.id)).toEqual(WITHOUT_FILES)
  await later()
  const { firing } = await client.schedules.runNow({ id })
  expect(await settingsOf(firing.jobIds[0]!)).toEqual(WITHOUT_FILES)
  const fromMs = clock.nowMs() - 20 * 3_600_000
  await client.schedules.backfill({ id, fromMs, untilMs: fromMs + 3_600_000 - 1 })
  await clock.advanceBy(100)
  const all = (await client.jobs.list({})).jobs
  expect(all).toHaveLength(3)
  for (const job of all) expect(await settingsOf(job.id)).toEqual(WITHOUT_FILES)
})

it("runs of an owner's schedule cannot read files once an operator has changed it, and it can be sent back as it is shown", async () => {
  const { client, limited } = await open()
  const { schedule } = await client.schedules.create({ ...HOURLY, name: 'n', jobs: [RUN] })
  expect(schedule.jobs[0]!.settings).toEqual({})
  const input = { id: schedule.id, ...HOURLY, name: 'n' }
  for (let count = 0; count < 2; count += 1) {
    const { jobs } = (await client.schedules.list({})).schedules[0]!
    const changed = await limited.schedules.update({ ...input, jobs } as never)
    expect(changed.schedule.jobs[0]!.settings).toEqual(WITHOUT_FILES)
  }
})

it("runs of an operator's repeated crawl order cannot read files", async () => {
  const { client, limited, clock, settingsOf } = await open()
  await limited.crawl({ project: 'shop', spider: 'x', start_urls: ['fi\rle:///etc/passwd'], interval: 3_600 })
  await clock.advanceBy(3_600_000)
  const [job] = (await client.jobs.list({})).jobs
  expect(await settingsOf(job!.id)).toMatchObject(WITHOUT_FILES)
})

it("runs of an operator's chain cannot read files, and neither can those of an owner's chain after a run of an operator", async () => {
  const { client, limited, settingsOf, node, until } = await open()
  await limited.chains.create({ ...CHAIN, spider: 'x', run: { project: 'shop', spiders: ['y'] } })
  await client.chains.create({ ...CHAIN, spider: 'z', run: { project: 'shop', spiders: ['y'] } })
  const madeAfter = async (job: { id: string }) => {
    const end = async (isIt: (spider: string) => boolean) => {
      await until(async () => node.running.some(({ spider }) => isIt(spider)))
      node.end(node.running.find(({ spider }) => isIt(spider))!.jobid)
    }
    await end((spider) => spider !== 'y')
    await end((spider) => spider === 'y')
    const [made] = (await client.jobs.list({})).jobs
    expect(made!.id).not.toBe(job.id)
    return settingsOf(made!.id)
  }
  expect(await madeAfter((await client.jobs.run(RUN)).jobs[0]!)).toEqual(WITHOUT_FILES)
  const z = { ...RUN, spiders: ['z'] }
  expect(await madeAfter((await limited.jobs.run(z)).jobs[0]!)).toEqual(WITHOUT_FILES)
  expect(await madeAfter((await client.jobs.run(z)).jobs[0]!)).toEqual({})
})

it("runs of an owner's chain into another project cannot read files if it passes on facts of the run", async () => {
  const { client, limited, settingsOf, node, until, later } = await open()
  const values = { number: '{stats.item_scraped_count}' }
  const chain = { ...CHAIN, project: 'news', spider: 'x' }
  for (const [spider, args] of [
    ['y', values],
    ['z', {}]
  ] as const)
    await client.chains.create({ ...chain, name: spider, run: { project: 'shop', spiders: [spider], args } })
  await client.chains.create({ ...chain, name: 'own', run: { project: 'news', spiders: ['v'], args: values } })
  // A deployer of news decides about the code of news, not about what a run of shop can read.
  await limited.jobs.run({ project: 'news', spiders: ['x'] })
  await until(async () => node.running.length === 1)
  await later()
  node.end(node.running[0]!.jobid)
  const made = async () => (await client.jobs.list({})).jobs.filter(({ source }) => source === 'chain')
  await until(async () => (await made()).length === 3)
  const settings = await Promise.all((await made()).map(async ({ id, spider }) => [spider, await settingsOf(id)]))
  expect(Object.fromEntries(settings)).toEqual({ y: WITHOUT_FILES, z: {}, v: {} })
})

it('a fleet file of a user who may not choose code changes nothing when it is applied', async () => {
  const { client, engine, principal } = await open()
  const permissions = permissionsOf(['read', 'jobs.run', 'schedules.change', 'fleet.apply'])
  const rights = givenRights({ role: 'deck', projects: {} }, () => permissions)
  const context = { principal: { ...principal, rights }, source: 'api' as const }
  const deck = createRouterClient(await engine.router(), { context })
  await client.schedules.create({ ...HOURLY, name: 'n', jobs: [{ ...RUN, args: {} }] })
  await client.chains.create({ ...CHAIN, run: { project: 'shop', spiders: ['y'] } })
  const { yaml } = await client.fleetFile.export()
  const changed = yaml.replaceAll(/(spiders:\s*\[? ?-?\s*)[xy]\b/g, '$1v')
  expect(changed).not.toBe(yaml)
  const namesIn = async (by: typeof client) =>
    (await by.fleetFile.plan({ yaml: changed })).changes.map(({ noun, name }) => `${noun} ${name}`)
  expect(await namesIn(deck)).toEqual(['schedule n', 'chain c'])
  await deck.fleetFile.apply({ yaml: changed })
  expect(await namesIn(deck)).toEqual([])
  // For users who may choose code, the same file removes the setting.
  expect(await namesIn(client)).toEqual(['schedule n', 'chain c'])
})

it('a retry of such a run cannot read files, whichever user requests it, and the node gets that with the job', async () => {
  const { client, limited, settingsOf, node, until } = await open()
  const { id } = (await limited.jobs.run(RUN)).jobs[0]!
  await until(async () => node.running.length === 1)
  expect(node.running[0]!.settings).toEqual(WITHOUT_FILES)
  await client.jobs.cancel({ ids: [id] })
  const [again] = (await client.jobs.retry({ ids: [id] })).jobs
  expect(await settingsOf(again!.id)).toEqual(WITHOUT_FILES)
})

it.each<{ settings?: Record<string, string>; secretNames?: string[] }>([
  { settings: { DOWNLOAD_HANDLERS_BASE: '{"file": "scrapy.core.downloader.handlers.file.FileDownloadHandler"}' } },
  { settings: { DOWNLOAD_HANDLERS: '{"file": "scrapy.core.downloader.handlers.file.FileDownloadHandler"}' } },
  { secretNames: ['DOWNLOAD_HANDLERS_BASE'] },
  { settings: WITHOUT_FILES, secretNames: ['DOWNLOAD_HANDLERS_BASE'] }
])('an operator can neither remove nor hide this restriction: %j', async (given) => {
  const { limited } = await open()
  await expect(limited.jobs.run({ ...RUN, ...given })).rejects.toMatchObject({ code: 'ROLE_REQUIRED' })
  const settings = { ...HOURLY, name: 'n', jobs: [{ ...RUN, ...given }] }
  await expect(limited.schedules.create(settings)).rejects.toMatchObject({ code: 'ROLE_REQUIRED' })
})

it('defaults of the project do not remove this restriction', async () => {
  const { client, limited, settingsOf } = await open()
  const defaults = { settings: { DOWNLOAD_HANDLERS_BASE: '{"file": "own.Handler"}' } }
  await client.projects.changeSettings({ project: 'shop', settings: { defaults } } as never)
  const { id } = (await limited.jobs.run(RUN)).jobs[0]!
  expect(await settingsOf(id)).toEqual(WITHOUT_FILES)
})

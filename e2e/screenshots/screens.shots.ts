import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type Page, test } from '@playwright/test'
import { buildDemoEgg } from '../support/demo-egg.ts'
import { makeLoginLink } from '../support/login-link.ts'
import { type Scrapyd, startScrapydFleet } from '../support/scrapyd-fleet.ts'
import { LOCAL_NODE_ID } from '../../src/shared/ids.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../../src/engine/testing/until.ts'
import { ALERT_FIRST_SCREENS, ALERT_SCREENS, fillAlerts } from './alerts.ts'
import { AUDIT_SCREENS, fillAudit } from './audit.ts'
import { ACCESS_ALONE_SCREENS, ACCESS_SCREENS, fillAccess } from './access.ts'
import { ALONE_SCREENS, ENGINE_SCREENS, type PicturedEngines, startEngines } from './engines.ts'
import { fillItems, ITEM_SCREENS } from './items.ts'
import { fillPast, fillResults, RESULT_SCREENS } from './results.ts'
import { EMPTY_SCREENS, fillSchedules, PICTURE_CONFIGURATION, SCHEDULE_SCREENS } from './schedules.ts'

const root = resolve(import.meta.dirname, '../..')
const pictures = join(root, '.cache/screenshots')
const SIZES = [
  { name: '1440', width: 1440, height: 900 },
  { name: '1280', width: 1280, height: 720 },
  { name: '390', width: 390, height: 844 }
]
const SCHEMES = ['light', 'dark'] as const
/** Shown in the README. Copied to docs/images if SCRAPDECK_DOCS_IMAGES is set. */
const FOR_README = ['overview-light-1440', 'jobs-dark-1440', 'logs-dark-1440']

let service: Service
let fresh: Service
let engines: PicturedEngines | null = null
let scrapyds: Scrapyd[] = []
const configuration = mkdtempSync(join(tmpdir(), 'scrapdeck-pictures-'))
const dataDirectory = join(configuration, 'data')
/**
 * The screens to take. SCRAPDECK_SCREENS=^schedules takes only these screens and creates only the data that they
 * need.
 */
const only = new RegExp(process.env['SCRAPDECK_SCREENS'] ?? '')

test.beforeAll(async () => {
  mkdirSync(pictures, { recursive: true })
  scrapyds = await startScrapydFleet(Array.from({ length: 3 }, () => ({ maxProc: 4 })))
  const file = join(configuration, 'scrapyd.conf')
  writeFileSync(file, PICTURE_CONFIGURATION)
  mkdirSync(dataDirectory)
  const wants = (screens: object) => Object.keys(screens).some((name) => only.test(name))
  if (wants(RESULT_SCREENS)) await fillPast(dataDirectory)
  ;[service, fresh] = await Promise.all([
    startService({ dataDirectory, localSlots: 2, arguments: ['--config', file] }),
    startService({ localSlots: 2 })
  ])
  if (wants(ENGINE_SCREENS)) engines = await startEngines()
  await deploy()
  if (wants(SCHEDULE_SCREENS)) await fillSchedules(service)
  if (wants(ITEM_SCREENS)) await fillItems(service)
  if (wants(AUDIT_SCREENS)) await fillAudit(service)
  if (wants(ACCESS_SCREENS)) await fillAccess(service)
  if (wants(RESULT_SCREENS)) await fillResults(service)
  if (wants(ALERT_SCREENS)) await fillAlerts(service)
  if (wants(SCREENS)) await fillFleet()
})

test.afterAll(async () => {
  await engines?.stop()
  await Promise.all([service.stop(), fresh.stop(), ...scrapyds.map((scrapyd) => scrapyd.stop())])
  rmSync(configuration, { recursive: true, force: true })
})

async function deploy(): Promise<void> {
  const { client } = service
  const names = ['eu-1', 'eu-2', 'us-1']
  for (const [index, { url }] of scrapyds.entries()) {
    const name = names[index] ?? `node-${index}`
    await client.nodes.add({ url, name, slots: 4, tags: [name.slice(0, 2)] })
  }
  const file = new File([new Uint8Array(await buildDemoEgg())], 'demo.egg')
  await client.projects.upload({ file, project: 'shop', version: 'r41' })
  await client.projects.upload({ file, project: 'shop', version: 'r42' })
  await client.projects.upload({ file, project: 'news', version: '2026-11-18' })
}

async function fillFleet(): Promise<void> {
  const { client } = service
  const run = async (project: string, spider: string, count: number, args: Record<string, string> = {}) => {
    const spiders = Array.from({ length: count }, () => spider)
    return (await client.jobs.run({ project, spiders, args })).jobs.map(({ id }) => id)
  }
  const first = [
    ...(await run('shop', 'prices', 8)),
    ...(await run('news', 'quotes', 8, { pages: '3', delay: '0.1' })),
    ...(await run('shop', 'broken', 2))
  ]
  const states = () => Promise.all(first.map(async (id) => (await client.jobs.status({ id })).state))
  await until('the first jobs to end', states, (all) => all.every((state) => state === 'ended'), 120_000)
  await runOnLocalNode()
  const external = new URLSearchParams({ project: 'shop', spider: 'slow', seconds: '600' })
  await fetch(new URL('schedule.json', scrapyds[0]!.url), { method: 'POST', body: external })
  await run('shop', 'slow', 6, { seconds: '600' })
  await run('news', 'slow', 4, { seconds: '600' })
  await run('shop', 'prices', 3, { pages: '200', delay: '2' })
  await until(
    'a busy fleet',
    () => client.jobs.list({ status: ['running'], limit: 500 }),
    ({ jobs }) => jobs.length >= 10,
    60_000
  )
  await fillQueue()
  await scrapyds[2]?.kill()
  await until(
    'the killed node to be seen as down',
    () => client.nodes.list(),
    ({ nodes }) => nodes.some(({ health }) => health === 'down'),
    60_000
  )
}

async function fillQueue(): Promise<void> {
  const { client } = service
  const everywhere = { project: null, spider: null, tag: null, perNode: false }
  await client.queue.setLimits({
    limits: [
      { ...everywhere, id: '1', project: 'news', max: 4 },
      { ...everywhere, id: '2', spider: 'price*', perNode: true, max: 1 },
      { ...everywhere, id: '3', tag: 'eu', max: 20 }
    ]
  })
  const args = { pages: '400', delay: '1' }
  const { jobs } = await client.jobs.run({ project: 'shop', spiders: Array.from({ length: 6 }, () => 'quotes'), args })
  await client.jobs.run({ project: 'news', spiders: ['slow', 'slow'], args: { seconds: '600' } })
  await client.jobs.run({ project: 'shop', spiders: ['quotes'], args, tags: ['gpu'] })
  await client.jobs.run({ project: 'shop', spiders: ['quotes'], args, notBeforeMs: Date.now() + 5 * 3_600_000 })
  await client.jobs.run({
    project: 'shop',
    spiders: ['prices'],
    after: [{ jobId: jobs[0]?.id ?? '', on: 'succeeded' }]
  })
}

async function runOnLocalNode(): Promise<void> {
  const { client } = service
  await client.projects.configure({
    project: 'shop',
    settings: { python: { kind: 'default' }, limits: { wallSeconds: 5400, silentSeconds: 600, memoryMegabytes: 512 } }
  })
  await client.projects.configure({
    project: 'news',
    settings: { python: { kind: 'requirements', text: 'scrapy\n./not-there\n' }, limits: null }
  })
  const secret = { nodeId: LOCAL_NODE_ID, secretNames: ['api_key'] }
  const args = { seconds: '600', api_key: 'correct-horse' }
  const limited = await client.jobs.run({
    project: 'shop',
    spiders: ['slow'],
    args,
    ...secret,
    limits: { wallSeconds: 5 }
  })
  await until(
    'the limit',
    () => client.jobs.get({ id: limited.jobs[0]?.id ?? '' }),
    ({ job }) => job.state === 'ended',
    60_000
  )
  await client.jobs.run({ project: 'shop', spiders: ['slow'], args, ...secret, limits: { memoryMegabytes: 96 } })
}

async function findLimitedJob(status: 'running' | 'failed'): Promise<string> {
  const { jobs } = await service.client.jobs.list({ status: [status], nodeId: LOCAL_NODE_ID, limit: 100 })
  return jobs.find(({ limits }) => limits !== null)?.id ?? ''
}

const SCREENS: Record<string, (page: Page) => Promise<void>> = {
  overview: (page) => page.goto('#/').then(() => {}),
  jobs: async (page) => {
    // Selects by id, because at 720 px the table may not have rendered the row.
    const { jobs } = await service.client.jobs.list({ status: ['failed'], project: 'shop', limit: 1 })
    await page.goto(`#/jobs?job=${jobs[0]?.id}`)
  },
  'jobs-all': (page) => page.goto('#/jobs').then(() => {}),
  'job-log': async (page) => {
    await page.goto('#/jobs?status=running')
    await page.getByRole('grid', { name: 'Jobs' }).getByRole('row').filter({ hasText: 'running' }).first().click()
    await page.getByRole('tab', { name: 'Log' }).click()
  },
  'job-usage': async (page) => {
    await page.goto(`#/jobs?job=${await findLimitedJob('running')}&tab=stats`)
    await page.getByRole('slider').first().focus()
    await page.keyboard.press('Home')
  },
  'job-limit': async (page) => {
    await page.goto(`#/jobs?job=${await findLimitedJob('failed')}&tab=stats`)
  },
  'job-arguments': async (page) => {
    await page.goto(`#/jobs?job=${await findLimitedJob('failed')}&tab=arguments`)
  },
  'jobs-queued': (page) => page.goto('#/jobs?status=queued').then(() => {}),
  'jobs-marked': async (page) => {
    await page.goto('#/jobs')
    await page.getByRole('checkbox', { name: 'Select all rows shown' }).click()
  },
  'job-unknown': async (page) => {
    const { nodes } = await service.client.nodes.list()
    const down = nodes.find(({ health }) => health === 'down')
    const { jobs } = await service.client.jobs.list({ nodeId: down?.id, status: ['running', 'starting'], limit: 1 })
    await page.goto(`#/jobs?job=${jobs[0]?.id}`)
  },
  queue: (page) => page.goto('#/queue').then(() => {}),
  projects: async (page) => {
    await page.goto('#/projects?project=shop')
  },
  'projects-own-python': async (page) => {
    await page.goto('#/projects?project=news')
  },
  'projects-settings': async (page) => {
    await page.goto('#/projects?project=news')
    await page.getByRole('button', { name: 'Python and limits…' }).click()
  },
  'projects-spider-rules': async (page) => {
    await page.goto('#/projects?project=shop')
    await page.getByRole('button', { name: 'Edit rules for a spider…' }).click()
  },
  'projects-build-log': async (page) => {
    await page.goto('#/projects?project=news&log=true')
  },
  'nodes-local': async (page) => {
    await page.goto(`#/nodes?node=${LOCAL_NODE_ID}`)
  },
  nodes: async (page) => {
    const { nodes } = await service.client.nodes.list()
    await page.goto(`#/nodes?node=${nodes.find(({ name }) => name === 'eu-1')?.id}`)
  },
  'nodes-all': (page) => page.goto('#/nodes').then(() => {}),
  'nodes-add': async (page) => {
    await page.goto('#/nodes?add=true')
    await page
      .getByRole('textbox', { name: 'Addresses of Scrapyd servers' })
      .fill(`127.0.0.1:9\n${scrapyds[0]?.url}\nnot a url`)
    await page.waitForTimeout(1500)
  },
  'nodes-add-pulling': async (page) => {
    await page.goto('#/nodes?add=true')
    await page.getByText('Pulling Scrapyd').click()
  },
  'nodes-add-kubernetes': async (page) => {
    await page.goto('#/nodes?add=true')
    await page.getByText('Kubernetes').first().click()
  },
  logs: async (page) => {
    const { jobs } = await service.client.jobs.list({ status: ['running'], limit: 500 })
    const { jobs: ended } = await service.client.jobs.list({ status: ['succeeded'], project: 'news', limit: 5 })
    // Starts with a log without errors, because error lines name directories of this machine.
    const quotes = ended.find(({ spider }) => spider === 'quotes')
    const prices = jobs.find(({ spider }) => spider === 'prices')
    const ids = [quotes, prices].flatMap((job) => (job ? [job.id] : []))
    await page.goto(`#/logs?${ids.map((id) => `jobs=${id}`).join('&')}&job=${ids[0]}`)
  },
  settings: (page) => page.goto('#/settings').then(() => {}),
  run: async (page) => {
    await page.goto('#/jobs')
    await page.getByRole('banner').getByRole('button', { name: /^Run/ }).click()
  },
  'run-more': async (page) => {
    await page.goto('#/jobs')
    await page.getByRole('banner').getByRole('button', { name: /^Run/ }).click()
    await page.getByRole('button', { name: /^More/ }).click()
    await page.getByLabel('Attempts').fill('3')
  },
  'run-limits': async (page) => {
    await page.goto(`#/jobs?job=${await findLimitedJob('failed')}`)
    await page.getByRole('button', { name: 'Run again…' }).click()
    await page.getByRole('button', { name: /^Limits/ }).click()
  },
  palette: async (page) => {
    await page.goto('#/')
    await page.getByRole('button', { name: 'Search or run a command' }).click()
    await page.keyboard.type('shop')
  }
}

for (const scheme of SCHEMES) {
  for (const { name: sizeName, width, height } of SIZES) {
    test(`${scheme} ${sizeName}`, async ({ browser }) => {
      const take = async (from: Service, screens: Record<string, (page: Page) => Promise<void>>) => {
        const wanted = Object.entries(screens).filter(([screen]) => only.test(screen))
        if (wanted.length === 0) return
        const context = await browser.newContext({
          colorScheme: scheme,
          viewport: { width, height },
          baseURL: `${from.address}/ui/`
        })
        const page = await context.newPage()
        await page.goto(await makeLoginLink(from))
        for (const [screen, show] of wanted) {
          await show(page)
          // Waits for live data and lazy screens, so the picture shows no skeleton.
          await page.waitForTimeout(900)
          const file = `${screen}-${scheme}-${sizeName}`
          await page.screenshot({ path: join(pictures, `${file}.png`) })
          if (process.env['SCRAPDECK_DOCS_IMAGES'] && FOR_README.includes(file)) await copyToDocs(page, file)
          // In a dialog with an open list, the first Escape closes only the list.
          for (let times = 0; times < 3; times += 1) await page.keyboard.press('Escape')
          // Unsaved changes would prompt before the next screen.
          const discard = page.getByRole('button', { name: 'Discard changes', exact: true })
          if (await discard.isVisible()) await discard.click()
        }
        await context.close()
      }
      // The access screens come last, because they log in as another user.
      await take(service, {
        ...SCREENS,
        ...RESULT_SCREENS,
        ...ITEM_SCREENS,
        ...SCHEDULE_SCREENS,
        ...AUDIT_SCREENS,
        ...ALERT_SCREENS,
        ...ACCESS_SCREENS
      })
      await take(fresh, { ...EMPTY_SCREENS, ...ALERT_FIRST_SCREENS, ...ALONE_SCREENS, ...ACCESS_ALONE_SCREENS })
      if (engines !== null) await take(engines.shown, ENGINE_SCREENS)
    })
  }
}

/**
 * Copies the picture to the documentation, with the entries of the rail, which `readme-pictures.test.ts` compares
 * with the current ones.
 */
async function copyToDocs(page: Page, file: string): Promise<void> {
  mkdirSync(join(root, 'docs/images'), { recursive: true })
  const rail = await page.getByRole('navigation', { name: 'Screens' }).getByRole('link').allInnerTexts()
  const words = rail.map((text) => text.split('\n')[0]!.trim())
  writeFileSync(join(root, 'docs/images/rail.json'), `${JSON.stringify(words)}\n`)
  copyFileSync(join(pictures, `${file}.png`), join(root, 'docs/images', `${file.replace('-1440', '')}.png`))
}

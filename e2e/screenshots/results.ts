import type { Page } from '@playwright/test'
import { until } from '../../src/engine/testing/until.ts'
import type { JobId } from '../../src/shared/contract/index.ts'
import { LOCAL_NODE_ID } from '../../src/shared/ids.ts'
import { aProjectName } from '../../src/shared/testing/ids.ts'
import { endsEgg, PROJECT } from '../logs/ends-project.ts'
import { fillOldJobs, type OldJob } from '../support/old-jobs.ts'
import type { Client, Service } from '../support/service.ts'

const DAY_MS = 86_400_000

export async function fillPast(dataDirectory: string): Promise<void> {
  const spiders = [
    ['shop', 'prices', 240],
    ['shop', 'stock', 60],
    ['news', 'articles', 120]
  ] as const
  const jobs: OldJob[] = []
  for (let day = 120; day > 1; day -= 6) {
    for (const [project, spider, pages] of spiders) {
      const endedAtMs = Date.now() - day * DAY_MS
      const isLong = project === 'shop' && spider === 'prices' && day < 8
      const log = pastLog(spider, isLong ? 40_000 : pages + day, endedAtMs)
      jobs.push({ project, spider, endedAtMs, log, outcome: day % 5 === 0 ? 'failed' : 'succeeded' })
    }
  }
  const ids = await fillOldJobs(dataDirectory, jobs)
  long = ids.find((_, index) => jobs[index]!.log.length > 1_000_000)!
}

let long: JobId
let prices: JobId
let running: JobId[]

function pastLog(spider: string, pages: number, endedAtMs: number): string {
  const parts: string[] = []
  const stampAt = (index: number) =>
    new Date(endedAtMs - 90_000 + index * 2).toISOString().slice(0, 19).replace('T', ' ')
  const write = (index: number, logger: string, level: string, text: string) =>
    parts.push(`${stampAt(index)} [${logger}] ${level}: ${text}\n`)
  write(0, 'scrapy.utils.log', 'INFO', 'Scrapy 2.13.3 started (bot: shop)')
  write(0, 'scrapy.core.engine', 'INFO', 'Spider opened')
  for (let page = 1; page <= pages; page += 1) {
    const url = `https://shop.example/catalogue/furniture/page-${page}.html?sort=price&currency=EUR`
    write(page, 'scrapy.core.engine', 'DEBUG', `Crawled (200) <GET ${url}> (referer: https://shop.example/catalogue/)`)
    if (page % 3 === 0) {
      write(page, 'scrapy.core.scraper', 'DEBUG', `Scraped from <200 ${url}>`)
      parts.push(`{'name': 'Walnut desk lamp', 'price': ${(page % 90) + 9.95}, 'currency': 'EUR', 'url': '${url}'}\n`)
    }
    if (page % 61 === 0)
      write(page, spider, 'WARNING', `No price on ${url}: the shop shows “sold out” instead, so the item is left out`)
    if (page % 97 === 0) {
      write(page, 'scrapy.core.scraper', 'ERROR', `Spider error processing <GET ${url}> (referer: None)`)
      parts.push(
        'Traceback (most recent call last):\n',
        '  File "/srv/eggs/shop/spiders/prices.py", line 41, in parse_price\n    return Decimal(text)\n',
        "ValueError: could not convert string to float: 'on request'\n"
      )
    }
  }
  write(pages, 'scrapy.core.engine', 'INFO', 'Spider closed (finished)')
  return parts.join('')
}

export async function fillResults({ client }: Service): Promise<void> {
  await client.projects.upload({ file: await endsEgg(), project: PROJECT, version: 'v1' })
  const ended = [
    ...(await run(client, 'shop', ['prices', 'prices', 'broken'], { delay: '0' })),
    ...(await run(client, 'news', ['prices', 'broken'], { delay: '0' })),
    ...(await run(client, PROJECT, ['raises', 'memory', 'imports', 'fine'], {}))
  ]
  prices = ended[0]!
  const hasEnded = async (id: JobId) => (await client.jobs.status({ id })).state === 'ended'
  await until('the runs to end', async () => (await Promise.all(ended.map(hasEnded))).every(Boolean), Boolean, 120_000)
  const { nodes } = await client.nodes.list()
  const remote = nodes.find(({ name }) => name === 'eu-1')!.id
  const other = nodes.find(({ name }) => name === 'eu-2')!.id
  running = [
    ...(await run(client, 'shop', ['prices'], { pages: '9000', delay: '0.1' }, LOCAL_NODE_ID)),
    ...(await run(client, 'news', ['quotes'], { pages: '9000', delay: '0.3' }, remote)),
    ...(await run(client, 'shop', ['slow', 'slow'], { seconds: '3000', delay: '1' }, other))
  ]
  const isRunning = async (id: JobId) => (await client.jobs.get({ id })).job.state === 'running'
  await until(
    'the others to run',
    async () => (await Promise.all(running.map(isRunning))).every(Boolean),
    Boolean,
    60_000
  )
}

async function run(client: Client, project: string, spiders: string[], args: Record<string, string>, nodeId?: string) {
  const { jobs } = await client.jobs.run({
    project: aProjectName(project),
    spiders,
    args,
    ...(nodeId !== undefined && { nodeId: nodeId as never })
  })
  return jobs.map(({ id }) => id)
}

const openLongLog = (page: Page) => page.goto(`#/logs?jobs=${long}&jobs=${running[0]}&job=${long}`)

async function preview(page: Page): Promise<void> {
  await page.goto('#/settings')
  await page.getByRole('button', { name: 'Preview and turn on' }).click()
}

const settled = (page: Page) =>
  page
    .getByTestId('log')
    .first()
    .getByText(/^Line \d/)
    .waitFor()

export const RESULT_SCREENS: Record<string, (page: Page) => Promise<void>> = {
  'logs-live': (page) => page.goto(`#/logs?${running.map((id) => `jobs=${id}`).join('&')}`).then(() => settled(page)),
  'logs-split': (page) =>
    page
      .goto(`#/logs?jobs=${running[0]}&jobs=${running[1]}&job=${running[0]}&beside=${running[1]}`)
      .then(() => settled(page)),
  'logs-merged': async (page) => {
    await page.goto(`#/logs?jobs=${running[2]}&jobs=${running[3]}&job=${running[2]}&beside=${running[3]}&merged=true`)
    await page.getByText('2 live').waitFor()
  },
  'logs-find': async (page) => {
    await openLongLog(page)
    await page.getByText('complete').waitFor()
    await page.getByRole('textbox', { name: 'Search the log' }).fill('sold out')
    await page.getByRole('button', { name: 'List all matches' }).click()
    await page.waitForTimeout(800)
  },
  'logs-go-to': async (page) => {
    await openLongLog(page)
    await page.getByText(/^Line \d/).click()
  },
  'logs-line': (page) => page.goto(`#/logs?jobs=${long}&job=${long}&line=500-502`).then(() => {}),
  'logs-empty': (page) => page.goto('#/logs').then(() => {}),
  'logs-search-first': (page) => page.goto('#/logs/search').then(() => {}),
  'logs-search': async (page) => {
    await page.goto('#/logs/search?q=on+request&project=shop')
    await page.waitForTimeout(800)
  },
  'logs-search-none': (page) => page.goto('#/logs/search?q=nothing-like-this&level=ERROR').then(() => {}),
  errors: (page) => page.goto('#/errors').then(() => {}),
  'errors-group': async (page) => {
    await page.goto('#/errors')
    await page.getByRole('grid', { name: 'Errors' }).getByRole('row').filter({ hasText: 'ValueError' }).first().click()
  },
  'errors-none': (page) => page.goto('#/errors?state=resolved').then(() => {}),
  running: (page) => page.goto('#/running').then(() => {}),
  'job-progress': async (page) => {
    await page.goto(`#/jobs?job=${running[0]}&tab=stats`)
    // The chart appears after two full minutes.
    await page.getByText('Pages per minute').waitFor({ timeout: 150_000 })
  },
  'job-timeline': (page) => page.goto(`#/jobs?job=${prices}`).then(() => {}),
  storage: async (page) => {
    await page.goto('#/settings')
    await page.getByRole('heading', { name: 'Storage' }).evaluate((heading) => heading.scrollIntoView())
  },
  retention: async (page) => {
    await page.goto('#/settings')
    await page.getByRole('heading', { name: 'Retention' }).evaluate((heading) => heading.scrollIntoView())
  },
  'retention-preview': preview
}

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { jobRows, workWithAFleet } from '../stories/fleet.ts'
import { openScreen } from '../stories/first-run.ts'
import { buildDemoEgg } from '../support/demo-egg.ts'
import { type Scrapyd, startScrapydFleet } from '../support/scrapyd-fleet.ts'
import { expect, test } from './browser-test.ts'

let directory = ''
let touchFile = ''
let scrapyds: Scrapyd[] = []

test.beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'scrapdeck-specs-'))
  touchFile = join(directory, 'touched')
  writeFileSync(touchFile, '')
  scrapyds = await startScrapydFleet(Array.from({ length: 3 }, () => ({ environment: { DEMO_TOUCH_FILE: touchFile } })))
})

test.afterAll(async () => {
  await Promise.all(scrapyds.map((scrapyd) => scrapyd.stop()))
  rmSync(directory, { recursive: true, force: true })
})

test('three nodes are pasted, an egg is dropped, three spiders run at once, the page reloads meanwhile, and a job is cancelled', async ({
  page,
  serve
}) => {
  test.setTimeout(120_000)
  const service = await serve({ environment: { DEMO_TOUCH_FILE: touchFile } })
  await page.goto(service.loginLink())
  await workWithAFleet(page, { urls: scrapyds.map(({ url }) => url), client: service.client, touchFile })
})

test('the page survives a kill -9 of the service: it says so, reconnects by itself and shows the current state', async ({
  page,
  serve
}) => {
  test.setTimeout(120_000)
  const service = await serve({ localSlots: 0 })
  await page.goto(service.loginLink())
  const url = scrapyds[0]?.url ?? ''
  await service.client.nodes.add({ url, name: 'only', slots: 2 })
  await service.client.projects.upload({
    file: new File([new Uint8Array(await buildDemoEgg())], 'demo.egg'),
    project: 'demo',
    version: 'v2'
  })
  await openScreen(page, 'Jobs')
  await service.client.jobs.run({ project: 'demo', spiders: ['quotes'], args: { pages: '6' } })
  await expect(jobRows(page, 'quotes')).toContainText('running', { timeout: 20_000 })

  await service.kill()
  await expect(page.getByRole('status').filter({ hasText: 'Reconnecting' })).toBeVisible()
  await service.start()
  await expect(page.getByRole('status').filter({ hasText: 'Live' })).toBeVisible({ timeout: 20_000 })
  await expect(jobRows(page, 'quotes')).toHaveCount(1)
  await expect(jobRows(page, 'quotes')).toContainText('succeeded', { timeout: 30_000 })
  expect((await service.client.jobs.list({})).jobs.map(({ attemptCount }) => attemptCount)).toEqual([1])
})

import { jobRows } from '../stories/fleet.ts'
import { openScreen } from '../stories/first-run.ts'
import { buildDemoEgg } from '../support/demo-egg.ts'
import { type Scrapyd, startScrapyd } from '../support/scrapyd-fleet.ts'
import { expect, test } from './browser-test.ts'

let scrapyd: Scrapyd

test.beforeAll(async () => {
  scrapyd = await startScrapyd()
})
test.afterAll(() => scrapyd.stop())

test('the page survives a kill -9 of the service: it says so, reconnects by itself and shows the current state', async ({
  page,
  serve
}) => {
  test.setTimeout(120_000)
  const service = await serve({ localSlots: 0 })
  await page.goto(service.loginLink())
  await service.client.nodes.add({ url: scrapyd.url, name: 'only', slots: 2 })
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

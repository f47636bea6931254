import type { Locator } from '@playwright/test'
import { buildDemoEgg } from '../support/demo-egg.ts'
import { expect, test } from './browser-test.ts'

const isCut = (place: Locator) => place.evaluate((element) => element.scrollWidth > element.clientWidth)

test('at 1280 px no version or badge is cut off, and no panel of the queue is wider than its place', async ({
  page,
  serve
}) => {
  const service = await serve({ localSlots: 1 })
  const egg = new File([(await buildDemoEgg()) as Uint8Array<ArrayBuffer>], 'demo.egg')
  const versions = ['20261129T091325', '20261129T101500']
  const long = `project-with-a-long-name-${'x'.repeat(30)}`
  for (const project of ['demo', long])
    for (const version of versions) await service.client.projects.upload({ file: egg, project, version })
  await page.setViewportSize({ width: 1280, height: 720 })
  await page.goto(service.loginLink())
  await page.goto(`${page.url().split('#')[0]}#/projects?project=demo`)
  for (const version of versions) {
    const name = page.getByRole('button', { name: new RegExp(`^${version}`) })
    await expect(name).toBeVisible()
    expect(await isCut(name.locator('strong'))).toBe(false)
  }
  expect(await isCut(page.getByText('active', { exact: true }).first())).toBe(false)

  const { jobs } = await service.client.jobs.run({
    project: 'demo',
    spiders: ['quotes', 'prices'],
    args: { pages: '1' }
  })
  const states = () => Promise.all(jobs.map(async ({ id }) => (await service.client.jobs.get({ id })).job.status))
  await expect.poll(states, { timeout: 60_000 }).toEqual(['succeeded', 'succeeded'])
  await page.clock.setSystemTime(Date.now() + 55 * 60_000)
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 720 })
    await page.goto(`${page.url().split('#')[0]}#/projects?project=demo`)
    await page.reload()
    await expect(page.getByText('succeeded')).toHaveCount(2)
    for (const spider of ['quotes', 'prices', 'broken', 'slow'])
      expect(await isCut(page.getByTitle(spider, { exact: true }))).toBe(false)
    const ages = page.getByText(/^55 min$/)
    for (const age of await ages.all()) expect(await isCut(age.locator('xpath=..'))).toBe(false)
    if (width === 1280) expect(await ages.count()).toBeGreaterThan(2)
  }

  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 720 })
    await page.goto(`${page.url().split('#')[0]}#/queue`)
    const shares = page.getByRole('table').filter({ hasText: 'Dispatching' })
    await expect(shares.getByRole('link', { name: long })).toBeVisible()
    const [panel, table] = [shares.locator('xpath=ancestor::section[1]'), shares]
    const [place, box] = await Promise.all([panel.boundingBox(), table.boundingBox()])
    expect(box!.x + box!.width).toBeLessThanOrEqual(place!.x + place!.width + 1)
    expect(await isCut(panel)).toBe(false)
  }
})

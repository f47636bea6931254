import type { Locator } from '@playwright/test'
import { buildDemoEgg } from '../support/demo-egg.ts'
import { expect, test } from './browser-test.ts'

const isCut = (place: Locator) => place.evaluate((element) => element.scrollWidth > element.clientWidth)

test('at 1280 px versions and their badges are whole, and no panel of the queue is wider than its place', async ({
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

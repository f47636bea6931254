import { until } from '../../src/engine/testing/until.ts'
import type { JobId } from '../../src/shared/contract/index.ts'
import { aProjectName } from '../../src/shared/testing/ids.ts'
import { uploadDemo } from '../support/demo-egg.ts'
import { startScrapyd } from '../support/scrapyd-fleet.ts'
import { expect, test } from './browser-test.ts'

test('the items of a run on a remote node are copied when they are read, or all if the project keeps them, and stay when the node is gone', async ({
  page,
  serve
}) => {
  test.setTimeout(180_000)
  const scrapyd = await startScrapyd()
  try {
    const service = await serve({ localSlots: 0 })
    const { client } = service
    await uploadDemo(service, 'v1')
    await client.nodes.add({ url: scrapyd.url, name: 'eu-1' })
    const run = async (spider: string, args: Record<string, string>) => {
      const { jobs } = await client.jobs.run({ project: aProjectName('demo'), spiders: [spider], args })
      return jobs[0]!.id
    }
    const read = await run('quotes', { pages: '4', delay: '0' })
    // The items of a successful run are copied from the node to count their fields. Those of a cancelled run are not.
    const cancelled = async () => {
      const id = await run('slow', { delay: '0.1' })
      await until('an item', async () => ((await client.jobs.status({ id })).items ?? 0) > 0)
      await client.jobs.cancel({ ids: [id] })
      await hasEnded(id)
      return id
    }
    const hasEnded = (id: JobId) =>
      until('the run has ended', async () => (await client.jobs.status({ id })).state === 'ended')
    const unread = await cancelled()
    await hasEnded(read)
    const { items } = await client.jobs.status({ id: read })

    await page.goto(service.loginLink())
    await expect(page.getByRole('heading', { name: 'Overview' })).toBeVisible()
    await page.goto(`${service.address}/ui/#/projects?project=demo`)
    await page.getByRole('button', { name: 'Settings…' }).click()
    await page.getByRole('checkbox', { name: 'Keep items files' }).check()
    await page.getByRole('button', { name: 'Save settings' }).click()
    await expect(page.getByRole('dialog')).toBeHidden()
    const kept = await cancelled()
    await page.goto(`${service.address}/ui/#/items?job=${read}`)
    await expect(page.getByText(`${items} items`)).toBeVisible()
    await scrapyd.kill()
    await page.getByRole('button', { name: 'Field author' }).click()
    await page.getByRole('menuitem', { name: 'Sort ascending' }).click()
    await expect(page.getByRole('columnheader', { name: 'author' })).toHaveAttribute('aria-sort', 'ascending')
    await expect(page.getByRole('grid', { name: 'Items' }).getByRole('row').nth(1)).toContainText('/quotes/')
    await page.goto(`${service.address}/ui/#/items?job=${unread}`)
    await expect(page.getByRole('alert')).toContainText('Could not load the items: the node did not respond')
    await page.goto(`${service.address}/ui/#/items?job=${kept}`)
    await expect(page.getByRole('grid', { name: 'Items' }).getByRole('row').nth(1)).toBeVisible()
  } finally {
    await scrapyd.stop()
  }
})

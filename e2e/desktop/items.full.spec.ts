import { until } from '../../src/engine/testing/until.ts'
import { aProjectName } from '../../src/shared/testing/ids.ts'
import { uploadDemo } from '../support/demo-egg.ts'
import { expect, test, untilDoor } from './desktop-test.ts'

test('the desktop pages, filters and exports items without DuckDB, and says so', async ({ launch, userData }) => {
  test.setTimeout(120_000)
  const desktop = await launch()
  const window = await desktop.window()
  await expect(window.getByRole('heading', { name: 'Overview' })).toBeVisible()
  const { client } = await untilDoor(userData)
  await uploadDemo({ client }, 'v1')
  const { jobs } = await client.jobs.run({
    project: aProjectName('demo'),
    spiders: ['quotes'],
    args: { pages: '4', delay: '0' }
  })
  const { id } = jobs[0]!
  await until('the run has ended', async () => (await client.jobs.status({ id })).state === 'ended')
  const { items } = await client.jobs.status({ id })

  await window.evaluate((job) => {
    location.hash = `#/items?job=${job}`
  }, id)
  await expect(window.getByText(`${items} items`)).toBeVisible()
  await expect(window.getByRole('grid', { name: 'Items' }).getByRole('row').nth(1)).toContainText('/quotes/1')
  await expect(window.getByRole('button', { name: 'Compare' })).toBeDisabled()

  await window.getByRole('button', { name: 'Add filter' }).click()
  await window.getByLabel('Value').fill('zork')
  await window.getByRole('button', { name: 'Apply filter' }).click()
  await expect(window.getByText('No items match the filter')).toBeVisible()
  await window.getByRole('button', { name: 'Clear filter' }).click()

  await window.getByRole('button', { name: 'Export' }).click()
  await window.getByRole('menuitem', { name: 'JSON lines' }).click()
  await expect(window.getByText(`Exported ${items} items`)).toBeVisible()
})

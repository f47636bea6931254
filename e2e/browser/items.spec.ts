import { existsSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { until } from '../../src/engine/testing/until.ts'
import { aProjectName } from '../../src/shared/testing/ids.ts'
import { basicAuthorization } from '../support/basic-authorization.ts'
import { uploadDemo } from '../support/demo-egg.ts'
import { TEST_CREDENTIALS } from '../support/service.ts'
import { expect, test } from './browser-test.ts'

test('the items of a real run open in a tab and can be listed, filtered, sorted, measured, compared and exported', async ({
  page,
  serve
}) => {
  test.setTimeout(180_000)
  const service = await serve()
  await uploadDemo(service, 'v1')
  const run = async (pages: string) => {
    const { jobs } = await service.client.jobs.run({
      project: aProjectName('demo'),
      spiders: ['quotes'],
      args: { pages, delay: '0' }
    })
    const { id } = jobs[0]!
    await until('the run has ended', async () => (await service.client.jobs.status({ id })).state === 'ended')
    return id
  }
  await run('3')
  const id = await run('12')
  const { items: scraped } = await service.client.jobs.status({ id })

  await page.goto(service.loginLink())
  await expect(page.getByRole('heading', { name: 'Overview' })).toBeVisible()
  await page.goto(`${service.address}/ui/#/jobs?job=${id}&tab=items`)
  const pane = page.getByRole('complementary', { name: 'Job' })
  await expect(pane.getByRole('grid', { name: 'Items' }).getByRole('row').nth(1)).toContainText('/quotes/1')
  await pane.getByRole('link', { name: 'Open all items' }).click()

  const table = page.getByRole('grid', { name: 'Items' })
  await expect(page.getByText(`${scraped} items`)).toBeVisible()
  await expect(table.getByRole('columnheader')).toHaveText(['#', 'text', 'author', 'url'])

  await page.getByRole('button', { name: 'Field author' }).click()
  await page.getByRole('menuitem', { name: 'Sort descending' }).click()
  await expect(table.getByRole('columnheader', { name: 'author' })).toHaveAttribute('aria-sort', 'descending')
  await page.getByRole('button', { name: 'Field author' }).click()
  await page.getByRole('menuitem', { name: 'Statistics' }).click()
  const statistics = page.getByRole('complementary', { name: 'Field statistics' })
  await expect(statistics.getByText(`${scraped} of ${scraped} items`)).toBeVisible()
  const frequent = statistics.getByRole('listitem').first()
  const author = (await frequent.locator('span').first().textContent())!
  await frequent.click()
  await expect(page.getByRole('button', { name: `Remove filter author is ${author}` })).toBeVisible()
  for (const cell of await table.getByRole('gridcell').filter({ hasText: author }).all())
    await expect(cell).toBeVisible()

  await page.getByRole('button', { name: 'Export' }).click()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: /^CSV/ }).click()
  ])
  const lines = (await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n')
  expect(lines[0]).toBe('text,author,url')
  expect(lines.slice(1).every((line) => line.includes(author))).toBe(true)

  await statistics.getByRole('button', { name: 'Close the statistics' }).click()
  await page.getByRole('button', { name: 'Compare' }).click()
  const comparison = page.getByRole('complementary', { name: 'Comparison' })
  await expect(comparison.getByText(`items before, ${scraped} now`)).toBeVisible()

  const answer = await fetch(`${service.address}/api/v1/jobs/${id}/items/export?format=parquet`, {
    headers: { authorization: basicAuthorization(TEST_CREDENTIALS) }
  })
  expect(answer.headers.get('content-disposition')).toBe(`attachment; filename="items-${id}.parquet"`)
  expect(
    Buffer.from(await answer.arrayBuffer())
      .subarray(0, 4)
      .toString()
  ).toBe('PAR1')
  // Only the process that reads items has loaded DuckDB.
  const maps = `/proc/${service.pid()}/maps`
  if (existsSync(maps)) expect(readFileSync(maps, 'utf8')).not.toContain('duckdb')
})

import { expect, type Page } from '@playwright/test'
import { ChainSettings } from '../../src/shared/contract/index.ts'
import type { Client } from '../support/service.ts'
import { openView } from './schedules-ahead.ts'
import { QUOTES } from './schedules.ts'

const chainRow = (page: Page, name: string) => page.getByRole('listitem', { name: `Chain ${name}` })

export async function chainSpiders(page: Page, client: Client): Promise<void> {
  await openView(page, 'Chains')
  await page.getByRole('button', { name: 'Add chain' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'Add chain' })
  const after = dialog.getByRole('group', { name: 'When a job of' })
  const run = dialog.getByRole('group', { name: 'Run', exact: true })
  await after.getByRole('combobox', { name: 'Project' }).fill('demo')
  await after.getByRole('combobox', { name: 'Spider' }).fill('quotes')
  await run.getByRole('combobox', { name: 'Project' }).click()
  await page.getByRole('option', { name: 'demo' }).last().click()
  await run.getByRole('combobox', { name: 'Spiders' }).fill('prices')
  await page.getByRole('option', { name: 'prices', exact: true }).click()
  await dialog.getByRole('button', { name: 'Add chain', exact: true }).click()
  await expect(dialog).toBeHidden()

  const inGraph = page.getByRole('button', { name: 'Edit chain prices after quotes' })
  await expect(inGraph).toHaveText('succeeded')
  await expect(chainRow(page, 'prices after quotes')).toContainText('when demo/quotes succeeds, run demo/prices')
  // The chain's spider does not exist, which is allowed until the chain has to run it.
  await client.chains.create(
    ChainSettings.parse({
      name: 'tell the stock',
      project: 'demo',
      spider: 'quotes',
      on: 'ended',
      run: { project: 'demo', spiders: ['stock'] }
    })
  )
  await client.jobs.run(QUOTES)
  await expect(chainRow(page, 'prices after quotes')).toContainText('once', { timeout: 30_000 })
  await expect(chainRow(page, 'tell the stock').getByRole('alert')).toContainText('stock')
  const troubled = page.getByRole('button', { name: /^Edit chain tell the stock, which has a problem/ })
  await expect(troubled).toHaveText('ended')
  const { jobs } = await client.jobs.list({ spider: 'prices' })
  expect(jobs).toHaveLength(1)

  await page.getByRole('button', { name: 'Remove tell the stock' }).click()
  await expect(troubled).toBeHidden()
  await page.getByRole('button', { name: 'Remove prices after quotes' }).click()
  await expect(page.getByText('No chains yet')).toBeVisible()
  await page.getByRole('button', { name: 'Undo' }).last().click()
  await expect(page.getByRole('listitem', { name: /^Chain / })).toHaveCount(1)
}

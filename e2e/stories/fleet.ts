import { type Page, expect } from '@playwright/test'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DEMO_FOLDER, buildDemoEgg } from '../support/demo-egg.ts'
import type { Client } from '../support/service.ts'
import { openScreen } from './first-run.ts'

interface Fleet {
  /** Real Scrapyds that Scrapdeck does not know yet. */
  urls: string[]
  client: Client
  /** A file to which every spider, on any node, writes its jobid when it starts. */
  touchFile: string
}

export async function workWithAFleet(page: Page, { urls, client, touchFile }: Fleet): Promise<void> {
  await addNodesByPaste(page, urls)
  await deployEgg(page, await buildDemoEgg(), 'v1', urls.length + 1)

  // Reads one page per second: on a busy machine, a Scrapyd takes longer to start than a fast spider to finish.
  await runSpiders(page, ['quotes', 'prices', 'slow'], { delay: '1' })
  await openScreen(page, 'Jobs')
  const grid = page.getByRole('grid', { name: 'Jobs' })
  await expect(grid.getByRole('row').filter({ hasText: 'running' })).toHaveCount(3, { timeout: 20_000 })

  const before = (await client.jobs.list({})).jobs
  await jobRows(page, 'slow').click()
  const detail = page.getByRole('complementary', { name: 'Job' })
  await detail.getByRole('tab', { name: 'Log' }).click()
  await expect(detail.getByRole('log')).toContainText('Tick 3')
  await page.reload()
  await expect(detail.getByRole('log')).toContainText(/Tick \d+/)
  await expect(detail.getByRole('tab', { name: 'Log' })).toHaveAttribute('aria-selected', 'true')
  await expect(jobRows(page, 'quotes')).toContainText('succeeded', { timeout: 30_000 })
  await expect(jobRows(page, 'prices')).toContainText('succeeded', { timeout: 30_000 })
  await expect(jobRows(page, 'slow')).toContainText('running')

  await cancelJob(page, 'slow')
  const after = (await client.jobs.list({})).jobs
  expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id))
  expect(after.map(({ attemptCount }) => attemptCount)).toEqual([1, 1, 1])
  const touched = readFileSync(touchFile, 'utf8').split('\n').filter(Boolean)
  expect(touched.toSorted()).toEqual(after.map(({ id }) => id).toSorted())
}

export async function addNodesByPaste(page: Page, urls: string[]): Promise<void> {
  await openScreen(page, 'Nodes')
  await page.getByRole('button', { name: 'Add nodes', exact: true }).click()
  const dialog = page.getByRole('dialog', { name: 'Add nodes' })
  // One address is dead and one is listed twice. These errors must not prevent the other nodes from being added.
  const pasted = ['127.0.0.1:9', ...urls, urls[0]]
  await dialog.getByRole('textbox', { name: 'Addresses of Scrapyd servers' }).fill(pasted.join('\n'))
  const found = dialog.getByRole('list', { name: 'Address check' })
  await expect(found.getByRole('img', { name: 'OK' })).toHaveCount(urls.length)
  await expect(found.getByRole('img', { name: 'Cannot be added' })).toHaveCount(1)
  await expect(found).toContainText(/Scrapyd 1\.[56]/)
  await dialog.getByRole('button', { name: `Add ${urls.length} nodes` }).click()

  const table = page.getByRole('grid', { name: 'Nodes' })
  await expect(dialog).toContainText('127.0.0.1:9')
  await dialog.getByRole('button', { name: 'Close', exact: true }).last().click()
  for (const url of urls) {
    const row = table.getByRole('row').filter({ hasText: new URL(url).host })
    await expect(row.getByRole('img', { name: 'up', exact: true })).toBeVisible()
  }
}

export async function dropFile(page: Page, name: string, bytes: Uint8Array): Promise<void> {
  const transfer = await page.evaluateHandle(
    ([fileName, base64]) => {
      const data = new DataTransfer()
      const content = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))
      data.items.add(new File([content], fileName, { type: 'application/octet-stream' }))
      return data
    },
    [name, Buffer.from(bytes).toString('base64')] as const
  )
  await page.locator('body').dispatchEvent('dragenter', { dataTransfer: transfer })
  const zone = page.getByText('Drop to deploy')
  await expect(zone).toBeVisible()
  await zone.dispatchEvent('drop', { dataTransfer: transfer })
}

export async function uploadFolder(page: Page, scratch: string): Promise<void> {
  const folder = join(scratch, 'demo')
  cpSync(DEMO_FOLDER, folder, { recursive: true, filter: (path) => !path.includes('__pycache__') })
  // Large files are packed by a worker, which the page's content security policy must allow.
  writeFileSync(
    join(folder, 'demo', 'places.json'),
    JSON.stringify(Array.from({ length: 200_000 }, (_, index) => index))
  )
  await openScreen(page, 'Projects')
  await page.getByLabel('Folder of a Scrapy project').setInputFiles(folder)
  const dialog = page.getByRole('dialog', { name: 'Deploy project' })
  await dialog.getByRole('button', { name: 'Upload' }).click()
  await expect(dialog).toContainText('broken, prices, quotes, slow', { timeout: 20_000 })
}

export async function deployEgg(page: Page, egg: Uint8Array, version: string, nodeCount: number): Promise<void> {
  await dropFile(page, `demo-${version}.egg`, egg)
  const dialog = page.getByRole('dialog', { name: 'Deploy project' })
  await expect(dialog).toContainText(`demo-${version}.egg`)
  await dialog.getByLabel('Version').fill(version)
  await dialog.getByRole('button', { name: 'Upload' }).click()
  await expect(dialog).toContainText('broken, prices, quotes, slow', { timeout: 20_000 })
  await dialog.getByRole('button', { name: `Deploy to all ${nodeCount} nodes` }).click()
  const progress = dialog.getByRole('region', { name: 'Deploy' })
  await expect(progress).toContainText(`On ${nodeCount} nodes.`, { timeout: 20_000 })
  await dialog.getByRole('button', { name: 'Close', exact: true }).last().click()
  await expect(dialog).toBeHidden()
}

export async function runSpiders(page: Page, spiders: string[], args: Record<string, string>): Promise<void> {
  await page.getByRole('banner').getByRole('button', { name: /^Run/ }).click()
  const dialog = page.getByRole('dialog', { name: 'Run spiders' })
  const box = dialog.getByRole('combobox', { name: 'Spiders' })
  for (const spider of spiders) {
    await box.fill(spider)
    await page.getByRole('option', { name: spider, exact: true }).click()
  }
  // Closes the list, because it covers the button.
  await dialog.getByRole('heading', { name: 'Run spiders' }).click()
  for (const [index, [name, value]] of Object.entries(args).entries()) await addArgument(page, index + 1, name, value)
  await dialog.getByRole('button', { name: spiders.length > 1 ? `Run ${spiders.length} spiders` : /^Run/ }).click()
  await expect(dialog).toBeHidden()
}

/** Adds a row to the arguments of the Run dialog. `number` counts from 1. */
export async function addArgument(page: Page, number: number, name: string, value: string): Promise<void> {
  const dialog = page.getByRole('dialog', { name: 'Run spiders' })
  await dialog.getByRole('button', { name: 'Add argument' }).click()
  await dialog.getByRole('combobox', { name: `Name of argument ${number}` }).fill(name)
  await dialog.getByLabel(`Value of argument ${number}`).fill(value)
}

/** Opens a spider's job and requests its cancellation. Resolves when the node has confirmed it. */
export async function cancelJob(page: Page, spider: string): Promise<void> {
  await openScreen(page, 'Jobs')
  await jobRows(page, spider).first().click()
  const detail = page.getByRole('complementary', { name: 'Job' })
  await detail.getByRole('button', { name: 'Cancel' }).click()
  // The request is shown immediately, but the job ends only when the node reports its end.
  await expect(detail).toContainText(/cancelling|Cancel requested|cancelled/)
  await expect(jobRows(page, spider).first()).toContainText('cancelled', { timeout: 30_000 })
}

export function jobRows(page: Page, spider: string) {
  return page
    .getByRole('grid', { name: 'Jobs' })
    .getByRole('row')
    .filter({ hasText: `demo/${spider}` })
}

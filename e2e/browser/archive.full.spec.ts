import { mkdtempSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from '@playwright/test'
import { strFromU8, unzipSync } from 'fflate'
import type { JobId } from '../../src/shared/contract/index.ts'
import { makeLoginLink } from '../support/login-link.ts'
import { fillOldJobs, type OldJob } from '../support/old-jobs.ts'
import { type Service, startService } from '../support/service.ts'
import { expect, test } from './browser-test.ts'

const DAY_MS = 86_400_000
const LINES = 60_000

const line = (number: number, level = 'DEBUG') =>
  `2026-10-01 03:00:00 [scrapy.core.engine] ${level}: Crawled (200) <GET https://shop.example/p/${number}>\n`
const longLog =
  Array.from({ length: LINES }, (_, index) => line(index + 1)).join('') +
  '2026-10-01 03:01:30 [scrapy.core.engine] INFO: Spider closed (finished)\n'
const shortLog = (number: number) => `2026-10-01 03:00:00 [stock] WARNING: shelf ${number} is empty\n`

let directory = ''
let service: Service
let long: JobId
let short: JobId[] = []

test.describe.configure({ mode: 'serial' })

test.beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'scrapdeck-archive-'))
  const endedAtMs = (daysAgo: number) => Date.now() - daysAgo * DAY_MS
  const stock = Array.from({ length: 6 }, (_, index): OldJob => {
    return { project: 'shop', spider: 'stock', endedAtMs: endedAtMs(46 - index), log: shortLog(index) }
  })
  const ids = await fillOldJobs(directory, [
    { project: 'news', spider: 'pages', endedAtMs: endedAtMs(50), log: longLog },
    ...stock
  ])
  ;[long, ...short] = ids as [JobId, ...JobId[]]
  service = await startService({ dataDirectory: directory, localSlots: 0 })
})

test.afterAll(async () => {
  await service?.stop()
  rmSync(directory, { recursive: true, force: true })
})

async function open(page: Page, path: string): Promise<void> {
  await page.goto(await makeLoginLink(service))
  await expect(page.getByRole('heading', { name: 'Overview' })).toBeVisible()
  await page.goto(`${service.address}/ui/#${path}`)
}

test('a log that only the archive still has opens at its end, can be read from its start, searched and linked to by line', async ({
  page
}) => {
  await open(page, `/logs?jobs=${long}&job=${long}`)
  const log = page.getByTestId('log')
  await expect(log.getByText('complete')).toBeVisible()
  await expect(log.getByRole('log')).toContainText('Spider closed (finished)')
  await log.getByRole('group', { name: 'Log text' }).press('Home')
  await expect(log.getByRole('button', { name: 'Line 1', exact: true })).toBeVisible()

  await log.getByRole('textbox', { name: 'Search the log' }).fill('/p/33333>')
  await expect(log.getByText('1 of 1')).toBeVisible()
  await expect(log.getByText(/^Line \d/)).toHaveText(/Line 33,3\d\d/)

  await page.goto(`${service.address}/ui/#/logs?jobs=${long}&job=${long}&line=20000-20002`)
  await expect(log.getByText(/^Line \d/)).toHaveText(/Line 19,99\d/)
  await expect(log.getByRole('button', { name: 'Copy a link to lines 20,000 to 20,002' })).toBeVisible()
})

test('one search covers all archived logs, and a line that it found opens its log at that place', async ({ page }) => {
  await open(page, '/logs')
  await page.getByRole('link', { name: 'Search all logs' }).click()
  const text = page.getByRole('textbox', { name: 'Search text' })
  await text.fill('shelf \\d is')
  await page.getByRole('button', { name: 'Regular expression' }).click()
  await text.press('Enter')
  const results = page.getByRole('region', { name: 'Results' })
  await expect(results.getByRole('listitem')).toHaveText([5, 4, 3, 2, 1, 0].map((shelf) => RegExp(`shelf ${shelf} is`)))
  await expect(page.getByText(/^6 lines · 7 logs searched/)).toBeVisible()

  await page.getByRole('combobox', { name: 'Level' }).selectOption('ERROR')
  await text.press('Enter')
  await expect(page.getByText('No matching lines')).toBeVisible()

  await page.goto(`${service.address}/ui/#/logs/search?q=%2Fp%2F33333%3E&project=ne*`)
  await results.getByRole('link', { name: /p\/33333>/ }).click()
  await expect(page.getByTestId('log').getByText(/^Line \d/)).toHaveText(/Line 33,3\d\d/)
  await expect(page).toHaveURL(/line=33333/)
})

test('the logs of selected jobs are downloaded as one zip archive', async ({ page }) => {
  await open(page, '/jobs')
  await page.getByRole('checkbox', { name: 'Select all rows shown' }).click()
  const bar = page.getByRole('toolbar', { name: 'Selected jobs' })
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    bar.getByRole('button', { name: 'Download 7 logs' }).click()
  ])
  expect(download.suggestedFilename()).toBe('logs.zip')
  const files = unzipSync(await readFile(await download.path()))
  const { 'INDEX.txt': index, ...logs } = Object.fromEntries(
    Object.entries(files).map(([name, bytes]) => [name, strFromU8(bytes)])
  )
  expect(Object.values(logs).sort()).toEqual([longLog, ...short.map((_, shelf) => shortLog(shelf))].sort())
  for (const name of Object.keys(logs)) expect(index).toContain(name)
})

test('retention shows in advance what it deletes, what stays and why; then the logs and jobs are gone', async ({
  page
}) => {
  const [kept, deleted] = short as [JobId, JobId]
  await open(page, `/jobs?job=${kept}`)
  const pane = page.getByRole('complementary', { name: 'Job' })
  await pane.getByRole('button', { name: 'Keep' }).click()
  await expect(pane.getByRole('button', { name: 'Kept' })).toBeVisible()

  await page.goto(`${service.address}/ui/#/settings`)
  await expect(page.getByText('not set: nothing is deleted')).toBeVisible()
  const apply = async (days: Record<'Jobs' | 'Logs', string>, button: RegExp) => {
    for (const kind of ['Jobs', 'Logs'] as const) await page.getByLabel(`All projects, ${kind}: days`).fill(days[kind])
    await page.getByRole('button', { name: button }).click()
  }
  const dialog = page.getByRole('dialog', { name: 'Retention preview' })
  const deletedRows = dialog.getByRole('table', { name: 'To be deleted' })
  const protectedRows = dialog.getByRole('table', { name: 'Over a limit, but kept' })

  // Deletes only logs. Their jobs remain. They report that the log cannot be read because the node does not respond.
  await apply({ Jobs: '', Logs: '30' }, /^Preview and turn on|^Preview and save/)
  await expect(dialog.getByText(/^Frees \d+ B/)).toBeVisible()
  await expect(deletedRows.getByRole('row').filter({ hasText: 'shop' })).toContainText(/shop\s*Logs\s*4/)
  await expect(protectedRows.getByRole('row').filter({ hasText: 'shop' })).toHaveText([
    /Logs\s*1.*kept by an operator/,
    /Logs\s*1.*newest of its spider and outcome/
  ])
  await dialog.getByRole('button', { name: 'Save policy and delete' }).click()
  await expect(page.getByText(/^last run .*: 4 logs, \d+ B freed$/)).toBeVisible()
  await page.goto(`${service.address}/ui/#/jobs?job=${deleted}&tab=log`)
  await expect(pane.getByRole('alert')).toContainText('Retention deleted the log of job')
  await page.goto(`${service.address}/ui/#/logs?jobs=${deleted}&job=${deleted}&line=1`)
  await expect(page.getByTestId('log').getByRole('alert')).toContainText('Retention deleted the log of job')
  await page.goto(`${service.address}/ui/#/jobs?job=${kept}&tab=log`)
  await expect(pane.getByRole('log')).toContainText('shelf 0 is empty')

  await page.goto(`${service.address}/ui/#/settings`)
  await apply({ Jobs: '30', Logs: '30' }, /^Preview and save/)
  await expect(deletedRows.getByRole('row').filter({ hasText: 'shop' })).toContainText(/shop\s*Jobs\s*4/)
  await dialog.getByRole('button', { name: 'Save policy and delete' }).click()
  await expect(page.getByText(/^last run .*: 4 jobs/)).toBeVisible()
  await page.goto(`${service.address}/ui/#/jobs`)
  await expect(page.getByRole('grid', { name: 'Jobs' }).getByRole('row').filter({ hasText: 'succeeded' })).toHaveCount(
    3
  )
  const { jobs } = await service.client.jobs.list({})
  expect(jobs.map(({ id }) => id).sort()).toEqual([long, kept, short.at(-1)!].sort())
})

import { type Page, expect } from '@playwright/test'
import type { Scrapyd } from '../support/scrapyd-fleet.ts'
import type { Client } from '../support/service.ts'
import { openScreen } from './first-run.ts'
import { jobRows } from './fleet.ts'

const SLOW = { project: 'demo', spiders: ['slow'], args: { seconds: '300' } }

export async function limitRuns(page: Page, client: Client): Promise<void> {
  await openScreen(page, 'Queue')
  await page.getByRole('button', { name: 'Add limit' }).first().click()
  await page.getByRole('combobox', { name: 'Spiders of limit 1' }).fill('slow')
  await page.keyboard.press('Escape')
  await page.getByLabel('Maximum of limit 1').fill('1')
  await expect(page.getByText('up to 1 run of slow in the fleet')).toBeVisible()
  await page.getByRole('button', { name: 'Save limits' }).click()
  await expect(page.getByText('The limits were saved.')).toBeVisible()

  await client.jobs.run(SLOW)
  await client.jobs.run(SLOW)
  await openScreen(page, 'Jobs')
  await expect(jobRows(page, 'slow').filter({ hasText: 'running' })).toHaveCount(1, { timeout: 20_000 })
  const waiting = jobRows(page, 'slow').filter({ hasText: 'queued' })
  await expect(waiting).toContainText(/limit/)

  await openScreen(page, 'Queue')
  await expect(page.getByText('· reached')).toBeVisible()
  await expect(page.getByRole('grid', { name: 'Lanes of the queue' })).toContainText(/limit/)
  await page.getByLabel('Maximum of limit 1').fill('2')
  await page.getByRole('button', { name: 'Save limits' }).click()
  await openScreen(page, 'Jobs')
  await expect(jobRows(page, 'slow').filter({ hasText: 'running' })).toHaveCount(2, { timeout: 20_000 })
}

export async function pauseAProject(page: Page, client: Client): Promise<void> {
  await openScreen(page, 'Queue')
  const sends = page.getByRole('switch', { name: 'Dispatch jobs of demo' })
  // The switch itself is hidden behind its graphic.
  await sends.dispatchEvent('click')
  await expect(sends).not.toBeChecked()
  await client.jobs.run({ project: 'demo', spiders: ['quotes'], args: { pages: '1', delay: '0' } })
  await openScreen(page, 'Jobs')
  await expect(jobRows(page, 'quotes')).toContainText(/paused/)
  await openScreen(page, 'Queue')
  await sends.dispatchEvent('click')
  await expect(sends).toBeChecked()
  await openScreen(page, 'Jobs')
  await expect(jobRows(page, 'quotes')).toContainText('succeeded', { timeout: 30_000 })
}

export async function retryWhatFails(page: Page): Promise<void> {
  await openScreen(page, 'Jobs')
  await page.getByRole('banner').getByRole('button', { name: /^Run/ }).click()
  const dialog = page.getByRole('dialog', { name: 'Run spiders' })
  await dialog.getByRole('combobox', { name: 'Spiders' }).fill('broken')
  await page.getByRole('option', { name: 'broken', exact: true }).click()
  await dialog.getByRole('heading', { name: 'Run spiders' }).click()
  await dialog.getByRole('button', { name: /^More/ }).click()
  await dialog.getByLabel('Attempts').fill('2')
  await dialog.getByLabel('Backoff').fill('5 min')
  await expect(dialog.getByRole('button', { name: /^More/ })).toContainText('up to 2 attempts')
  await dialog.getByRole('button', { name: /^Run( |$)/ }).click()
  await expect(dialog).toBeHidden()
  const job = page.getByRole('complementary', { name: 'Job' })
  await expect(job).toContainText(/retry in \d+ (s|min).*attempt 2 of 2/, { timeout: 40_000 })
  await expect(jobRows(page, 'broken')).toContainText(/retry in \d+/)
  await job.getByRole('tab', { name: 'Attempts' }).click()
  await expect(job.getByRole('region', { name: 'Attempt 1' })).toContainText('failed')
}

/**
 * A node dies during a run, so the job's state is unknown. A user runs the job elsewhere, and it then shows that it may
 * have run twice.
 */
export async function runElsewhere(page: Page, node: Scrapyd, client: Client): Promise<void> {
  const { nodes } = await client.nodes.list()
  const dead = nodes.find(({ url }) => url === node.url)
  expect(dead).toBeDefined()
  const { jobs } = await client.jobs.run({
    project: 'demo',
    spiders: ['prices'],
    args: { pages: '500', delay: '2' },
    nodeId: dead?.id
  })
  const id = jobs[0]?.id ?? ''
  await page.evaluate((hash) => window.location.assign(hash), `#/jobs?job=${id}`)
  const job = page.getByRole('complementary', { name: 'Job' })
  await expect(job).toContainText('running', { timeout: 30_000 })
  await node.kill({ withSpiders: true })
  await expect(job).toContainText('unknown', { timeout: 40_000 })
  await expect(job).toContainText('It may then run twice.')
  // The job could run only on that node. Now it can run on any other node.
  await job.getByRole('button', { name: 'Run elsewhere' }).click()
  await expect(job).toContainText('This job may have run more than once.', { timeout: 20_000 })
  await client.jobs.place({ ids: [id], nodeId: null, tags: [] })
  // Checks the attempt, because the timeline already contains "running" from the first one.
  const newest = async () => (await client.jobs.get({ id })).attempts.at(-1)
  await expect.poll(newest, { timeout: 30_000 }).toMatchObject({ number: 2, state: 'running' })
  expect((await newest())?.nodeId).not.toBe(dead?.id)
  await job.getByRole('tab', { name: 'Attempts' }).click()
  await expect(job.getByRole('region', { name: 'Attempt 1' })).toContainText('given up')
}

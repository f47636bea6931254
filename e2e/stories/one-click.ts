import { type Page, expect } from '@playwright/test'
import type { Client } from '../support/service.ts'
import { openScreen } from './first-run.ts'

export async function rollBack(page: Page): Promise<void> {
  await openScreen(page, 'Projects')
  await page.getByRole('grid', { name: 'Projects' }).getByRole('row').filter({ hasText: 'demo' }).click()
  const project = page.getByRole('region', { name: 'Project demo' })
  await expect(project).toContainText('active v2')
  await chooseFor(page, 'v1', 'Roll back to this')
  await expect(project).toContainText('Pinned to v1: new jobs run it, even after a newer upload.')
  const undo = page.getByRole('button', { name: 'Undo' })
  // The notice is below the main area, so it covers no row of a list.
  const [noticeBox, mainBox] = [await undo.boundingBox(), await page.getByRole('main').boundingBox()]
  expect(noticeBox!.y).toBeGreaterThanOrEqual(mainBox!.y + mainBox!.height)
  await undo.click()
  await expect(project).toContainText('active v2')
  await chooseFor(page, 'v1', 'Roll back to this')
  await expect(project).toContainText('active v1')
}

async function chooseFor(page: Page, version: string, act: string): Promise<void> {
  await page.getByRole('button', { name: `More actions for ${version}` }).click()
  await page.getByRole('menuitem', { name: act }).click()
}

/**
 * Runs a spider by keyboard with its last arguments. Cancels it twice: undoes the first cancel, and the second one is
 * sent when the page closes.
 */
export async function runAndCancel(page: Page, client: Client): Promise<void> {
  await client.jobs.run({ project: 'demo', spiders: ['slow'], args: { seconds: '300' } })
  await page.getByRole('button', { name: 'Run slow', exact: true }).press('Shift+Enter')
  await expect(page.getByRole('dialog', { name: 'Run spiders' })).toBeVisible()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Run slow', exact: true }).press('Enter')
  await expect(page.getByText('demo/slow is queued with country=1 seconds=300.')).toBeVisible()
  const newest = async () => (await client.jobs.list({ limit: 1 })).jobs[0]!
  await expect.poll(async () => (await newest()).state).toBe('running')
  const { attempts } = await client.jobs.get({ id: (await newest()).id })
  expect(attempts[0]?.version).toBe('v1')

  await openScreen(page, 'Jobs')
  const row = page.getByRole('grid', { name: 'Jobs' }).getByRole('row').filter({ hasText: 'slow' }).first()
  await row.getByRole('button', { name: 'Cancel demo/slow' }).click()
  await expect(row).toContainText(/cancel in \d s/)
  await row.getByRole('button', { name: 'Undo the cancellation of demo/slow' }).click()
  await expect(row).toContainText('running')
  expect((await newest()).cancelAskedAtMs).toBe(null)
  const askedAtMs = Date.now()
  await row.getByRole('button', { name: 'Cancel demo/slow' }).click()
  await page.goto('about:blank')
  await expect.poll(async () => (await newest()).cancelAskedAtMs).not.toBe(null)
  expect((await newest()).cancelAskedAtMs! - askedAtMs).toBeLessThan(4_500)
}

export async function runWithDefaults(page: Page, client: Client): Promise<void> {
  await openScreen(page, 'Projects')
  await page.getByRole('grid', { name: 'Projects' }).getByRole('row').filter({ hasText: 'demo' }).click()
  await page.getByRole('button', { name: 'Edit defaults…' }).click()
  const defaults = page.getByRole('dialog', { name: 'Defaults of demo' })
  for (const [index, name] of ['country', 'seconds'].entries()) {
    await defaults.getByRole('button', { name: 'Add argument' }).click()
    await defaults.getByRole('combobox', { name: `Name of argument ${index + 1}` }).fill(name)
    await defaults.getByLabel(`Value of argument ${index + 1}`).fill('1')
  }
  await defaults.getByLabel('Priority').fill('4')
  await defaults.getByRole('button', { name: 'Save defaults' }).click()
  await expect(page.getByRole('region', { name: 'Project demo' })).toContainText('arguments country, seconds')

  await page.getByRole('button', { name: 'Run slow with…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Run spiders' })
  await expect(dialog).toContainText('project default')
  await dialog.getByRole('button', { name: 'Leave out argument country' }).click()
  await dialog.getByRole('button', { name: /^Run/ }).click()
  await expect(page.getByRole('complementary', { name: 'Job' })).toBeVisible()
  const [job] = (await client.jobs.list({ limit: 1 })).jobs
  expect(job).toMatchObject({ args: { seconds: '1' }, priority: 4 })
  expect(job?.args).toEqual({ seconds: '1' })
}

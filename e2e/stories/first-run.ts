import { type Page, expect } from '@playwright/test'

export async function runTheDemo(page: Page): Promise<void> {
  await expect(page.getByRole('region', { name: 'Start' })).toBeVisible()
  await page.getByRole('button', { name: 'Run demo' }).click()

  const log = page.getByRole('log')
  await expect(log).toContainText('Spider opened', { timeout: 20_000 })
  // The log is live: it is visible before the job ends, and its end appears without a reload.
  await expect(log).not.toContainText('Spider closed')
  await expect(log).toContainText('Spider closed (finished)', { timeout: 30_000 })

  await openScreen(page, 'Jobs')
  await expect(jobRow(page, 'quotes')).toContainText('succeeded')
}

export async function openScreen(
  page: Page,
  name: 'Overview' | 'Jobs' | 'Queue' | 'Schedules' | 'Projects' | 'Nodes' | 'Logs'
): Promise<void> {
  await page
    .getByRole('navigation', { name: 'Screens' })
    .getByRole('link', { name: new RegExp(`^${name}`) })
    .click()
}

export function jobRow(page: Page, spider: string) {
  return page.getByRole('grid', { name: 'Jobs' }).getByRole('row').filter({ hasText: spider }).first()
}

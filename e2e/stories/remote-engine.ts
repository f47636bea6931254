import { expect, type Page } from '@playwright/test'
import { TEST_CREDENTIALS } from '../support/service.ts'

export const engineMenu = (window: Page) => window.getByRole('banner').getByRole('button', { name: /^Engine: / })
export const status = (window: Page, text: string) => window.getByRole('status').filter({ hasText: text })

export async function openEngineForm(window: Page): Promise<void> {
  await engineMenu(window).click()
  await window.getByRole('menuitem', { name: 'Add engine…' }).click()
}

export async function fillEngineForm(window: Page, name: string, url: string): Promise<void> {
  const dialog = window.getByRole('dialog')
  await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill(name)
  await dialog.getByRole('textbox', { name: 'Address' }).fill(url)
  await dialog.getByText('User name and password').click()
  await dialog.getByRole('textbox', { name: 'User name' }).fill(TEST_CREDENTIALS.username)
  await dialog.getByRole('textbox', { name: 'Password' }).fill(TEST_CREDENTIALS.password)
  await dialog.getByRole('radio', { name: 'orange' }).click()
}

export const submitEngine = (window: Page) =>
  window.getByRole('dialog').getByRole('button', { name: 'Add engine' }).click()

export async function switchTo(window: Page, name: string): Promise<void> {
  await engineMenu(window).click()
  await window.getByRole('menuitem', { name }).click()
  await expect(engineMenu(window)).toHaveAccessibleName(new RegExp(`^Engine: ${name}`))
}

import { type Page, expect } from '@playwright/test'
import type { Client } from '../support/service.ts'
import { addArgument, jobRows } from './fleet.ts'
import { openScreen } from './first-run.ts'

const SECRET = 'correct-horse-battery'

export async function runUnderLimits(page: Page, client: Client): Promise<void> {
  await openProjectSettings(page, 'demo')
  const settings = page.getByRole('dialog', { name: 'Settings of demo' })
  await settings.getByLabel('Wall time').fill('8')
  await expect(settings.getByRole('alert')).toHaveText('Add a unit: 8 s or 8 min')
  await settings.getByLabel('Wall time').fill('8 s')
  await settings.getByLabel('Memory').fill('0.5 GB')
  await settings.getByRole('button', { name: 'Save settings' }).click()
  await expect(page.getByRole('region', { name: 'Project demo' })).toContainText('Wall time 8 s')

  await page.getByRole('button', { name: 'Run slow with…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Run spiders' })
  await addArgument(page, 1, 'seconds', '300')
  await addArgument(page, 2, 'token', SECRET)
  await dialog.getByRole('button', { name: 'Secret value of argument token' }).click()
  await expect(dialog.getByLabel('Value of argument 2')).toHaveAttribute('type', 'password')
  await expect(dialog.getByRole('button', { name: /^Limits/ })).toContainText('8 s wall time, 512 MB memory')
  await dialog.getByRole('button', { name: /^Run/ }).click()

  const job = page.getByRole('complementary', { name: 'Job' })
  await job.getByRole('tab', { name: 'Stats' }).click()
  await expect(job.getByRole('slider', { name: /^Memory over time, peak \d+ MB$/ })).toBeVisible()
  await expect(job.getByRole('region', { name: 'Memory and CPU' })).toContainText('Wall time8 s · project')

  await expect(job).toContainText(/Stopped by the wall time limit of 8 s/, { timeout: 40_000 })
  await expect(jobRows(page, 'slow')).toContainText('failed')
  await expect(job.getByRole('table', { name: 'Usage' })).toContainText(/Memory\d+ MB/)

  await job.getByRole('tab', { name: 'Arguments' }).click()
  await expect(job.getByRole('row', { name: /^token/ }).getByRole('img', { name: 'Secret' })).toBeVisible()
  const [ended] = (await client.jobs.list({ project: 'demo' })).jobs
  const log = await client.logs.read({ jobId: ended?.id ?? '', offset: 0 })
  expect(log.text).toContain('Spider opened')
  expect(log.text + JSON.stringify(ended) + (await page.content())).not.toContain(SECRET)
  await job.getByRole('button', { name: 'Run again…' }).click()
  await expect(dialog).toContainText('Enter the secret value')
  await page.keyboard.press('Escape')
}

export async function giveAProjectItsOwnPython(page: Page, interpreter: string): Promise<void> {
  await openProjectSettings(page, 'demo')
  const settings = page.getByRole('dialog', { name: 'Settings of demo' })
  const project = page.getByRole('region', { name: 'Project demo' })
  await settings.getByText('Interpreter', { exact: true }).click()
  await settings.getByLabel('Interpreter path').fill(interpreter)
  await settings.getByRole('button', { name: 'Save settings' }).click()
  await expect(project).toContainText(interpreter)
  await expect(project).toContainText('ready', { timeout: 30_000 })

  await page.getByRole('button', { name: 'Python and limits…' }).click()
  await settings.getByText('Requirements', { exact: true }).click()
  await settings
    .getByLabel('Requirements file')
    .setInputFiles({ name: 'requirements.txt', mimeType: 'text/plain', buffer: Buffer.from('./no-such-package\n') })
  await settings.getByRole('button', { name: 'Save and build' }).click()
  await expect(project.getByRole('alert')).toContainText('installed: Invalid requirement', { timeout: 60_000 })
  await project.getByRole('button', { name: 'Build log' }).click()
  await expect(page.getByRole('log')).toContainText('no-such-package')
  await page.keyboard.press('Escape')
}

export async function lookAtTheLocalNode(page: Page): Promise<void> {
  await openScreen(page, 'Nodes')
  await page.getByRole('grid', { name: 'Nodes' }).getByText('inside Scrapdeck').click()
  const node = page.getByRole('complementary', { name: /^Node/ })
  await expect(node).toContainText(/Python 3\.\d+\.\d+, Scrapy \d+\.\d+/)
  await expect(node).toContainText(process.platform === 'linux' ? /warm/ : /cold/, { timeout: 30_000 })
  const environments = node.getByRole('region', { name: 'Environments' }).getByRole('listitem')
  await expect(environments.first()).toContainText('failed')
  await expect(environments.filter({ hasText: 'Main' })).toContainText('ready')
}

async function openProjectSettings(page: Page, project: string): Promise<void> {
  await openScreen(page, 'Projects')
  await page.getByRole('grid', { name: 'Projects' }).getByText(project, { exact: true }).click()
  await page.getByRole('button', { name: 'Python and limits…' }).click()
}

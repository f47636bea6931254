import { appendFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from '@playwright/test'
import { endsEgg, PROJECT } from '../logs/ends-project.ts'
import { uploadDemo } from '../support/demo-egg.ts'
import type { Service } from '../support/service.ts'
import { expect, test } from './browser-test.ts'

/** Later than what the spider writes: merged logs are in the order of their times. */
const line = (number: number, level = 'INFO') => `2099-11-02 12:00:00 [story] ${level}: line ${number} of the story\n`
const lines = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => line(from + index)).join('')

/** A run that goes on for minutes, and its log file, into which the story writes too. */
async function startSlow({ client, dataDirectory }: Service): Promise<{ id: string; path: string }> {
  const { jobs } = await client.jobs.run({ project: 'demo', spiders: ['slow'], args: { seconds: '300', delay: '30' } })
  const { id } = jobs[0]!
  await expect.poll(async () => (await client.jobs.get({ id })).job.state).toBe('running')
  const directory = join(dataDirectory, 'local', 'logs', 'demo', 'slow')
  await expect.poll(() => readdirSync(directory).filter((file) => file.startsWith(id)).length).toBe(1)
  return { id, path: join(directory, `${id}.log`) }
}

const lastLines = (page: Page) => page.getByTestId('log').getByRole('log')

test('a log is followed, searched whole, linked to by line, and read again after its run', async ({ page, serve }) => {
  const service = await serve({ localSlots: 2 })
  await uploadDemo(service, 'v1')
  const { id, path } = await startSlow(service)
  await page.goto(service.loginLink())
  await page.goto(`${service.address}/ui/#/logs?jobs=${id}&job=${id}`)
  const log = page.getByTestId('log')
  await expect(log.getByText('● live')).toBeVisible()

  // Followed: a line is there as soon as it is written.
  appendFileSync(path, line(1))
  await expect(lastLines(page)).toContainText('line 1 of the story')
  const follow = log.getByRole('button', { name: /^Follow/ })
  await follow.click()
  appendFileSync(path, lines(2, 4))
  await log.getByRole('button', { name: '3 new lines' }).click()
  await expect(follow).toHaveAttribute('aria-pressed', 'true')

  // A flood: the end is shown, however much of it the view left out.
  appendFileSync(path, lines(5, 400_000) + line(400_001, 'ERROR') + lines(400_002, 400_010))
  await expect(lastLines(page)).toContainText('line 400010 of the story', { timeout: 20_000 })

  // Searched whole: matches far above what is held.
  const box = log.getByRole('textbox', { name: 'Search the log' })
  await box.fill('line 123456 of')
  await expect(log.getByText('1 of 1')).toBeVisible({ timeout: 20_000 })
  await log.getByRole('button', { name: 'Regular expression' }).click()
  await box.fill('line 99999\\d? of')
  await expect(log.getByText(/of 1\b/)).toBeVisible({ timeout: 20_000 })
  await log.getByRole('button', { name: 'List all matches' }).click()
  await expect(log.getByRole('option')).toHaveText(/line 99999 of the story/)
  await box.fill('line 20000[1-3] of')
  await expect(log.getByRole('option')).toHaveCount(3)
  await log.getByRole('option').nth(1).click()
  await expect(log.getByText('2 of 3')).toBeVisible()
  await expect(log.getByText(/^Line \d/)).toHaveText(/Line 200,0\d\d/)
  await page.keyboard.press('n')
  await expect(log.getByText('3 of 3')).toBeVisible()
  await page.keyboard.press('N')
  await expect(log.getByText('2 of 3')).toBeVisible()
  await box.press('Escape')
  await expect(log.getByRole('listbox', { name: 'Matches' })).toBeHidden()

  // The only error of the story.
  await log.getByRole('button', { name: 'Next ERROR' }).click()
  await expect(log.getByText(/^Line \d/)).toHaveText(/Line 400,0\d\d/)

  // A link to lines, by number.
  await page.goto(`${service.address}/ui/#/logs?jobs=${id}&job=${id}&line=200000-200002`)
  await expect(log.getByText(/^Line \d/)).toHaveText(/Line 199,99\d/)
  await expect(log.getByRole('button', { name: 'Copy a link to lines 200,000 to 200,002' })).toBeVisible()

  // Its run ends; the log is whole and complete.
  await service.client.jobs.cancel({ ids: [id as never], force: true })
  await expect.poll(async () => (await service.client.jobs.get({ id: id as never })).job.state).toBe('ended')
  await log.getByRole('button', { name: /^Follow/ }).click()
  await expect(log.getByText('complete')).toBeVisible()
})

test('logs are shown side by side and merged, each line with the name of its log', async ({ page, serve }) => {
  const service = await serve({ localSlots: 2 })
  await uploadDemo(service, 'v1')
  const [one, other] = [await startSlow(service), await startSlow(service)]
  await page.goto(service.loginLink())
  await page.goto(`${service.address}/ui/#/logs?jobs=${one.id}&jobs=${other.id}&job=${one.id}`)
  await expect(page.getByRole('tab')).toHaveCount(2)
  await page.getByRole('tab').nth(1).click()
  await page.getByRole('button', { name: 'Show another log' }).click()
  await page.getByRole('option').first().click()
  await expect(page.getByTestId('log')).toHaveCount(2)
  appendFileSync(one.path, line(1))
  appendFileSync(other.path, line(2))
  const shown = page.getByRole('log')
  await expect(shown.filter({ hasText: 'line 1 of the story' })).toHaveCount(1)
  await expect(shown.filter({ hasText: 'line 2 of the story' })).toHaveCount(1)

  await page.getByRole('button', { name: 'Merge logs' }).click()
  const merged = page.getByTestId('merged-log').getByRole('log')
  await expect(merged).toContainText(/^slow [0-9a-f]{8} 2099-11-02 12:00:00 \[story\] INFO: line 1 of the story$/m)
  await expect(merged).toContainText('line 2 of the story')
  appendFileSync(one.path, line(3))
  await expect(merged).toContainText('line 3 of the story')
  await page.reload()
  await expect(merged).toContainText('line 3 of the story')
})

test('levels are counted and hidden in logs of another format, and in JSON', async ({ page, serve }) => {
  const service = await serve({ localSlots: 2 })
  const { client } = service
  await client.projects.upload({ file: await endsEgg(), project: PROJECT, version: 'v1' })
  await page.goto(service.loginLink())
  for (const [spider, info, warning] of [
    ['other-format', 'INFO | ', 'WARNING | '],
    ['json-log', '"levelname": "INFO"', '"levelname": "WARNING"']
  ] as const) {
    const { jobs } = await client.jobs.run({ project: PROJECT, spiders: [spider], args: { pages: '3' } })
    const id = jobs[0]!.id
    await expect.poll(async () => (await client.jobs.get({ id })).job.state, { timeout: 30_000 }).toBe('ended')
    const { records } = await client.jobs.figures({ id })
    await page.goto(`${service.address}/ui/#/logs?jobs=${id}&job=${id}`)
    const chip = page.getByTestId('log').getByRole('button', { name: /^INFO/ })
    await expect(chip).toHaveText(`INFO ${records.INFO}`)
    expect(records.INFO).toBeGreaterThan(3)
    await expect(lastLines(page)).toContainText(info)
    await chip.click()
    await expect(lastLines(page)).not.toContainText(info)
    await expect(lastLines(page)).not.toContainText(warning)
    await chip.click()
    await expect(lastLines(page)).toContainText(info)
  }
})

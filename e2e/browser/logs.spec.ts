import { appendFileSync } from 'node:fs'
import { lastLines, line, startSlow } from '../stories/slow-log.ts'
import { uploadDemo } from '../support/demo-egg.ts'
import { expect, test } from './browser-test.ts'

const lines = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => line(from + index)).join('')

test('a log is followed, searched whole, linked to by line, and read again after its run', async ({ page, serve }) => {
  const service = await serve({ localSlots: 2 })
  await uploadDemo(service, 'v1')
  const { id, path } = await startSlow(service)
  await page.goto(service.loginLink())
  await page.goto(`${service.address}/ui/#/logs?jobs=${id}&job=${id}`)
  const log = page.getByTestId('log')
  await expect(log.getByText('● live')).toBeVisible()

  appendFileSync(path, line(1))
  await expect(lastLines(page)).toContainText('line 1 of the story')
  const follow = log.getByRole('button', { name: /^Follow/ })
  await follow.click()
  appendFileSync(path, lines(2, 4))
  await log.getByRole('button', { name: '3 new lines' }).click()
  await expect(follow).toHaveAttribute('aria-pressed', 'true')

  appendFileSync(path, lines(5, 400_000) + line(400_001, 'ERROR') + lines(400_002, 400_010))
  await expect(lastLines(page)).toContainText('line 400010 of the story', { timeout: 20_000 })

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

  await log.getByRole('button', { name: 'Next ERROR' }).click()
  await expect(log.getByText(/^Line \d/)).toHaveText(/Line 400,0\d\d/)

  await page.goto(`${service.address}/ui/#/logs?jobs=${id}&job=${id}&line=200000-200002`)
  await expect(log.getByText(/^Line \d/)).toHaveText(/Line 199,99\d/)
  await expect(log.getByRole('button', { name: 'Copy a link to lines 200,000 to 200,002' })).toBeVisible()

  await service.client.jobs.cancel({ ids: [id as never], force: true })
  await expect.poll(async () => (await service.client.jobs.get({ id: id as never })).job.state).toBe('ended')
  await log.getByRole('button', { name: /^Follow/ }).click()
  await expect(log.getByText('complete')).toBeVisible()
})

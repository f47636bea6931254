import { appendFileSync } from 'node:fs'
import { endsEgg, PROJECT } from '../logs/ends-project.ts'
import { lastLines, line, startSlow } from '../stories/slow-log.ts'
import { uploadDemo } from '../support/demo-egg.ts'
import { expect, test } from './browser-test.ts'

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

test('levels are counted and hidden in logs of other formats, including JSON', async ({ page, serve }) => {
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

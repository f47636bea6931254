import { until } from '../../src/engine/testing/until.ts'
import { aProjectName } from '../../src/shared/testing/ids.ts'
import { uploadDemo } from '../support/demo-egg.ts'
import { expect, test } from './browser-test.ts'

test('errors of real runs are grouped over all jobs with their traceback, also of a running job, and can be resolved and reopened', async ({
  page,
  serve
}) => {
  test.setTimeout(180_000)
  const service = await serve()
  await uploadDemo(service, 'v1')
  const run = async (spider: string, args: Record<string, string> = {}) => {
    const { jobs } = await service.client.jobs.run({ project: aProjectName('demo'), spiders: [spider], args })
    return jobs[0]!.id
  }
  const ended = (id: Awaited<ReturnType<typeof run>>) =>
    until('the run has ended', async () => (await service.client.jobs.status({ id })).state === 'ended')
  await ended(await run('prices', { delay: '0' }))
  await ended(await run('prices', { delay: '0' }))
  const broken = await run('broken')
  await ended(broken)
  const { errors } = await service.client.errors.ofJob({ jobId: broken })
  expect(errors.map(({ group }) => group.title)).toContain('RuntimeError: This spider is broken on purpose')

  await page.goto(service.loginLink())
  await page.getByRole('link', { name: 'Errors' }).click()
  const table = page.getByRole('grid', { name: 'Errors' })
  const row = table.getByRole('row').filter({ hasText: 'ValueError' }).first()
  await row.click()
  const pane = page.getByRole('complementary', { name: 'Error' })
  await expect(pane.getByText(/times? by 2 jobs/)).toBeVisible()
  await expect(pane.getByLabel('Example')).toContainText('Traceback (most recent call last):')
  await expect(pane.getByLabel('Example')).toContainText('could not convert string to float')
  await expect(pane.getByLabel('Example')).toContainText('library frame')
  await expect(pane.getByText(/same functions of the project/)).toBeVisible()

  await pane.getByRole('button', { name: 'Resolve' }).click()
  await expect(pane.getByText('resolved', { exact: true })).toBeVisible()
  await expect(row).toBeHidden()
  await ended(await run('prices', { delay: '0' }))
  await expect(pane.getByText('reopened', { exact: true })).toBeVisible()
  await expect(pane.getByText(/times? by 3 jobs/)).toBeVisible()
  await expect(row).toBeVisible()

  const slow = await run('slow', { delay: '0.1' })
  await page.getByRole('link', { name: 'Running' }).click()
  const process = page.getByRole('grid', { name: 'Running jobs' }).getByRole('row').filter({ hasText: 'slow' })
  await expect(process).toContainText('running')
  await expect(process).toContainText(/\d MB/)
  await process.getByText('slow').click()
  const job = page.getByRole('complementary', { name: 'Job' })
  await job.getByRole('tab', { name: 'Stats' }).click()
  await expect(job.getByRole('region', { name: 'Progress' })).toContainText('Responses 200')
  const items = job.locator('dl > div').filter({ hasText: 'Items' }).locator('dd')
  const before = Number(await items.textContent())
  await expect.poll(async () => Number(await items.textContent())).toBeGreaterThan(before)

  await page.getByRole('link', { name: 'Running' }).click()
  await page.getByRole('button', { name: 'Cancel demo/slow' }).click()
  await page.getByRole('button', { name: 'Undo the cancellation of demo/slow' }).click()
  await page.getByRole('button', { name: 'Cancel demo/slow' }).click()
  await until('it was cancelled', async () => (await service.client.jobs.status({ id: slow })).outcome === 'cancelled')
  await expect(page.getByText('Nothing is running')).toBeVisible()
})

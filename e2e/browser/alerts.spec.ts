import { until } from '../../src/engine/testing/until.ts'
import { aProjectName } from '../../src/shared/testing/ids.ts'
import { uploadDemo } from '../support/demo-egg.ts'
import { expect, test } from './browser-test.ts'

test('a rule created from a job fires when its spider fails again; the alert can be acknowledged and silenced, and is then not sent again', async ({
  page,
  serve
}) => {
  test.setTimeout(180_000)
  const service = await serve()
  const { client } = service
  await uploadDemo(service, 'v1')
  const fail = async () => {
    const { jobs } = await client.jobs.run({ project: aProjectName('demo'), spiders: ['broken'] })
    const { id } = jobs[0]!
    await until('the run has ended', async () => (await client.jobs.status({ id })).state === 'ended')
  }
  await fail()

  await page.goto(service.loginLink())
  await page.getByRole('link', { name: 'Jobs', exact: true }).click()
  await page.getByRole('grid', { name: 'Jobs' }).getByRole('row').filter({ hasText: 'broken' }).first().click()
  const pane = page.getByRole('complementary', { name: 'Job' })
  await pane.getByRole('button', { name: 'Notify me when…' }).click()
  await page.getByRole('menuitem', { name: 'this spider fails', exact: true }).click()
  const editor = page.getByRole('dialog', { name: 'New alert rule' })
  await expect(editor.getByText('Fires when a run of demo/broken fails or is lost.')).toBeVisible()
  await editor.getByText('critical', { exact: true }).click()
  await editor.getByRole('button', { name: 'Add rule' }).click()
  await expect(editor).toBeHidden()
  const { rules } = await client.alertRules.list()
  expect(rules).toMatchObject([{ project: 'demo', spider: 'broken', watch: 'spider_fails', severity: 'critical' }])

  await fail()
  const bell = page.getByRole('button', { name: 'Alerts: 1 to acknowledge, highest severity: critical' })
  await expect(bell).toBeVisible({ timeout: 60_000 })
  await bell.click()
  await page.getByRole('link', { name: /demo\/broken/ }).click()
  const alert = page.getByRole('complementary', { name: 'Alert' })
  await expect(alert.getByRole('heading', { name: 'demo/broken', exact: true })).toBeVisible()
  await expect(alert.getByText('not yet')).toBeVisible()
  await expect(alert.getByText('What to do')).toBeVisible()
  await expect(alert.getByText(/^Tall bars are failed runs: 2 of 2/)).toBeVisible()
  await expect(alert.getByText(/This spider is broken on purpose/).last()).toBeVisible()
  await alert.getByRole('button', { name: 'Acknowledge' }).click()
  await expect(alert.getByText('not yet')).toBeHidden()
  await expect(page.getByRole('button', { name: 'Alerts: none to acknowledge' })).toBeVisible()
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect(alert.getByText('not yet')).toBeVisible()
  await expect(bell).toBeVisible()
  await alert.getByRole('button', { name: 'Acknowledge' }).click()
  await expect(alert.getByRole('button', { name: 'Unacknowledge' })).toBeVisible()

  await alert.getByRole('button', { name: 'Silence…' }).click()
  const silence = page.getByRole('dialog', { name: 'Silence demo/broken' })
  await silence.getByText('4 h', { exact: true }).click()
  await silence.getByLabel('Comment').fill('broken on purpose')
  await silence.getByRole('button', { name: 'Silence', exact: true }).click()
  await expect(alert.getByText(/A silence matches this alert/)).toBeVisible()
  await page.getByRole('navigation', { name: 'Views of alerts' }).getByRole('link', { name: 'Silences' }).click()
  const row = page.getByRole('listitem', { name: 'Silence of demo/broken' })
  await expect(row).toContainText('broken on purpose')
  await row.getByRole('button', { name: /^End the silence/ }).click()
  await expect(page.getByText('No silences')).toBeVisible()

  await page.getByRole('button', { name: 'Add maintenance window' }).first().click()
  const window = page.getByRole('dialog', { name: 'Add maintenance window' })
  await window.getByText('Every day', { exact: true }).click()
  await window.getByRole('combobox', { name: 'Project' }).click()
  await page.getByRole('option', { name: 'demo' }).click()
  await window.getByRole('combobox', { name: 'Time zone' }).fill('Europe/Berlin')
  await page.keyboard.press('Tab')
  await window.getByRole('button', { name: 'Add maintenance window' }).click()
  const repeating = page.getByRole('listitem', { name: 'Silence of project demo' })
  await expect(repeating).toContainText('every day 02:00–04:00 (Europe/Berlin)')
  const { silences } = await client.alertSilences.list()
  expect(silences).toMatchObject([{ project: 'demo', repeats: { every: 'day', zone: 'Europe/Berlin', endsMs: null } }])
  await repeating.getByRole('button', { name: /^Remove the silence/ }).click()
  await expect(page.getByText('No silences')).toBeVisible()

  // Disabling the rule ends the alert, which stays in the list.
  await page.getByRole('navigation', { name: 'Views of alerts' }).getByRole('link', { name: 'Rules' }).click()
  await expect(page.getByText('fired once, acted on 1')).toBeVisible()
  await page.getByRole('switch').click({ force: true })
  await page.getByRole('navigation', { name: 'Views of alerts' }).getByRole('link', { name: 'Alerts' }).click()
  const table = page.getByRole('grid', { name: 'Alerts' })
  await expect(table.getByRole('row').filter({ hasText: 'demo/broken' })).toContainText('ended')
})

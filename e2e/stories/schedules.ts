import { join } from 'node:path'
import { expect, type Page } from '@playwright/test'
import Database from 'better-sqlite3'
import { ScheduleSettings } from '../../src/shared/contract/index.ts'
import { type Client, type Service } from '../support/service.ts'
import { until } from '../../src/engine/testing/until.ts'
import { openScreen } from './first-run.ts'

const HOUR_MS = 3_600_000
export const QUOTES = { project: 'demo', spiders: ['quotes'], args: { pages: '1', delay: '0' } }

export const scheduleRow = (page: Page, name: string) =>
  page.getByRole('grid', { name: 'Schedules' }).getByRole('row').filter({ hasText: name })

const nextRuns = (page: Page) => page.getByRole('table', { name: 'Next runs' }).locator('time')

/**
 * The expression, its wording and the builder update each other, whichever is edited. Invalid input in one leaves the
 * others unchanged.
 */
export async function editCronInAllDirections(page: Page): Promise<void> {
  await openScreen(page, 'Schedules')
  await page.getByRole('button', { name: 'New schedule' }).first().click()
  await page.getByLabel('Name', { exact: true }).fill('nightly quotes')
  await chooseZone(page, 'Europe/Berlin')
  const expression = page.getByLabel('Cron expression')
  const words = page.getByRole('textbox', { name: 'In words' })
  const chosen = (label: string) => page.getByRole('button', { name: label, exact: true })

  await expression.fill('30 6 * * 1,3')
  await expect(words).toHaveValue('at 06:30 on Monday and Wednesday')
  await expect(page.getByRole('radio', { name: 'Weekly' })).toBeChecked()
  await expect(chosen('Weekdays: Wed')).toHaveAttribute('aria-pressed', 'true')
  await expect(chosen('Weekdays: Tue')).toHaveAttribute('aria-pressed', 'false')
  await expect(chosen('Hours: 06')).toHaveAttribute('aria-pressed', 'true')
  await expect(page.getByRole('textbox', { name: 'Minute' })).toHaveValue('30')

  await words.fill('every weekday at 3:00')
  await expect(expression).toHaveValue('0 3 * * 1-5')
  await expect(chosen('Weekdays: Tue')).toHaveAttribute('aria-pressed', 'true')
  await words.press('Enter')
  await expect(words).toHaveValue('at 03:00 on Monday to Friday')
  await words.fill('whenever it rains')
  await expect(page.getByText('Not understood.')).toBeVisible()
  await expect(expression).toHaveValue('0 3 * * 1-5')

  await chosen('Weekdays: Sat').click()
  await expect(expression).toHaveValue('0 3 * * MON,TUE,WED,THU,FRI,SAT')
  await expect(words).toHaveValue('at 03:00 on Monday to Saturday')
  await page.getByText('Custom', { exact: true }).click()
  await page.getByLabel('Field minute').fill('*/20')
  await expect(expression).toHaveValue('*/20 3 * * MON,TUE,WED,THU,FRI,SAT')
  await expect(words).toHaveValue('at 03:00, 03:20 and 03:40 on Monday to Saturday')
  await expect(nextRuns(page)).toHaveCount(10)

  await expression.fill('0 25 * * *')
  await expect(page.getByText('it goes from 0 to 23').first()).toBeVisible()
  await page.getByRole('button', { name: 'Create' }).click()
  await expect(page.getByText('Correct the marked fields.')).toBeVisible()
}

/** Days with a clock change are marked and state what the chosen policy does on them. */
export async function seeClockChanges(page: Page): Promise<void> {
  const expression = page.getByLabel('Cron expression')
  const changes = page.locator('[data-clock-change]')
  await expression.fill('30 2 * * *')
  await expect(changes.filter({ hasText: 'clocks go forward 1 h' })).toContainText(
    '02:30 does not exist on that day: it runs at 03:00, once.'
  )
  await expect(changes.filter({ hasText: 'clocks go back 1 h' })).toContainText('only the first occurrence runs')
  await page
    .getByRole('group', { name: 'If a clock change skips the time' })
    .getByRole('button', { name: 'skip' })
    .click()
  await expect(changes.filter({ hasText: 'clocks go forward' })).toContainText(
    '02:30 does not exist on that day: no run.'
  )
  await page.getByRole('button', { name: 'run twice' }).click()
  await expect(changes.filter({ hasText: 'clocks go back' })).toContainText('both occurrences run')
  // If the list of next runs includes the clock change, its runs also have badges, from the day before the change on.
  await expression.fill('30 2 27-28 3 *')
  await page.getByRole('button', { name: 'run at the change' }).click()
  await expect(page.getByRole('table', { name: 'Next runs' }).getByText('moved by clock change').first()).toBeVisible()
  await chooseZone(page, 'UTC')
  await expect(changes).toHaveCount(0)
}

export async function createAndRunNow(page: Page): Promise<void> {
  await page.getByLabel('Cron expression').fill('0 3 * * 1-5')
  await page.getByRole('combobox', { name: 'Project' }).click()
  await page.getByRole('option', { name: 'demo' }).click()
  await page.getByRole('combobox', { name: 'Spiders' }).fill('quotes')
  await page.getByRole('option', { name: 'quotes', exact: true }).click()
  await page.getByLabel('Name', { exact: true }).click()
  for (const [index, [name, value]] of Object.entries({ pages: '1', delay: '0' }).entries()) {
    await page.getByRole('button', { name: 'Add argument' }).click()
    await page.getByRole('combobox', { name: `Name of argument ${index + 1}` }).fill(name)
    await page.getByRole('textbox', { name: `Value of argument ${index + 1}` }).fill(value)
  }
  await page
    .getByRole('group', { name: 'If the previous run is still live' })
    .getByRole('button', { name: 'wait', exact: true })
    .click()
  await page.getByRole('button', { name: 'Create' }).click()
  const detail = page.getByRole('complementary', { name: 'Schedule nightly quotes' })
  await expect(detail).toContainText('at 03:00 on Monday to Friday')
  await expect(detail).toContainText('wait')
  await expect(scheduleRow(page, 'nightly quotes')).toContainText(/in \d+/)
  await detail.getByRole('button', { name: 'Run now' }).click()
  const job = page.getByRole('complementary', { name: 'Job' })
  await expect(job).toContainText('succeeded', { timeout: 60_000 })
  await openScreen(page, 'Schedules')
  await scheduleRow(page, 'nightly quotes').click()
  const history = detail.getByRole('list', { name: 'History' })
  await expect(history).toContainText('manual')
  await expect(history).toContainText('succeeded')
  await expect(scheduleRow(page, 'nightly quotes').getByRole('img', { name: 'Last 1 run: 1 succeeded' })).toBeVisible()
}

export async function pauseWithANote(page: Page): Promise<void> {
  const detail = page.getByRole('complementary', { name: 'Schedule nightly quotes' })
  await detail.getByRole('button', { name: 'Pause…' }).click()
  await page.getByLabel('Note').fill('Until the shop is back')
  await page.getByRole('dialog').getByRole('button', { name: 'Pause schedule' }).click()
  await expect(detail).toContainText('Until the shop is back')
  await expect(scheduleRow(page, 'nightly quotes')).toContainText('paused')
  await detail.getByRole('button', { name: 'Resume' }).click()
  await expect(scheduleRow(page, 'nightly quotes')).toContainText(/in \d+/)
}

export async function backfillTheWeek(page: Page, client: Client): Promise<void> {
  const { schedule } = await client.schedules.create(
    ScheduleSettings.parse({
      name: 'noon quotes',
      zone: 'UTC',
      rules: [{ kind: 'cron', expression: '0 12 * * *' }],
      jobs: [QUOTES]
    })
  )
  await openScreen(page, 'Schedules')
  await scheduleRow(page, 'noon quotes').click()
  const detail = page.getByRole('complementary', { name: 'Schedule noon quotes' })
  await detail.getByRole('button', { name: 'Backfill…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('From').fill('2026-03-01T00:00')
  await dialog.getByLabel('Until').fill('2026-03-03T23:00')
  const plan = dialog.getByRole('status', { name: 'Preview' })
  await expect(plan).toContainText('3 runs, 3 jobs.')
  await expect(plan).toContainText('Sun 1 Mar 12:00')
  const { jobs } = await client.jobs.list({ scheduleId: schedule.id })
  expect(jobs).toHaveLength(0)
  await dialog.getByRole('button', { name: 'Run 3 jobs' }).click()
  await expect(detail.getByRole('region', { name: 'Backfill' })).toContainText('Backfill done', { timeout: 90_000 })
  await expect(detail.getByRole('region', { name: 'Backfill' })).toContainText('3 of 3 runs ended')
  await expect(detail.getByRole('list', { name: 'History' }).getByText('backfill')).toHaveCount(3)
  await detail.getByRole('button', { name: 'Backfill…' }).click()
  await dialog.getByLabel('From').fill('2026-03-01T00:00')
  await dialog.getByLabel('Until').fill('2026-03-03T23:00')
  await expect(plan).toContainText('Nothing to run.')
  await expect(plan).toContainText('All 3 runs in this time range have already run.')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
}

/** Missed runs that are not caught up appear in the table, the detail pane and the missed list. */
export async function findWhatWasMissed(page: Page, service: Service): Promise<void> {
  const { schedule } = await service.client.schedules.create(
    ScheduleSettings.parse({
      name: 'each hour',
      zone: 'UTC',
      // Fires half an hour from now, so it does not fire while this story checks the missed runs.
      rules: [{ kind: 'interval', everySeconds: 3_600, anchorMs: (Date.now() + HOUR_MS / 2) % HOUR_MS }],
      jobs: [QUOTES],
      catchUp: 'none'
    })
  )
  await missHours(service, schedule.id)
  await until(
    'the missed row',
    () => service.client.schedules.firings({ scheduleId: schedule.id, state: ['missed'] }),
    ({ firings }) => firings.length > 0
  )
  await page.goto(service.loginLink())
  await openScreen(page, 'Schedules')
  await expect(scheduleRow(page, 'each hour')).toContainText('missed 3')
  await page.getByRole('navigation', { name: 'Views of schedules' }).getByRole('link', { name: 'Missed' }).click()
  const missed = page.getByRole('grid', { name: 'Missed runs' }).getByRole('row').filter({ hasText: 'each hour' })
  await expect(missed.first()).toContainText('missed')
  await missed.first().click()
  const detail = page.getByRole('complementary', { name: 'Schedule each hour' })
  await expect(detail).toContainText('Missed 3 runs')
  await detail.getByRole('button', { name: 'Catch up…' }).click()
  await expect(page.getByRole('status', { name: 'Preview' })).toContainText(/\d runs, \d jobs\./)
}

/** Even the smallest desktop window shows long times in full. */
export async function readLongTimesInTheTable(page: Page, client: Client): Promise<void> {
  await client.schedules.create(
    ScheduleSettings.parse({
      name: 'shops of the south',
      zone: 'America/Argentina/Buenos_Aires',
      rules: [{ kind: 'cron', expression: '*/10 8-18 1-7,15-21 * MON-FRI' }],
      jobs: [QUOTES]
    })
  )
  await page.setViewportSize({ width: 1280, height: 720 })
  await openScreen(page, 'Schedules')
  const row = scheduleRow(page, 'shops of the south')
  for (const text of ['*/10 8-18 1-7,15-21 * MON-FRI', 'America/Argentina/Buenos_Aires']) {
    const cut = await row
      .getByText(text, { exact: true })
      .evaluate((span) => [span.scrollWidth - span.clientWidth, span.scrollHeight - span.clientHeight])
    expect(cut).toEqual([0, 0])
  }
}

/** Simulates three hours of downtime: the engine continues from the time that it recorded. */
export async function missHours(service: Service, scheduleId: string): Promise<void> {
  await service.kill()
  const database = new Database(join(service.dataDirectory, 'scrapdeck.sqlite'))
  const { changes } = database
    .prepare('UPDATE schedule_progress SET done_until_ms = ? WHERE schedule_id = ?')
    .run(Date.now() - 3 * HOUR_MS, scheduleId)
  database.close()
  expect(changes).toBe(1)
  await service.start()
}

async function chooseZone(page: Page, zone: string): Promise<void> {
  await page.getByRole('combobox', { name: 'Time zone' }).fill(zone)
  await page.getByRole('option', { name: zone, exact: true }).click()
}

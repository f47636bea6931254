import { expect, type Page } from '@playwright/test'
import { type Schedule, ScheduleSettings } from '../../src/shared/contract/index.ts'
import type { Client } from '../support/service.ts'
import { openScreen } from './first-run.ts'
import { QUOTES } from './schedules.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const AHEAD_MS = 5.5 * HOUR_MS

export async function openView(page: Page, name: 'Missed' | 'Calendar' | 'Load' | 'Chains'): Promise<void> {
  await openScreen(page, 'Schedules')
  await page.getByRole('navigation', { name: 'Views of schedules' }).getByRole('link', { name }).click()
}

/** `30 Nov` */
const dateWords = (atMs: number) =>
  new Date(atMs).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })

/** The week shows each run in the browser's zone (Kolkata: UTC+5:30) or in UTC. */
export async function readTheWeek(page: Page, client: Client): Promise<void> {
  const todayMs = Math.floor((Date.now() + AHEAD_MS) / DAY_MS) * DAY_MS
  const wednesdayMs = todayMs + (7 - ((new Date(todayMs).getUTCDay() + 6) % 7) + 2) * DAY_MS
  const { schedule: late } = await create(client, 'late news', { kind: 'cron', expression: '0 22 * * *' })
  await create(client, 'stocktaking', { kind: 'once', atMs: wednesdayMs + 12 * HOUR_MS })
  await client.schedules.runNow({ id: late.id })

  await openView(page, 'Calendar')
  const hours = (name: RegExp) => page.getByRole('button', { name })
  const byHand = hours(/runs?$/).filter({ has: page.getByRole('img', { name: 'succeeded' }) })
  await expect(byHand).toContainText('late news', { timeout: 30_000 })
  await expect(page.getByRole('button', { name: 'This week' })).toBeDisabled()
  const minutesMs = (Date.now() + AHEAD_MS) % HOUR_MS
  const line = await page.locator('td[data-today] i').evaluate((element) => Number.parseFloat(element.style.top))
  expect(Math.abs((((minutesMs / HOUR_MS) * 100 - line + 150) % 100) - 50)).toBeLessThan(4)
  await page.keyboard.press('n')
  await expect(page.getByRole('columnheader', { name: `Wed ${dateWords(wednesdayMs)}` })).toBeVisible()
  await expect(hours(/ 03:00, 1 run$/)).toHaveCount(7)
  await expect(hours(/ 03:00, 1 run$/).first()).toHaveText(/:30late news/)
  await expect(page.getByRole('button', { name: `Wed ${dateWords(wednesdayMs)} 17:00, 1 run` })).toHaveText(
    /:30stocktaking/
  )
  await page.getByText('UTC', { exact: true }).click()
  await expect(hours(/ 22:00, 1 run$/)).toHaveCount(7)
  await expect(hours(/ 03:00/)).toHaveCount(0)
  await page.getByRole('button', { name: `Wed ${dateWords(wednesdayMs)} 12:00, 1 run` }).click()
  const pane = page.getByRole('complementary', { name: 'Runs in this hour' })
  await expect(pane.getByRole('heading')).toHaveText(`Wed ${dateWords(wednesdayMs)}, 12:00 to 13:00`)
  await expect(pane.getByRole('listitem')).toContainText('upcoming')

  await page.getByText('Your time').click()
  await expect(pane).toBeHidden()
  await page.getByRole('button', { name: 'Previous week' }).click()
  await expect(byHand).toHaveCount(1)
  await page.getByRole('button', { name: 'Next week' }).click()
  await hours(/ 03:00, 1 run$/)
    .last()
    .click()
  await expect(pane.getByRole('listitem')).toContainText('22:00 in UTC')
  await pane.getByRole('link', { name: 'late news' }).click()
  await expect(page.getByRole('complementary', { name: 'Schedule late news' })).toContainText('at 22:00')
}

/**
 * Eight jobs for two slots start in the same minute. They are spread over several minutes, then the times are
 * restored.
 */
export async function spreadTheLoad(page: Page, client: Client): Promise<void> {
  const hour = (new Date().getUTCHours() + 2) % 24
  const inKolkata = `${String((hour + 5) % 24).padStart(2, '0')}:37`
  const isCrowded = new RegExp(`${inKolkata}: 8 jobs of 8 schedules`)
  for (let number = 1; number <= 8; number++) {
    const expression = number === 1 ? `* ${hour} * * *` : `7 ${hour} * * *`
    await create(client, `shop ${number}`, { kind: 'cron', expression })
  }
  const fullest = async () => {
    const fromMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS
    const { minutes } = await client.schedules.load({ fromMs, untilMs: fromMs + DAY_MS })
    return Math.max(...minutes.map(({ jobs }) => jobs))
  }
  await openView(page, 'Load')
  const chart = page.getByRole('slider', { name: /^Jobs started per minute/ })
  await expect(chart).toHaveAttribute('aria-valuetext', isCrowded)
  await page.getByRole('button', { name: new RegExp(`${inKolkata}.*8 jobs`) }).click()
  const pane = page.getByRole('complementary', { name: 'Minute' })
  await expect(pane.getByRole('link', { name: /^shop/ })).toHaveCount(8)
  await expect(pane).toContainText('8 schedules start 8 jobs; 6 jobs of them wait for a slot.')

  await pane.getByRole('button', { name: 'Spread…' }).click()
  const dialog = page.getByRole('dialog', { name: /^Spread/ })
  await expect(dialog.getByRole('status')).toHaveText(
    '6 schedules of 8 are moved; then up to 2 jobs start in one minute.'
  )
  await expect(dialog.getByRole('img', { name: 'now: up to 8 jobs in one minute' })).toBeVisible()
  await expect(dialog.getByRole('img', { name: 'then: up to 2 jobs in one minute' })).toBeVisible()
  await expect(dialog.getByRole('listitem').filter({ hasText: 'runs every minute' })).toContainText('shop 1')
  expect(await fullest()).toBe(8)
  await dialog.getByRole('button', { name: 'Move 6 schedules' }).click()
  await expect(dialog).toBeHidden()
  await expect(chart).toHaveAttribute('aria-valuetext', /: 2 jobs of 2 schedules/)
  await expect(pane.getByRole('link', { name: /^shop/ })).toHaveCount(2)
  expect(await fullest()).toBe(2)

  await page.getByRole('button', { name: 'Undo' }).click()
  await expect(chart).toHaveAttribute('aria-valuetext', isCrowded)
  expect(await fullest()).toBe(8)
}

const create = (client: Client, name: string, rule: Schedule['rules'][number]) =>
  client.schedules.create(ScheduleSettings.parse({ name, zone: 'UTC', rules: [rule], jobs: [QUOTES] }))

import type { Page } from '@playwright/test'
import { until } from '../../src/engine/testing/until.ts'
import type { Desktop } from '../support/desktop.ts'
import type { Client } from '../support/service.ts'
import { expect, test, untilDoor } from './desktop-test.ts'

interface ShownNotification {
  title: string
  body: string
  actions: (string | undefined)[]
}

async function watchNotifications(desktop: Desktop): Promise<void> {
  await desktop.evaluate(({ Notification }) => {
    const shown: Electron.Notification[] = []
    Object.assign(globalThis, { shownNotifications: shown })
    const show = Notification.prototype.show
    Notification.prototype.show = function () {
      shown.push(this)
      show.call(this)
    }
  })
}

const shown = (desktop: Desktop): Promise<ShownNotification[]> =>
  desktop.evaluate(() =>
    (globalThis as unknown as { shownNotifications: Electron.Notification[] }).shownNotifications.map(
      ({ title, body, actions }) => ({ title, body, actions: actions.map(({ text }) => text) })
    )
  )

const press = (desktop: Desktop, button: string | null): Promise<void> =>
  desktop.evaluate((_electron, text) => {
    const newest = (globalThis as unknown as { shownNotifications: Electron.Notification[] }).shownNotifications.at(-1)!
    if (text === null) newest.emit('click', {})
    else newest.emit('action', { actionIndex: newest.actions.findIndex((action) => action.text === text) })
  }, button)

const tray = (desktop: Desktop) =>
  desktop.evaluate(() => {
    const { tip, labels } = (globalThis as unknown as { seenTray: { tip: string; labels: string[] } }).seenTray
    return { tip, labels }
  })

async function watchTray(desktop: Desktop): Promise<void> {
  await desktop.evaluate(({ Tray }) => {
    const seen = { tip: '', labels: [] as string[] }
    Object.assign(globalThis, { seenTray: seen })
    const { setToolTip, setContextMenu } = Tray.prototype
    Tray.prototype.setToolTip = function (text) {
      seen.tip = text
      setToolTip.call(this, text)
    }
    Tray.prototype.setContextMenu = function (menu) {
      seen.labels = menu?.items.map(({ label }) => label) ?? []
      setContextMenu.call(this, menu)
    }
  })
}

async function fail(client: Client): Promise<void> {
  const { jobs } = await client.jobs.run({ project: 'demo', spiders: ['broken'] })
  const { id } = jobs[0]!
  await until('the run has failed', async () => (await client.jobs.get({ id })).job.state === 'ended')
}

async function openAlert(window: Page): Promise<void> {
  const pane = window.getByRole('complementary', { name: 'Alert' })
  await expect(pane.getByRole('heading', { name: 'demo/broken', exact: true })).toBeVisible()
}

// Uses its own app, because failures in this test appear in the figures of the last hour.
test('an alert shows a notification that can open it, acknowledge it and run its job again; the tray counts it', async ({
  desktop,
  window,
  userData
}) => {
  test.setTimeout(120_000)
  await expect(window.getByRole('heading', { name: 'Overview' })).toBeVisible()
  const { client } = await untilDoor(userData)
  const { job } = await client.system.runDemo()
  await until('the demo has ended', async () => (await client.jobs.get({ id: job.id })).job.state === 'ended')
  await watchNotifications(desktop)
  await watchTray(desktop)

  const { channel } = await client.alertChannels.create({ name: 'This desk', target: { kind: 'desktop' } })
  expect(await client.alertChannels.test({ id: channel.id })).toMatchObject({ ok: true })
  await expect
    .poll(() => shown(desktop))
    .toEqual([{ title: 'Test: Scrapdeck', body: expect.stringContaining('Nothing is wrong'), actions: [] }])

  const { rule } = await client.alertRules.create({
    name: 'demo fails',
    watch: 'spider_fails',
    comparison: 'at_least',
    threshold: 1,
    forSeconds: 0,
    severity: 'warning',
    project: 'demo',
    channels: [channel.id],
    gatherSeconds: 0
  })
  await fail(client)
  await expect.poll(async () => (await shown(desktop)).length, { timeout: 30_000 }).toBe(2)
  expect((await shown(desktop))[1]).toEqual({
    title: 'Warning: demo/broken',
    actions: ['Acknowledge', 'Retry'],
    body: expect.stringContaining('demo/broken failed')
  })
  await expect.poll(() => tray(desktop)).toMatchObject({ tip: expect.stringMatching(/, 1 alert$/) })
  expect((await tray(desktop)).labels).toContain('1 alert')

  await press(desktop, null)
  await openAlert(window)
  await press(desktop, 'Acknowledge')
  await expect.poll(async () => (await client.alerts.list({})).alerts[0]?.acknowledged).not.toBeNull()
  await expect.poll(async () => (await tray(desktop)).tip).toMatch(/in the last hour$/)

  const before = (await client.jobs.list({ project: 'demo' })).jobs.length
  await press(desktop, 'Retry')
  await expect.poll(async () => (await client.jobs.list({ project: 'demo' })).jobs.length).toBe(before + 1)
  await client.alertRules.remove({ id: rule.id })
  await client.alertChannels.remove({ id: channel.id })
})

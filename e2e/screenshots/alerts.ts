import type { Page } from '@playwright/test'
import { until } from '../../src/engine/testing/until.ts'
import { type AlertSeverity, type AlertTarget, AlertRuleSettings } from '../../src/shared/contract/index.ts'
import { ALERT_WATCHES, type AlertWatch } from '../../src/shared/alert-watches.ts'
import { aProjectName } from '../../src/shared/testing/ids.ts'
import type { Client, Service } from '../support/service.ts'

const HOUR_MS = 3_600_000
const NOWHERE = 'http://127.0.0.1:9'

export async function fillAlerts({ client }: Service): Promise<void> {
  const [chat, onCall] = [
    await channel(client, '#crawl-alerts', { kind: 'webhook', url: 'http://127.0.0.1:9/chat' }, { quiet: QUIET }),
    await channel(client, 'on-call', { kind: 'pagerduty', url: 'https://events.pagerduty.com/v2/enqueue' }),
    await channel(client, 'pricing team', MAIL, { digest: DIGEST }),
    await channel(client, 'page of the desk', { kind: 'desktop' }, { enabled: false })
  ]
  const rule = async (watch: AlertWatch, name: string, over: Partial<AlertRuleSettings> = {}) => {
    const { usual, compares } = ALERT_WATCHES[watch]
    const common = { ...usual, watch, name, comparison: compares[0], forSeconds: 0, channels: [chat] }
    return (await client.alertRules.create(AlertRuleSettings.parse({ ...common, ...over }))).rule
  }
  const escalation = { afterSeconds: 900, channels: [onCall] }
  await rule('node_down', 'A node does not respond', { owner: 'Platform', escalation })
  await rule('spider_fails', 'A spider of shop fails', { ...shop(), severity: 'critical', owner: 'Shop team' })
  await rule('spider_items', 'shop/prices has fewer than 1,000 items', { ...shop('prices'), threshold: 1_000 })
  const waits = await rule('job_waits_long', 'A job waits', { groupBy: 'each' })
  await rule('spider_errors', 'A run logs errors', { threshold: 1, severity: 'info' as AlertSeverity })
  await rule('disk_free', 'The disk fills', { owner: 'Platform', channels: [onCall] })
  const ending = await rule('spider_fails', 'A spider of news fails', { project: aProjectName('news') })

  const silence = (over: object) => client.alertSilences.create({ untilMs: Date.now() + 3 * HOUR_MS, ...over })
  await silence({ ruleId: waits.id, comment: 'The GPU nodes are back this afternoon' })
  const [sunday, repeats] = [Date.UTC(2026, 10, 1, 1), { zone: 'Europe/Berlin', endsMs: null }]
  const weekly = { fromMs: sunday, untilMs: sunday + 2 * HOUR_MS, repeats: { ...repeats, every: 'week' as const } }
  await silence({ ...weekly, nodeTag: 'eu', comment: 'Backups and updates of the servers in Europe' })
  const daily = { ...weekly, untilMs: sunday + 23.75 * HOUR_MS, repeats: { ...repeats, every: 'day' as const } }
  await silence({
    ...daily,
    project: aProjectName('news'),
    spider: 'quotes',
    comment: 'The site is slow, except at night'
  })

  for (const [name, tag] of [
    ['us-2', 'us'],
    ['lab-b', 'lab']
  ] as const)
    await client.nodes.add({ url: `${NOWHERE}/${name}`, name, slots: 2, tags: [tag] })
  const { nodes } = await client.nodes.list()
  await client.nodes.setMode({ id: nodes.find(({ name }) => name === 'lab-b')!.id, mode: 'cordoned' })
  const run = (project: string, spiders: string[], over: object = {}) =>
    client.jobs.run({ project: aProjectName(project), spiders, ...over })
  await run('shop', ['broken', 'broken', 'prices', 'prices', 'prices'], { args: { delay: '0' } })
  await run('news', ['broken', 'quotes'], { args: { pages: '2', delay: '0' } })
  await run('shop', ['quotes'], { tags: ['gpu'] })
  const firing = async () => (await client.alerts.list({ state: 'firing' })).alerts
  const wanted = ['us-2', 'lab-b', 'shop/broken', 'news/broken', 'shop/prices', 'shop/quotes']
  await until(
    'the alerts to fire',
    firing,
    (all) => wanted.every((of) => all.some(({ subject }) => subject === of)),
    120_000
  )
  const failing = (await firing()).filter(({ ruleName }) => ruleName === 'A spider of shop fails')
  await client.alerts.acknowledge({ ids: failing.map(({ id }) => id) })
  // Disabling its rule ends the alert.
  await client.alertRules.update({ ...ending, enabled: false })
}

const QUIET = { zone: 'Europe/Berlin', from: '22:00', until: '07:00', days: [0, 1, 2, 3, 4, 5, 6] }
const DIGEST = { every: 'week' as const, at: '08:00', zone: 'Europe/Berlin', weekday: 1 }
const MAIL: AlertTarget = {
  kind: 'email',
  to: ['pricing@example.net', 'oncall@example.net'],
  from: 'scrapdeck@example.net',
  host: '127.0.0.1',
  port: 9,
  security: 'none',
  username: ''
}

const shop = (spider: string | null = null) => ({ project: aProjectName('shop'), spider })

async function channel(client: Client, name: string, target: AlertTarget, over: object = {}) {
  const secret = target.kind === 'pagerduty' ? { secret: 'f'.repeat(32) } : {}
  return (await client.alertChannels.create({ name, target, ...over, ...secret })).channel.id
}

const openAlert = async (page: Page, subject: string) => {
  await page.goto('#/alerts')
  await page.getByRole('grid', { name: 'Alerts' }).getByRole('row').filter({ hasText: subject }).first().click()
  await page.getByRole('complementary', { name: 'Alert' }).waitFor()
}

async function openRule(page: Page) {
  await page.goto('#/alerts/rules')
  await page.getByRole('button', { name: 'New rule' }).click()
  const dialog = page.getByRole('dialog', { name: 'New alert rule' })
  await dialog.getByRole('combobox', { name: 'Notify when' }).click()
  await page.getByRole('option', { name: ALERT_WATCHES.spider_fails.label }).click()
  return dialog
}

export const ALERT_SCREENS: Record<string, (page: Page) => Promise<void>> = {
  alerts: (page) => page.goto('#/alerts').then(() => {}),
  'alerts-detail': (page) => openAlert(page, 'us-2'),
  'alerts-acknowledged': (page) => openAlert(page, 'shop/broken failed'),
  'alerts-marked': async (page) => {
    await page.goto('#/alerts')
    await page.getByRole('checkbox', { name: 'Select all rows shown' }).click()
  },
  'alerts-undo': async (page) => {
    await openAlert(page, 'us-2')
    await page.getByRole('complementary', { name: 'Alert' }).getByRole('button', { name: 'Acknowledge' }).click()
    await page.getByText('us-2 acknowledged').waitFor()
    await page.waitForTimeout(300)
  },
  'alerts-undone': async (page) => {
    await page.getByRole('button', { name: 'Undo' }).first().click()
    await page.goto('#/alerts?state=resolved')
  },
  'alerts-bell': async (page) => {
    await page.goto('#/alerts')
    await page.getByRole('button', { name: /^Alerts: / }).click()
  },
  'alerts-rules': (page) => page.goto('#/alerts/rules').then(() => {}),
  'alerts-rule': async (page) => {
    await openRule(page)
  },
  'alerts-rule-preview': async (page) => {
    const dialog = await openRule(page)
    await dialog.getByRole('button', { name: 'Preview on past data' }).click()
    await dialog
      .getByText(/Would have fired|would have fired/)
      .first()
      .waitFor()
    await dialog.getByRole('region', { name: 'Preview on past data' }).scrollIntoViewIfNeeded()
  },
  'alerts-silences': (page) => page.goto('#/alerts/silences').then(() => {}),
  'alerts-silence': async (page) => {
    await openAlert(page, 'us-2')
    await page.getByRole('complementary', { name: 'Alert' }).getByRole('button', { name: 'Silence…' }).click()
    await page.getByRole('dialog').getByText('Until…').click()
  },
  'alerts-window': (page) => page.goto('#/alerts/silences?add=window').then(() => {}),
  'alerts-channels': (page) => page.goto('#/alerts/channels').then(() => {}),
  'alerts-channel': (page) => page.goto('#/alerts/channels?add=true').then(() => {}),
  'alerts-report': (page) => page.goto('#/alerts/report').then(() => {})
}

export const ALERT_FIRST_SCREENS: Record<string, (page: Page) => Promise<void>> = {
  'alerts-first': (page) => page.goto('#/alerts').then(() => {}),
  'alerts-first-silences': (page) => page.goto('#/alerts/silences').then(() => {}),
  'alerts-first-channels': (page) => page.goto('#/alerts/channels').then(() => {}),
  'alerts-first-report': (page) => page.goto('#/alerts/report').then(() => {})
}

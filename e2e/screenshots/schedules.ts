import type { Page } from '@playwright/test'
import { ChainSettings, ScheduleSettings, type WebhookEvent } from '../../src/shared/contract/index.ts'
import { missHours } from '../stories/schedules.ts'
import { startReceiver } from '../stories/webhooks.ts'
import { type Client, type Service } from '../support/service.ts'
import { until } from '../../src/engine/testing/until.ts'

const DAY_MS = 86_400_000
const QUICK = { pages: '1', delay: '0' }

/** The webhook receiver of the screenshots is on this machine. */
export const PICTURE_CONFIGURATION = '[scrapdeck]\nwebhook_networks = 127.0.0.1\n'

export async function fillSchedules(service: Service): Promise<void> {
  const { client } = service
  const cron = (expression: string) => [{ kind: 'cron' as const, expression }]
  const make = async (name: string, rules: object[], spiders: string[], over: object = {}) =>
    (
      await client.schedules.create(
        ScheduleSettings.parse({
          name,
          zone: 'Europe/Berlin',
          rules,
          jobs: [{ project: 'shop', spiders, args: QUICK }],
          ...over
        })
      )
    ).schedule
  const nightly = await make('nightly prices', cron('0 3 * * 1-5'), ['prices', 'quotes'], {
    overlap: 'queue_one',
    jitterSeconds: 120
  })
  await make('lunch quotes', cron('30 12 * * *'), ['quotes'], { zone: 'America/New_York' })
  await make('half past two', cron('30 2 * * *'), ['quotes'], { doubled: 'run_twice' })
  await make('stock by 10', cron('*/10 8-18 * * 1-5'), ['quotes'])
  for (const city of ['Berlin', 'Lyon', 'Milan', 'Porto', 'Turku', 'Wien', 'York', 'Zagreb'])
    await make(`shops of ${city}`, cron('0 6 * * *'), ['quotes'])
  const monthly = await make('monthly full', cron('0 0 L * *'), ['prices'])
  await client.schedules.setPaused({ ids: [monthly.id], paused: true, note: 'Until the shop is back (Ana)' })
  const fragile = await make('fragile', cron('15 5 * * *'), ['broken'])
  const missed = await make('each hour', [{ kind: 'interval', everySeconds: 3600, anchorMs: 0 }], ['quotes'], {
    catchUp: 'none'
  })
  await backfill(client, fragile.id, 3)
  await backfill(client, nightly.id, 9)
  await fillChains(client)
  await fillWebhooks(client)
  await missHours(service, missed.id)
}

async function backfill(client: Client, id: string, days: number): Promise<void> {
  const nowMs = Date.now()
  await client.schedules.backfill({ id, fromMs: nowMs - days * DAY_MS, untilMs: nowMs, concurrency: 10 })
  await until(
    'the backfill',
    () => client.schedules.get({ id }),
    (schedule) => schedule.backfill?.state === 'done',
    120_000
  )
}

async function fillChains(client: Client): Promise<void> {
  const chain = (name: string, spider: string, on: string, run: object) =>
    client.chains.create(ChainSettings.parse({ name, project: 'shop', spider, on, run }))
  await chain('quotes after prices', 'prices', 'succeeded', { project: 'shop', spiders: ['quotes'], args: QUICK })
  await chain('tell the stock', 'prices', 'ended', { project: 'shop', spiders: ['stock'] })
  await chain('a second look', 'broken', 'failed', { project: 'news', spiders: ['quotes'], args: QUICK })
  await chain('news after quotes', 'quotes', 'succeeded', { project: 'news', spiders: ['prices'], args: QUICK })
  await client.jobs.run({ project: 'shop', spiders: ['prices'], args: QUICK })
  await until(
    'the chain with problems',
    () => client.chains.list(),
    ({ chains }) => chains.some(({ problem }) => problem !== null),
    60_000
  )
}

async function fillWebhooks(client: Client): Promise<void> {
  const receiver = await startReceiver()
  const events: WebhookEvent[] = ['job.ended', 'schedule.missed']
  const add = async (name: string) =>
    (await client.webhooks.create({ name, url: receiver.url, events, project: null, enabled: true })).webhook
  const warehouse = await add('price warehouse')
  await client.jobs.run({ project: 'news', spiders: ['quotes'], args: QUICK })
  const webhook = async () => (await client.webhooks.list()).webhooks.find(({ id }) => id === warehouse.id)
  await until('a delivery', webhook, (each) => each?.lastDeliveredAtMs !== null, 60_000)
  await add('alerts of the team')
  receiver.answerWith(410)
  await client.jobs.run({ project: 'news', spiders: ['quotes'], args: QUICK })
  await until('one given up', webhook, (each) => (each?.dead ?? 0) > 0, 60_000)
  receiver.stop()
}

const detailOf = (name: string) => async (page: Page) => {
  await page.goto('#/schedules')
  await page.getByRole('grid', { name: 'Schedules' }).getByRole('row').filter({ hasText: name }).first().click()
}

export const SCHEDULE_SCREENS: Record<string, (page: Page) => Promise<void>> = {
  schedules: (page) => page.goto('#/schedules').then(() => {}),
  'schedules-detail': detailOf('nightly prices'),
  'schedules-paused': detailOf('monthly full'),
  'schedules-new': async (page) => {
    await page.goto('#/schedules')
    await page.getByRole('button', { name: 'New schedule' }).first().click()
  },
  'schedules-cron': async (page) => {
    await detailOf('half past two')(page)
    await page.getByRole('button', { name: /^Edit/ }).first().click()
    await page.getByLabel('Cron expression').waitFor()
  },
  'schedules-wrong': async (page) => {
    await page.goto('#/schedules')
    await page.getByRole('button', { name: 'New schedule' }).first().click()
    await page.getByLabel('Cron expression').fill('0 25 * * *')
  },
  'schedules-leave': async (page) => {
    await page.goto('#/schedules')
    await page.getByRole('button', { name: 'New schedule' }).first().click()
    await page.getByLabel('Name').fill('nightly prices of the north')
    await page.getByRole('link', { name: /^Jobs/ }).click()
  },
  'schedules-backfill': async (page) => {
    await detailOf('nightly prices')(page)
    await page.getByRole('button', { name: 'Backfill…' }).click()
  },
  'schedules-missed': (page) => page.goto('#/schedules/missed').then(() => {}),
  'schedules-calendar': (page) => page.goto('#/schedules/calendar').then(() => {}),
  'schedules-hour': async (page) => {
    await page.goto('#/schedules/calendar')
    await page.keyboard.press('n')
    await page
      .getByRole('button', { name: /^\w{3} .* 05:00, .*runs$/ })
      .or(page.getByRole('button', { name: /shops of/ }))
      .first()
      .click()
  },
  'schedules-load': (page) => page.goto('#/schedules/load').then(() => {}),
  'schedules-minute': async (page) => {
    await page.goto('#/schedules/load')
    await page
      .getByRole('button', { name: /[89] schedules/ })
      .first()
      .click()
  },
  'schedules-spread': async (page) => {
    await page.goto('#/schedules/load')
    await page
      .getByRole('button', { name: /[89] schedules/ })
      .first()
      .click()
    await page.getByRole('button', { name: 'Spread…' }).click()
  },
  chains: (page) => page.goto('#/schedules/chains').then(() => {}),
  'chains-edit': async (page) => {
    await page.goto('#/schedules/chains')
    await page.getByRole('button', { name: 'Edit quotes after prices' }).click()
  },
  webhooks: async (page) => {
    await page.goto('#/settings')
    await page.getByRole('heading', { name: 'Webhooks' }).scrollIntoViewIfNeeded()
  },
  'webhooks-add': async (page) => {
    await page.goto('#/settings')
    await page.getByRole('button', { name: 'Add webhook' }).click()
  },
  'webhooks-deliveries': async (page) => {
    await page.goto('#/settings')
    await page
      .getByRole('listitem', { name: 'Webhook price warehouse' })
      .getByRole('button', { name: 'Deliveries' })
      .click()
  }
}

export const EMPTY_SCREENS: Record<string, (page: Page) => Promise<void>> = {
  'first-run': (page) => page.reload().then(() => {}),
  'first-schedules': (page) => page.goto('#/schedules').then(() => {}),
  'first-missed': (page) => page.goto('#/schedules/missed').then(() => {}),
  'first-calendar': (page) => page.goto('#/schedules/calendar').then(() => {}),
  'first-load': (page) => page.goto('#/schedules/load').then(() => {}),
  'first-chains': (page) => page.goto('#/schedules/chains').then(() => {})
}

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { aSpiderEgg } from '../../src/engine/testing/spider-egg.ts'
import { until } from '../../src/engine/testing/until.ts'
import { ALERT_WATCHES, type AlertWatch } from '../../src/shared/alert-watches.ts'
import type { AlertChannelId, AlertRuleSettings } from '../../src/shared/contract/index.ts'
import { aProjectName } from '../../src/shared/testing/ids.ts'
import { type Scrapyd, startScrapyd } from '../support/scrapyd-fleet.ts'
import { type Service, startService } from '../support/service.ts'
import { type Receiver, startHookServer, startMailServer } from './receivers.ts'

const PRICES = `import time

import scrapy


class Prices(scrapy.Spider):
    name = "prices"
    start_urls = ["data:text/plain,hello"]

    def parse(self, response):
        time.sleep(float(getattr(self, "seconds", "0")))
        if getattr(self, "fails", "") == "yes":
            raise scrapy.exceptions.CloseSpider("the shop is closed")
        yield {"price": 3}
`

const DISK_MEGABYTES = 160
/** How much space to leave on the disk. The service's database is on the same disk and needs some of it. */
const LEFT_MEGABYTES = 8
/** How long to wait for an unwanted message. */
const QUIET_MS = 4_000

let folder: string
let data: string
let isOwnDisk = false
let scrapyd: Scrapyd
let service: Service
let mail: Receiver
let hook: Awaited<ReturnType<typeof startHookServer>>
let channels: AlertChannelId[]

function mountDisk(at: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MEGABYTES}m`, 'tmpfs', at], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'scrapdeck-alerts-'))
  data = mkdtempSync(join(tmpdir(), 'scrapdeck-alerts-data-'))
  isOwnDisk = mountDisk(data)
  const configuration = join(folder, 'scrapyd.conf')
  writeFileSync(configuration, '[scrapdeck]\nwebhook_networks = 127.0.0.1\n')
  let secret = ''
  ;[scrapyd, service, mail, hook] = await Promise.all([
    startScrapyd(),
    startService({ localSlots: 0, dataDirectory: data, arguments: ['--config', configuration] }),
    startMailServer(),
    startHookServer(() => secret)
  ])
  const { client } = service
  await client.nodes.add({ url: scrapyd.url, name: 'north', slots: 2 })
  await client.projects.upload({ file: await aSpiderEgg(PRICES), project: 'shop', version: '1' })
  const email = { kind: 'email' as const, to: ['ops@example.org'], from: 'Scrapdeck <deck@example.org>' }
  const byMail = await client.alertChannels.create({
    name: 'Mail',
    target: { ...email, host: '127.0.0.1', port: mail.port, security: 'none' }
  })
  const target = { kind: 'webhook' as const, url: `http://127.0.0.1:${hook.port}/alerts` }
  const byHook = await client.alertChannels.create({ name: 'Hook', target })
  secret = byHook.secret!
  channels = [byMail.channel.id, byHook.channel.id]
}, 120_000)

afterAll(async () => {
  await service?.stop()
  await Promise.all([scrapyd?.stop(), mail?.stop(), hook?.stop()])
  if (isOwnDisk) execFileSync('umount', [data])
  for (const path of [folder, data]) if (path !== undefined) rmSync(path, { recursive: true, force: true })
}, 60_000)

const aRule = (watch: AlertWatch, over: Partial<AlertRuleSettings>) => {
  const { usual, compares } = ALERT_WATCHES[watch]
  const rule = { ...usual, watch, comparison: compares[0], name: watch, channels, gatherSeconds: 0, ...over }
  return service.client.alertRules.create(rule)
}

/** The messages that both receivers got. Counts copies of a message once. */
const told = () =>
  [mail, hook].map(({ received }) => [
    ...new Map(received.map(({ id, title }) => [id, title.replace(/^\[Scrapdeck\] /, '')])).values()
  ])
const copies = () => [mail, hook].map(({ received }) => received.length)
const waiting = async () => {
  const all = (await service.client.alertChannels.list()).channels
  return all.reduce((sum, one) => sum + one.waiting, 0)
}

const untilTold = (count: number, limitMs = 60_000) =>
  until(
    `both to be told ${count} times`,
    async () => ({ told: told(), waiting: await waiting() }),
    (now) => now.waiting === 0 && now.told.every((titles) => titles.length >= count),
    limitMs
  )

async function killService(meanwhile: () => Promise<unknown> = async () => {}): Promise<void> {
  await service.kill()
  await meanwhile()
  await service.start()
}

async function run(args: Record<string, string>) {
  const { jobs } = await service.client.jobs.run({ project: aProjectName('shop'), spiders: ['prices'], args })
  const { id } = jobs[0]!
  const job = async () => (await service.client.jobs.get({ id })).job
  const become = (state: string) => until(`the run to be ${state}`, job, (now) => now.state === state, 60_000)
  return { id, become }
}

/**
 * Expects this many messages, the last two about the alert and its end. Also checks that no accepted message arrives
 * again.
 */
async function expectOnce(count: number, [alert, end]: [RegExp, RegExp], copiesBefore: number[], extraCopies = 0) {
  await delay(QUIET_MS)
  for (const titles of told()) {
    expect(titles).toHaveLength(count)
    expect(titles.slice(-2)).toEqual([expect.stringMatching(alert), expect.stringMatching(end)])
  }
  expect(copies()).toEqual(copiesBefore.map((before) => before + 2 + extraCopies))
  expect(hook.unsigned).toBe(0)
}

test('alerts about a real spider are sent once each, although the service is dead when it fails and is killed again before it succeeds', async () => {
  await aRule('spider_fails', {})
  const before = copies()
  const failing = await run({ fails: 'yes', seconds: '3' })
  await failing.become('running')
  await killService(() => delay(4_000))
  await failing.become('ended')
  await untilTold(1)
  await killService()
  await delay(QUIET_MS)
  expect(told().map((titles) => titles.length)).toEqual([1, 1])
  await (await run({})).become('ended')
  await untilTold(2)
  await expectOnce(2, [/^(Warning|Firing): shop\/prices failed/, /^Resolved: shop\/prices/], before)
  const [failed, over] = mail.received.map(({ text }) => text!)
  expect(failed).toContain(`Last log lines of shop/prices, job ${failing.id}:`)
  expect(failed).toMatch(/ {2}\S+ \S+ \[scrapy\.core\.engine\] INFO: Spider closed \(the shop is closed\)\n/)
  expect(failed).toMatch(/INFO: Dumping Scrapy stats: \(\d+ lines left out\)\n/)
  expect(over).toContain('Outcomes of the last 2 runs of shop/prices:\n  Tall bars are failed runs: 1 of 2.\n')
  expect(over).not.toContain('Last log lines')
}, 180_000)

test('alerts about a real Scrapyd that stops and starts again are sent once each, although the service is killed in between', async () => {
  await aRule('node_down', { forSeconds: 5 })
  const before = copies()
  await scrapyd.kill()
  await until(
    'the alert to wait for its time',
    async () => (await service.client.nodes.list()).nodes.find(({ name }) => name === 'north')?.health,
    (health) => health === 'down'
  )
  // The message arrives once, whether it was still pending or just sent.
  await killService()
  await untilTold(3)
  await killService(() => scrapyd.restart())
  await untilTold(4)
  await expectOnce(4, [/^(Critical|Firing): north is down/, /^Resolved: north/], before)
}, 180_000)

test('a message that both receivers held when the service was killed is sent again under the same id', async () => {
  const before = copies()
  mail.isHolding = hook.isHolding = true
  await scrapyd.kill()
  await until('both to hold the message', told, (all) => all.every((titles) => titles.length === 5))
  await service.kill()
  mail.isHolding = hook.isHolding = false
  await service.start()
  await untilTold(5)
  await until('what was held to be taken', () =>
    [mail, hook].every(({ received }) => received.at(-1)!.isTaken && received.length === before[0]! + 2)
  )
  await scrapyd.restart()
  await untilTold(6)
  await expectOnce(6, [/^(Critical|Firing): north is down/, /^Resolved: north/], before, 1)
}, 180_000)

test('alerts about a real disk that fills up and is freed are sent once each, although the service is killed in between', async (context) => {
  if (!isOwnDisk) return context.skip('only root can mount a disk for the data directory')
  await aRule('disk_free', { threshold: 10, forSeconds: 0 })
  const before = copies()
  const { bavail, bsize } = statfsSync(data)
  writeFileSync(join(data, 'filler'), Buffer.alloc(bavail * bsize - LEFT_MEGABYTES * 1_048_576, 1))
  await untilTold(7)
  await killService()
  await delay(QUIET_MS)
  rmSync(join(data, 'filler'))
  await untilTold(8)
  await expectOnce(
    8,
    [/^(Critical|Firing): [\d.]+ % of the service’s disk/, /^Resolved: .+ % of the service’s disk/],
    before
  )
}, 180_000)

test('the list of alerts has those that were sent, and all of them are resolved', async () => {
  const { alerts } = await service.client.alerts.list({})
  const subjects = alerts.map(({ subject, state }) => `${subject} ${state}`)
  const ofDisk = isOwnDisk ? ['The service’s disk resolved'] : []
  expect(subjects).toEqual([...ofDisk, 'north resolved', 'north resolved', 'shop/prices resolved'])
})

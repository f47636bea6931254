/**
 * `node scripts/show-messages.ts DIRECTORY` creates pictures of the messages that alert channels send: e-mails in
 * light and dark clients, wide and narrow, and an approximation of how Slack displays the blocks.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Page } from '@playwright/test'
import { chromiumLaunchOptions } from '../e2e/support/chromium.ts'
import {
  historyOfDay,
  historyOfOutcomes,
  historyOfRuns,
  historyOfRunTime
} from '../src/engine/monitoring/alerts/evidence/histories.ts'
import { lastLines } from '../src/engine/monitoring/alerts/evidence/last-lines.ts'
import type { PastRun } from '../src/engine/model/records.ts'
import { anAlert, aRunAlert, NOW_MS, someNews } from '../src/engine/testing/alert-news.ts'
import { escapeHtml } from '../src/engine/notify/deliveries/channels/email-html.ts'
import { exampleNews } from '../src/engine/notify/deliveries/channels/message.ts'
import { renderEmail } from '../src/engine/notify/deliveries/channels/render-email.ts'
import { slackBlocks } from '../src/engine/notify/deliveries/channels/slack.ts'
import type { AlertEvidence, AlertView, JobId, Outcome } from '../src/shared/contract/index.ts'

const LINKS = { base: 'https://deck.example.org' }
const resolved = { firedAtMs: NOW_MS - 5_400_000, resolvedAtMs: NOW_MS }
const DISK = '8.2 % of the service’s disk is free'
const ofService = (over: Partial<AlertView>) =>
  anAlert({ ...over, labels: { ...anAlert().labels, nodeId: null, nodeTags: [] } })
const NEWS = {
  down: someNews({
    firing: [anAlert(), anAlert({ subject: 'south-2', text: 'south-2 is down: no answer within 5 s' }), aRunAlert()],
    resolved: [aRunAlert({ subject: 'shop/stock', text: 'shop/stock: the last run failed', ...resolved })],
    title: '3 alerts: north is down: connection refused',
    moreFiring: 4,
    stillFiring: 2,
    kind: 'repeat'
  }),
  items: someNews({
    firing: [aRunAlert()],
    severity: 'warning',
    ruleName: 'Prices have items',
    owner: '',
    title: 'shop/prices: 3 items, at least 1,000 were expected'
  }),
  back: someNews({
    firing: [],
    resolved: [aRunAlert(resolved)],
    severity: 'warning',
    ruleName: 'Prices have items',
    owner: '',
    title: 'shop/prices: 3 items, at least 1,000 were expected'
  }),
  fails: someNews({
    firing: [
      aRunAlert({ watch: 'spider_fails', value: 3, text: "shop/prices failed 3 times in a row: KeyError: 'price'" }),
      aRunAlert({ subject: 'shop/stock', watch: 'spider_fails', text: 'shop/stock failed: exit code 1' })
    ],
    severity: 'warning',
    ruleName: 'Spiders of shop fail',
    owner: 'shop team',
    title: "2 alerts: shop/prices failed 3 times in a row: KeyError: 'price'"
  }),
  long: someNews({
    firing: [aRunAlert({ watch: 'job_runs_long', text: 'shop/prices is still running on north' })],
    severity: 'warning',
    ruleName: 'Runs of shop',
    title: 'shop/prices is still running on north'
  }),
  queue: someNews({
    firing: [
      ofService({ watch: 'queue_length', severity: 'warning', subject: 'The queue', text: '1,310 jobs waiting' })
    ],
    severity: 'warning',
    ruleName: 'The queue is short',
    title: '1,310 jobs waiting'
  }),
  disk: someNews({
    firing: [ofService({ watch: 'disk_free', subject: 'The service’s disk', text: DISK })],
    ruleName: 'The disk has room',
    title: DISK
  }),
  over: someNews({
    firing: [],
    resolved: [anAlert(resolved)],
    severity: 'critical',
    title: 'north is down: connection refused'
  }),
  hostile: someNews({
    firing: [
      anAlert({
        subject: '<b>&amp;'.repeat(20),
        text: `${'verylongword'.repeat(30)} <!channel> *bold*\u202e\u0007 @here`
      })
    ],
    title: '</h1><script>alert(1)</script> <@U123> 蜘蛛 🕷️'
  }),
  test: exampleNews(NOW_MS)
}

const SUBJECT = 'shop/prices'
const JOB = aRunAlert().labels.jobId!
const MINUTE_MS = 60_000
const RUN_LOG = `2026-11-28 10:36:58 [scrapy.core.engine] INFO: Spider opened
2026-11-28 10:36:58 [scrapy.extensions.logstats] INFO: Crawled 0 pages (at 0 pages/min), scraped 0 items (at 0 items/min)
2026-11-28 10:37:01 [scrapy.downloadermiddlewares.retry] DEBUG: Retrying <GET https://shop.example/p/12?page=3> (failed 1 times): 503 Service Unavailable
2026-11-28 10:37:02 [scrapy.core.scraper] ERROR: Spider error processing <GET https://shop.example/p/12?page=3&sort=price&currency=EUR> (referer: https://shop.example/p/12?page=2&sort=price&currency=EUR)
Traceback (most recent call last):
  File "/opt/venv/lib/python3.12/site-packages/scrapy/utils/defer.py", line 346, in iter_errback
    yield next(it)
  File "/tmp/shop-1.egg/shop/spiders/prices.py", line 41, in parse
    price = product["price"]["amount"]
            ~~~~~~~^^^^^^^^^
KeyError: 'price'
2026-11-28 10:37:02 [scrapy.core.engine] INFO: Closing spider (finished)
2026-11-28 10:37:02 [scrapy.statscollectors] INFO: Dumping Scrapy stats:
{'downloader/request_bytes': 2840,
 'finish_reason': 'finished',
 'item_scraped_count': 3,
 'start_time': datetime.datetime(2026, 11, 28, 10, 36, 58, 21000)}
2026-11-28 10:37:02 [scrapy.core.engine] INFO: Spider closed (finished)
`
const ITEMS = [1180, 1204, 1190, 1175, 1201, 1199, 1188, 1210, 1195, 1203, 1187, 1192, 640, 1181, 1194, 1200, 1178, 3]
const ran = (items: number, index: number, all: readonly unknown[]) => {
  const age = all.length - 1 - index
  const endedAtMs = NOW_MS - age * 360 * MINUTE_MS - 12 * MINUTE_MS
  const outcome: Outcome = items < 1_000 ? 'failed' : 'succeeded'
  return { id: (age === 0 ? JOB : String(index)) as JobId, outcome, items, errors: 0, queuedAtMs: endedAtMs, endedAtMs }
}
const runs = ITEMS.map(ran).toReversed()
const failing = [...ITEMS, 0, 0].map(ran).toReversed()
const pastRuns = runs.map(({ id: jobId, items, endedAtMs }, at): PastRun => {
  const seconds = 1_500 + ((at * 211) % 600)
  const rest = { pages: items, items, errors: 0, filledFields: null }
  return { jobId, ...rest, startedAtMs: endedAtMs - seconds * 1_000, endedAtMs }
})
const day = (valueAt: (share: number) => number) =>
  Array.from({ length: 289 }, (_, at) => ({
    atMs: NOW_MS - (288 - at) * 5 * MINUTE_MS,
    value: Math.round(valueAt(at / 288))
  }))
const now = { nowMs: NOW_MS }
const log = { subject: SUBJECT, jobId: JOB, lines: lastLines(RUN_LOG, true) }
const longJob = { id: JOB, startedAtMs: NOW_MS - 412 * MINUTE_MS, endedAtMs: null }
const queue = day((share) => 40 + 30 * Math.sin(share * 40) + (share > 0.7 ? (share - 0.7) * 4_300 : 0))
const EVIDENCE: Partial<Record<keyof typeof NEWS, AlertEvidence>> = {
  items: { log, history: historyOfRuns('items', runs, { subject: SUBJECT, jobId: JOB }) },
  back: {
    log: null,
    history: historyOfRuns('items', [...ITEMS, 1_198].map(ran).toReversed(), { subject: SUBJECT, jobId: null })
  },
  fails: { log, history: historyOfOutcomes(failing, SUBJECT) },
  long: {
    log: { ...log, lines: log.lines.slice(0, 3) },
    history: historyOfRunTime(longJob, pastRuns, { ...now, subject: SUBJECT })
  },
  queue: { log: null, history: historyOfDay('queue_length', queue, { ...now, now: 1_310 }) },
  disk: {
    log: null,
    history: historyOfDay(
      'disk_free',
      day((share) => 62 - 50 * share ** 3),
      { ...now, now: 8.2 }
    )
  },
  hostile: {
    log: {
      ...log,
      lines: ['</div><script>alert(1)</script>', '\u001b[31mred\u001b[0m \u202egnp.exe', 'x'.repeat(900)]
    },
    history: historyOfRuns('items', runs, { subject: '<img src=x>'.repeat(9), jobId: JOB })
  }
}

const directory = process.argv[2] ?? '.cache/messages'
mkdirSync(directory, { recursive: true })
const { args, executablePath } = chromiumLaunchOptions()
const browser = await chromium.launch({ args, ...(executablePath !== undefined && { executablePath }) })
try {
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [760, 375]) {
      const page = await browser.newPage({ colorScheme, viewport: { width, height: 400 } })
      for (const [name, news] of Object.entries(NEWS)) {
        const { html } = renderEmail(news, LINKS, EVIDENCE[name as keyof typeof NEWS])
        await shoot(page, html, `email-${name}-${colorScheme}-${width}`)
      }
      await page.close()
    }
  }
  const page = await browser.newPage({ viewport: { width: 760, height: 400 } })
  for (const [name, news] of Object.entries(NEWS))
    await shoot(page, slackPage(slackBlocks(news, LINKS)), `slack-${name}`)
} finally {
  await browser.close()
}

async function shoot(page: Page, html: string, name: string): Promise<void> {
  await page.setContent(html)
  await page.screenshot({ path: join(directory, `${name}.png`), fullPage: true })
}

type Part = Record<string, unknown>

function slackPage(blocks: Part[]): string {
  const shown = blocks.map((block) => `<div class="${String(block['type'])}">${shownPart(block)}</div>`)
  return `<meta charset="utf-8"><style>
    body{font:15px/22px Lato,Helvetica,Arial,sans-serif;color:#1d1c1d;padding:16px 20px;max-width:640px}
    .header{font-size:18px;font-weight:900;margin:4px 0}.context{font-size:13px;color:#616061;margin:4px 0}
    .context span{margin-right:10px}.rich_text{margin:6px 0;white-space:pre-wrap;word-break:break-word}
    button{font:700 13px Lato,Arial;padding:6px 12px;border:1px solid #bbb;border-radius:4px;background:#fff;margin-top:6px}
    a{color:#1264a3;text-decoration:none}</style><b>Scrapdeck</b> <small style="color:#616061">APP 10:49</small>${shown.join('')}`
}

/** Draws the dot of an emoji, because not every machine has an emoji font. */
function dot(sign: string): string {
  const color = { '🔴': '#dd2e44', '🟠': '#f4900c', '🔵': '#55acee', '🟢': '#78b159' }[sign] ?? '#d0d0d0'
  return `<i style="display:inline-block;width:13px;height:13px;border-radius:7px;background:${color}"></i>`
}

function shownPart(part: Part): string {
  const { type, text, elements, fallback, style, url } = part
  if (Array.isArray(elements)) return (elements as Part[]).map(shownPart).join('')
  if (type === 'button') return `<button>${escapeHtml((text as { text: string }).text)}</button>`
  if (typeof text === 'object') return shownPart(text as Part)
  const words = escapeHtml(String(text ?? fallback)).replaceAll(/[🔴🟠🔵🟢⚪]/gu, (sign) => dot(sign))
  if (url !== undefined) return `<a>${words}</a>`
  return style === undefined ? `<span>${words}</span>` : `<b>${words}</b>`
}

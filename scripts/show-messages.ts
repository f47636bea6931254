/**
 * Pictures of what alert channels send, to be looked at after a change: `node scripts/show-messages.ts DIRECTORY`.
 * E-mails in light and dark clients, wide and narrow, and what Slack makes of its blocks, roughly.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Page } from '@playwright/test'
import { chromiumLaunchOptions } from '../e2e/support/chromium.ts'
import { anAlert, aRunAlert, NOW_MS, someNews } from '../src/engine/testing/alert-news.ts'
import { escapeHtml } from '../src/engine/webhooks/channels/email-html.ts'
import { exampleNews } from '../src/engine/webhooks/channels/message.ts'
import { renderEmail } from '../src/engine/webhooks/channels/render-email.ts'
import { slackBlocks } from '../src/engine/webhooks/channels/slack.ts'

const LINKS = { base: 'https://deck.example.org' }
const resolved = { firedAtMs: NOW_MS - 5_400_000, resolvedAtMs: NOW_MS }
const NEWS = {
  down: someNews({
    firing: [anAlert(), anAlert({ subject: 'south-2', text: 'south-2 is down: no answer within 5 s' }), aRunAlert()],
    resolved: [aRunAlert({ subject: 'shop/stock', text: 'shop/stock: the last run failed', ...resolved })],
    ...{ title: '3 alerts: north is down: connection refused', moreFiring: 4, stillFiring: 2, kind: 'repeat' }
  }),
  items: someNews({
    ...{ firing: [aRunAlert()], severity: 'warning', ruleName: 'Prices have items', owner: '' },
    title: 'shop/prices: 3 items, at least 1,000 were expected'
  }),
  over: someNews({
    ...{ firing: [], resolved: [anAlert(resolved)], severity: 'critical', title: 'north is down: connection refused' }
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
const EXTRA = {
  logTail: [
    '2026-11-28 10:36:58 [scrapy.core.engine] INFO: Spider opened',
    '2026-11-28 10:37:02 [scrapy.core.scraper] ERROR: Spider error processing <GET https://shop.example/p/12?page=3> (referer: None)',
    "KeyError: 'price'",
    '2026-11-28 10:37:02 [scrapy.core.engine] INFO: Spider closed (finished)'
  ],
  history: [
    1180, 1204, 1190, 1175, 1201, 1199, 1188, 1210, 1195, 1203, 1187, 1192, 640, 1181, 1194, 1200, 1178, 1205, 3
  ]
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
        const { html } = renderEmail(news, LINKS, name === 'items' ? EXTRA : undefined)
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

/** Not every machine has a font with emoji. */
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

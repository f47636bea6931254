import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anAlert, aRunAlert, harmless, hostileNews, hostileText, NOW_MS, someNews } from '../../testing/alert-news.ts'
import { LINKS } from '../../testing/channel-server.ts'
import { renderEmail } from './render-email.ts'

const skeleton = (html: string) => html.replaceAll(/>[^<]*</g, '><')

test('whatever stands in alerts and logs, the markup is the same as of harmless words', () => {
  fc.assert(
    fc.property(hostileNews(3), fc.array(hostileText(200), { maxLength: 3 }), (news, logTail) => {
      const { html, text, subject } = renderEmail(news, LINKS, { logTail, history: [1, 2] })
      const calm = renderEmail(harmless(news), LINKS, { logTail: logTail.map(() => 'x'), history: [1, 2] })
      expect(skeleton(html)).toBe(skeleton(calm.html))
      expect(subject.length).toBeLessThanOrEqual(200)
      for (const each of [subject, html, text]) expect(each).not.toMatch(/[\0-\t\v-\u001f\u202e\u2028]/)
    }),
    { numRuns: 60 }
  )
})

test('hostile text is shown as it was written, and brings neither elements nor links', () => {
  const subject = `</td><script>alert("1")</script> & <img src='x'>`
  const { html } = renderEmail(someNews({ firing: [anAlert({ subject })] }), LINKS)
  const escaped = '&lt;/td&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &lt;img src=&#39;x&#39;&gt;'
  expect(html).toContain(`>${escaped}<`)
  expect(html).not.toMatch(/<(?:script|img|iframe|form|link|svg|object|b)\b/)
  expect(html.match(/href="[^"]*"/g)).toEqual(['href="https://deck.example.org/#/alerts"'])
})

test('nothing is loaded from elsewhere, and links are left out while the address of the app is unknown', () => {
  const { html, text } = renderEmail(someNews({ firing: [aRunAlert()] }), { base: null })
  expect(html + text).not.toMatch(/https?:|url\(|src=|href=/)
})

test('a full message stays below what Gmail shows', () => {
  const long = anAlert({ subject: '<&>"'.repeat(100), text: '&'.repeat(3_000) })
  const news = someNews({ firing: Array(20).fill(long), resolved: Array(20).fill({ ...long, resolvedAtMs: NOW_MS }) })
  const { html } = renderEmail(news, LINKS, { logTail: Array(99).fill('<'.repeat(999)), history: Array(99).fill(7) })
  expect(Buffer.byteLength(html)).toBeLessThan(102_000)
  expect(html).toMatch(/and \d+ more/)
})

test('a message after which its channel is silent says until when', () => {
  const factsOf = (all: boolean) =>
    renderEmail(someNews({ limit: { heldUntilMs: NOW_MS + 3_600_000, all } }), LINKS).text.match(
      /^Limit reached.*/m
    )?.[0]
  expect(factsOf(false)).toBe('Limit reached: messages that are not critical are held until 2026-11-28 11:49 UTC')
  expect(factsOf(true)).toBe('Limit reached: all messages are held until 2026-11-28 11:49 UTC')
})

test('the text part says the same', () => {
  const resolved = aRunAlert({ resolvedAtMs: aRunAlert().firedAtMs + 720_000 })
  const news = someNews({ kind: 'repeat', resolved: [resolved], moreFiring: 4, stillFiring: 2 })
  expect(renderEmail(news, LINKS, { logTail: ['[scrapy] ERROR: refused'], history: [12, 0, 1_204, 3] }).text).toBe(
    `Critical: north is down: connection refused

Rule: Nodes are up
Owner: crawl team
Reminder: nobody has acknowledged this yet
Still firing: 2 reported before

Firing:
- north (Critical, since 2026-11-28 10:37 UTC)
  north is down: connection refused
and 4 more

Resolved:
- shop/prices (resolved after 12 min)
  shop/prices: 3 items, at least 1,000 were expected
  https://deck.example.org/#/job/${'d'.repeat(32)}

Last 4 values: 0 to 1,204; now 3

Last lines of the log:
  [scrapy] ERROR: refused

https://deck.example.org/#/alerts
`
  )
})

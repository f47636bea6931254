import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  anAlert,
  aRunAlert,
  harmless,
  hostileNews,
  hostileText,
  NOW_MS,
  someEvidence,
  someNews
} from '../../../testing/alert-news.ts'
import { LINKS } from '../../../testing/channel-server.ts'
import { renderEmail } from './render-email.ts'

const skeleton = (html: string) => html.replaceAll(/>[^<]*</g, '><')

test('whatever alerts and logs contain, the markup is the same as for harmless text', () => {
  fc.assert(
    fc.property(
      hostileNews(3),
      fc.array(hostileText(200), { maxLength: 3 }),
      hostileText(99),
      (news, lines, spider) => {
        const { html, text, subject } = renderEmail(news, LINKS, someEvidence(lines, spider))
        const calm = renderEmail(harmless(news), LINKS, someEvidence(lines.map(() => 'x')))
        expect(skeleton(html)).toBe(skeleton(calm.html))
        expect(subject.length).toBeLessThanOrEqual(200)
        for (const each of [subject, html, text]) expect(each).not.toMatch(/[\0-\t\v-\u001f\u202e\u2028]/)
      }
    ),
    { numRuns: 60 }
  )
})

test('hostile text is shown as it was written, and adds neither elements nor links', () => {
  const subject = `</td><script>alert("1")</script> & <img src='x'>`
  const { html } = renderEmail(someNews({ firing: [anAlert({ subject })] }), LINKS)
  const escaped = '&lt;/td&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &lt;img src=&#39;x&#39;&gt;'
  expect(html).toContain(`>${escaped}<`)
  expect(html).not.toMatch(/<(?:script|img|iframe|form|link|svg|object|b)\b/)
  expect(html.match(/href="[^"]*"/g)).toEqual(['href="https://deck.example.org/#/alerts"'])
})

test('nothing is loaded from other servers, and links are left out while the address of the app is unknown', () => {
  const { html, text } = renderEmail(someNews({ firing: [aRunAlert()] }), { base: null })
  expect(html + text).not.toMatch(/https?:|url\(|src=|href=/)
})

test('a full message stays below what Gmail shows', () => {
  const long = anAlert({ subject: '<&>"'.repeat(100), text: '&'.repeat(3_000) })
  const news = someNews({ firing: Array(20).fill(long), resolved: Array(20).fill({ ...long, resolvedAtMs: NOW_MS }) })
  const evidence = someEvidence(Array(99).fill('"'.repeat(999)), '<'.repeat(999))
  const bars = Array(99).fill({ value: 7, tone: 'past' })
  const { html } = renderEmail(news, LINKS, { ...evidence, history: { ...evidence.history!, bars } })
  expect(Buffer.byteLength(html)).toBeLessThan(102_000)
  expect(html).toMatch(/and \d+ more/)
  expect(html).toContain('&quot;&quot;…')
})

test('the lines of a log keep their indentation, but no control characters', () => {
  const lines = [
    'Traceback (most recent call last):',
    '  File "shop.py", line 3, in parse',
    '\t\u001b[31mx\u001b[0m\u202e y '
  ]
  const { html, text } = renderEmail(someNews(), LINKS, someEvidence(lines))
  const shown = 'Traceback (most recent call last):\n    File "shop.py", line 3, in parse\n      x⟨U+202E⟩ y\n'
  expect(text).toContain(shown)
  expect(html).toContain('<br>  File &quot;shop.py&quot;, line 3, in parse<br>    x⟨U+202E⟩ y</div>')
})

test('a chart consists of table cells with a description below, and a single value has none', () => {
  const { html } = renderEmail(someNews(), LINKS, someEvidence([]))
  expect(html.match(/<td class="past" height="48"|<td height="3"/g)).toHaveLength(2)
  expect(html).toContain('This run: 3 items. 1 other run: 1,204 items.')
  expect(html).not.toContain('Last lines')
  const { history } = someEvidence([])
  const one = renderEmail(someNews(), LINKS, { log: null, history: { ...history!, bars: history!.bars.slice(1) } })
  expect(one.html).toBe(renderEmail(someNews(), LINKS).html)
})

test('the last message before a silence of its channel says until when', () => {
  const factsOf = (all: boolean) =>
    renderEmail(someNews({ limit: { heldUntilMs: NOW_MS + 3_600_000, all } }), LINKS).text.match(
      /^Limit reached.*/m
    )?.[0]
  expect(factsOf(false)).toBe('Limit reached: non-critical messages are held until 2026-11-28 11:49 UTC')
  expect(factsOf(true)).toBe('Limit reached: all messages are held until 2026-11-28 11:49 UTC')
})

test('the text part has the same content', () => {
  const resolved = aRunAlert({ resolvedAtMs: aRunAlert().firedAtMs + 720_000 })
  const news = someNews({ kind: 'repeat', resolved: [resolved], moreFiring: 4, stillFiring: 2 })
  expect(renderEmail(news, LINKS, someEvidence(['[scrapy] ERROR: refused'])).text).toBe(
    `Critical: north is down: connection refused

Rule: Nodes are up
Owner: crawl team
Reminder: not acknowledged yet
Still firing: 2 reported earlier
What to do: Check that the node runs and that this machine can reach it. Cordon it while you work on it: then its alerts are not sent.

Firing:
- north (Critical, since 2026-11-28 10:37 UTC)
  north is down: connection refused
and 4 more

Resolved:
- shop/prices (resolved after 12 min)
  shop/prices: 3 items, at least 1,000 were expected
  https://deck.example.org/#/job/${'d'.repeat(32)}

Items of the last 2 runs of shop/prices:
  This run: 3 items. 1 other run: 1,204 items.
  2026-11-27 10:49 UTC to 2026-11-28 10:49 UTC

Last log lines of shop/prices, job ${'d'.repeat(32)}:
  [scrapy] ERROR: refused

https://deck.example.org/#/alerts
`
  )
})

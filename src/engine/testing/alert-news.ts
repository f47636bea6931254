import fc from 'fast-check'
import type {
  AlertEvidence,
  AlertId,
  AlertNews,
  AlertRuleId,
  AlertView,
  JobId,
  NodeId,
  ProjectName
} from '../../shared/contract/index.ts'
import type { StoredDelivery } from '../model/records.ts'
import { oneLine } from '../notify/deliveries/channels/words.ts'

export const NOW_MS = Date.UTC(2026, 10, 28, 10, 49)

export const anAlert = (over: Partial<AlertView> = {}): AlertView => ({
  id: 'a'.repeat(32) as AlertId,
  severity: 'critical',
  watch: 'node_down',
  subject: 'north',
  text: 'north is down: connection refused',
  value: 1,
  labels: {
    project: null,
    spider: null,
    jobId: null,
    scheduleId: null,
    errorGroupId: null,
    nodeId: 'b'.repeat(32) as NodeId,
    nodeTags: ['eu']
  },
  firedAtMs: NOW_MS - 720_000,
  resolvedAtMs: null,
  ...over
})

export const aRunAlert = (over: Partial<AlertView> = {}): AlertView =>
  anAlert({
    id: 'c'.repeat(32) as AlertId,
    severity: 'warning',
    watch: 'spider_items',
    subject: 'shop/prices',
    value: 3,
    text: 'shop/prices: 3 items, at least 1,000 were expected',
    labels: {
      project: 'shop' as ProjectName,
      spider: 'prices',
      jobId: 'd'.repeat(32) as JobId,
      scheduleId: null,
      errorGroupId: null,
      nodeId: null,
      nodeTags: []
    },
    ...over
  })

export const someNews = (over: Partial<AlertNews> = {}): AlertNews => ({
  kind: 'news',
  ruleId: 'e'.repeat(32) as AlertRuleId,
  groupId: 'channel rule ',
  ruleName: 'Nodes are up',
  owner: 'crawl team',
  severity: 'critical',
  title: 'north is down: connection refused',
  firing: [anAlert()],
  resolved: [],
  moreFiring: 0,
  moreResolved: 0,
  stillFiring: 0,
  ...over
})

export const someEvidence = (lines: readonly string[], subject = 'shop/prices'): AlertEvidence => ({
  log: { subject, jobId: 'd'.repeat(32) as JobId, lines: [...lines] },
  history: {
    title: `Items of the last 2 runs of ${subject}`,
    bars: [
      { value: 1_204, tone: 'past' },
      { value: 3, tone: 'now' }
    ],
    fromMs: NOW_MS - 86_400_000,
    untilMs: NOW_MS,
    caption: 'This run: 3 items. 1 other run: 1,204 items.'
  }
})

export const deliveryOf = (news: AlertNews, over: Partial<StoredDelivery> = {}): StoredDelivery =>
  ({
    id: 'msg_m8x2v9_1',
    event: 'alert',
    state: 'waiting',
    tries: 0,
    madeAtMs: NOW_MS,
    body: JSON.stringify({ type: 'alert', timestamp: new Date(NOW_MS).toISOString(), data: news }),
    ...over
  }) as StoredDelivery

const HOSTILE = [
  ...['<script>alert(1)</script>', '</td></table><img src=x onerror=a>', '"><a href="https://evil.example">x</a>'],
  ...['<!channel>', '<@U024BE7LH>', '<https://evil.example|bank>', '*bold* _it_ ~no~ `code`', '&lt;!channel&gt;'],
  ...['@everyone', '@here', '<@&123>', '[bank](https://evil.example)', '**x** || # h', '\\', '\\@everyone', '```'],
  ...['</code><b>x</b>', '@durov', '/start', 'https://evil.example/?a=1&b=2', '{{DATE(2017-02-14T06:08:39Z,SHORT)}}'],
  ...['<at>everyone</at>', '${x}', '@{x}', '\u001b[31mred\u001b[0m', '\u202egnp.exe', '\u0000\u0007', '\r\n.\r\nQUIT'],
  ...['\ud800', '🕷️', 'Жук', '\u2028', "'"]
]

export const hostileText = (most: number) =>
  fc
    .array(
      fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ unit: 'binary', maxLength: 20 }), fc.constant('x'.repeat(99)))
    )
    .map((parts) => parts.join(' ').slice(0, most))

const hostileAlert = (isFiring: boolean) =>
  fc
    .record({ subject: hostileText(400), text: hostileText(3_000), hasJob: fc.boolean() })
    .map(({ hasJob, ...texts }) => {
      const resolvedAtMs = isFiring ? null : NOW_MS
      return hasJob ? aRunAlert({ ...texts, resolvedAtMs }) : anAlert({ ...texts, resolvedAtMs })
    })

export const hostileNews = (most: number): fc.Arbitrary<AlertNews> =>
  fc
    .record({
      title: hostileText(300),
      ruleName: hostileText(300),
      owner: hostileText(300),
      kind: fc.constantFrom('news' as const, 'repeat' as const, 'test' as const),
      severity: fc.constantFrom('info' as const, 'warning' as const, 'critical' as const),
      firing: fc.array(hostileAlert(true), { minLength: 1, maxLength: most }),
      resolved: fc.array(hostileAlert(false), { maxLength: most }),
      moreFiring: fc.nat(3),
      moreResolved: fc.nat(3),
      stillFiring: fc.nat(3),
      limit: fc.constantFrom(undefined, null, { heldUntilMs: NOW_MS, all: true })
    })
    .map((fields) => someNews(fields))

/** Returns the same news with harmless words. Both must be displayed with the same markup. */
export function harmless(news: AlertNews): AlertNews {
  const word = (text: string) => (oneLine(text, 100) === '' ? '' : 'x')
  const calm = (alert: AlertView): AlertView => ({ ...alert, subject: word(alert.subject), text: word(alert.text) })
  return {
    ...news,
    title: 't',
    ruleName: word(news.ruleName),
    owner: word(news.owner),
    firing: news.firing.map(calm),
    resolved: news.resolved.map(calm)
  }
}

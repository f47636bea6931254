import { expect, test } from 'vitest'
import type { ErrorGroupId, JobId, NodeId, Outcome, ProjectName } from '../../../../shared/contract/index.ts'
import type { StoredErrorGroup } from '../../../model/records.ts'
import { newsOfReport, renderReport, reportIn } from '../../../notify/deliveries/channels/report.ts'
import type { PastJob } from '../past/events-of-jobs.ts'
import { digestOf, type DigestInput } from './digest.ts'

const UNTIL_MS = Date.UTC(2026, 10, 28, 8)
const FROM_MS = UNTIL_MS - 86_400_000
const SHOP = 'shop' as ProjectName

let lastId = 0
const aJob = (spider: string, outcome: Outcome, minutes: number, endedAtMs: number | null = FROM_MS + 1): PastJob => ({
  id: String((lastId += 1)) as JobId,
  project: SHOP,
  spider,
  nodeId: 'n' as NodeId,
  outcome,
  items: 1,
  errors: 0,
  queuedAtMs: FROM_MS,
  startedAtMs: (endedAtMs ?? UNTIL_MS) - minutes * 60_000,
  endedAtMs,
  killingLine: null,
  reason: outcome === 'failed' ? 'exit code 1' : 'finished',
  lane: '[]',
  priority: 0,
  notBeforeMs: null,
  attemptCount: 1,
  isAfterOthers: false
})
const anError = (id: number, jobCount: number, title: string) =>
  ({ id: id as ErrorGroupId, project: SHOP, title, jobCount }) as StoredErrorGroup

const input = (over: Partial<DigestInput> = {}): DigestInput => ({
  fromMs: FROM_MS,
  untilMs: UNTIL_MS,
  jobs: [],
  errors: [],
  findings: [],
  service: null,
  isComplete: true,
  ended: { succeeded: 3, failed: 2, cancelled: 0, lost: 1, unclear: 2 },
  endedWithBefore: { succeeded: 5, failed: 2, cancelled: 1, lost: 1, unclear: 3 },
  ...over
})

test('counts the runs of this and the previous period, and lists the worst first', () => {
  const report = digestOf(
    input({
      jobs: [
        ...[aJob('prices', 'failed', 1), aJob('prices', 'lost', 2), aJob('prices', 'succeeded', 3)],
        ...[aJob('stock', 'failed', 10), aJob('stock', 'succeeded', 30), aJob('stock', 'succeeded', 90)],
        ...[aJob('old', 'failed', 1, FROM_MS - 1), aJob('new', 'failed', 1, UNTIL_MS + 1)],
        { ...aJob('live', 'succeeded', 1, null), outcome: null }
      ],
      errors: [anError(1, 2, 'KeyError'), anError(2, 9, '<b>TypeError</b>')]
    })
  )
  expect(report.runs).toEqual({ succeeded: 3, failed: 2, cancelled: 0, lost: 1, unclear: 2 })
  expect(report.runsBefore).toEqual({ succeeded: 2, failed: 0, cancelled: 1, lost: 0, unclear: 1 })
  expect(report.failing.map(({ spider, failed, runs }) => [spider, failed, runs])).toEqual([
    ['prices', 2, 3],
    ['stock', 1, 3]
  ])
  expect(report.slowest).toEqual([
    { project: SHOP, spider: 'stock', runs: 3, medianMs: 1_800_000, longestMs: 5_400_000 },
    { project: SHOP, spider: 'prices', runs: 3, medianMs: 120_000, longestMs: 180_000 }
  ])
  expect(report.newErrors.groups.map(({ id }) => id)).toEqual([2, 1])
})

test('lists have a limit, whatever happened', () => {
  const names = [...Array(500).keys()].map(String)
  const report = digestOf(
    input({
      jobs: names.map((name) => ({ ...aJob(name, 'failed', 1), killingLine: 'x'.repeat(5_000) })),
      errors: names.map((name) => anError(Number(name), 1, name.repeat(2_000)))
    })
  )
  expect([report.failing.length, report.newErrors.groups.length, report.slowest.length]).toEqual([20, 20, 10])
  expect(report.newErrors.count).toBe(500)
  expect(JSON.stringify(report).length).toBeLessThan(30_000)
})

test('an e-mail shows it as text and as HTML with foreign text escaped', () => {
  const report = digestOf(
    input({ jobs: [aJob('prices', 'failed', 1)], errors: [anError(2, 1, '<b>TypeError</b>\u001b[31m')] })
  )
  const { subject, html, text } = renderReport(report, { base: 'https://deck.example' })
  expect(subject).toBe('[Scrapdeck] Daily report: 8 runs, 3 failed, 1 new error')
  expect(html).toContain('&lt;b&gt;TypeError&lt;/b&gt;')
  expect(html).not.toContain('<b>TypeError')
  expect(html).not.toContain('\u001b')
  expect(text).toContain('Previous period: 4 runs, 0 failed or lost')
  expect(text).toContain('- shop/prices: 1 of 1 run; last: exit code 1')
  expect(report.failing).toMatchObject([{ reasonCode: 'text', reasonParams: { text: 'exit code 1' } }])
  expect(text).toContain('https://deck.example/#/alerts')
})

test('other channels get one line, and only a report is read as a report', () => {
  const report = digestOf(input({ jobs: [aJob('prices', 'failed', 1)] }))
  const news = newsOfReport(report)
  expect(news).toMatchObject({ kind: 'report', severity: 'info' })
  expect(news.firing[0]!.text).toBe('Failing: shop/prices (1); slowest: shop/prices, 1 min')
  expect(reportIn(JSON.stringify({ type: 'digest', data: report }))).toEqual(report)
  expect(reportIn(JSON.stringify({ type: 'alert', data: {} }))).toBeNull()
})

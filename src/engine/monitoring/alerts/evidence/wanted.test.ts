import { expect, test } from 'vitest'
import { ALERT_WATCH_NAMES } from '../../../../shared/alert-watches.ts'
import type { JobId } from '../../../../shared/contract/index.ts'
import { anAlert, aRunAlert, NOW_MS, someNews } from '../../../testing/alert-news.ts'
import { DAY_MS, wantedForAlert, wantedForNews } from './wanted.ts'

const SECOND = 'e'.repeat(32) as JobId

test('if several runs fire, the log of the first one is read', () => {
  const first = aRunAlert({ subject: 'shop/stock', labels: { ...aRunAlert().labels, spider: 'stock', jobId: SECOND } })
  expect(wantedForNews(someNews({ firing: [first, aRunAlert()] }))).toEqual({
    log: { subject: 'shop/stock', jobId: SECOND },
    history: { kind: 'items', project: 'shop', spider: 'stock', jobId: SECOND, standsOut: true }
  })
})

test('for an ended alert, the figure is drawn and no log is read', () => {
  const { log, history } = wantedForNews(someNews({ firing: [], resolved: [aRunAlert({ resolvedAtMs: NOW_MS })] }))
  expect([log, history]).toMatchObject([null, { kind: 'items', standsOut: false }])
})

test('a watch whose figure is not worth a chart has none, and only runs have a log', () => {
  const of = (watch: (typeof ALERT_WATCH_NAMES)[number]) => wantedForNews(someNews({ firing: [aRunAlert({ watch })] }))
  const charted = ALERT_WATCH_NAMES.filter((watch) => of(watch).history !== null)
  const runs = ['spider_fails', 'spider_items', 'spider_errors', 'spider_unusual', 'job_runs_long']
  expect(charted).toEqual([...runs, 'queue_length', 'disk_free'])
  expect(ALERT_WATCH_NAMES.filter((watch) => of(watch).log !== null)).toEqual(runs)
  expect(wantedForNews(someNews({ firing: [anAlert()] }))).toEqual({ log: null, history: null })
})

test('an ended alert still shows its own run, but no chart of a later day', () => {
  const own = wantedForAlert(aRunAlert({ resolvedAtMs: NOW_MS - 9 * DAY_MS }), NOW_MS)
  expect(own).toMatchObject({ log: { subject: 'shop/prices' }, history: { kind: 'items', standsOut: true } })
  const ended = (agoMs: number | null) =>
    wantedForAlert(anAlert({ watch: 'disk_free', resolvedAtMs: agoMs === null ? null : NOW_MS - agoMs }), NOW_MS)
      .history
  expect([ended(null), ended(3_600_000), ended(DAY_MS)]).toEqual([
    { kind: 'day', watch: 'disk_free' },
    { kind: 'day', watch: 'disk_free' },
    null
  ])
})

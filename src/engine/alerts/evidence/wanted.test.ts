import { expect, test } from 'vitest'
import { ALERT_WATCH_NAMES } from '../../../shared/alert-watches.ts'
import type { JobId } from '../../../shared/contract/index.ts'
import { anAlert, aRunAlert, NOW_MS, someNews } from '../../testing/alert-news.ts'
import { wantedEvidence } from './wanted.ts'

const SECOND = 'e'.repeat(32) as JobId

test('of several runs that fire, the log of the first one is read', () => {
  const first = aRunAlert({ subject: 'shop/stock', labels: { ...aRunAlert().labels, spider: 'stock', jobId: SECOND } })
  expect(wantedEvidence(someNews({ firing: [first, aRunAlert()] }))).toEqual({
    log: { subject: 'shop/stock', jobId: SECOND },
    history: { kind: 'items', project: 'shop', spider: 'stock', jobId: SECOND }
  })
})

test('of what is over, the figure is drawn and no log is read', () => {
  const { log, history } = wantedEvidence(someNews({ firing: [], resolved: [aRunAlert({ resolvedAtMs: NOW_MS })] }))
  expect([log, history?.kind]).toEqual([null, 'items'])
})

test('a watch whose figure says nothing in a chart has none, and only runs have a log', () => {
  const of = (watch: (typeof ALERT_WATCH_NAMES)[number]) => wantedEvidence(someNews({ firing: [aRunAlert({ watch })] }))
  const charted = ALERT_WATCH_NAMES.filter((watch) => of(watch).history !== null)
  const runs = ['spider_fails', 'spider_items', 'spider_errors', 'spider_unusual', 'job_runs_long']
  expect(charted).toEqual([...runs, 'queue_length', 'disk_free'])
  expect(ALERT_WATCH_NAMES.filter((watch) => of(watch).log !== null)).toEqual(runs)
  expect(wantedEvidence(someNews({ firing: [anAlert()] }))).toEqual({ log: null, history: null })
})

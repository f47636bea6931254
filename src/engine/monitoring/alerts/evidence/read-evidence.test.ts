import { expect, test, vi } from 'vitest'
import type { ProjectName } from '../../../../shared/contract/index.ts'
import type { StoredJob } from '../../../model/records.ts'
import { anAlert, aRunAlert, NOW_MS, someNews } from '../../../testing/alert-news.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { type EvidenceParts, readEvidence } from './read-evidence.ts'
import { wantedForNews } from './wanted.ts'

const RUN = wantedForNews(someNews({ firing: [aRunAlert()] }))
const JOB = aRunAlert().labels.jobId!
const runs = [3, 1_204].map((items, at) => ({
  id: at === 0 ? JOB : 'older',
  project: 'shop' as ProjectName,
  spider: 'prices',
  outcome: 'succeeded',
  items,
  queuedAtMs: 0,
  endedAtMs: NOW_MS - at * 60_000
})) as StoredJob[]

const log: EvidenceParts['readLog'] = async () => ({ offset: 0, text: 'one\ntwo\n' })
const partsOf = (over: Partial<EvidenceParts> = {}, store: Partial<EvidenceParts['store']> = {}): EvidenceParts => ({
  clock: createFakeClock(),
  readLog: log,
  figureOf: () => null,
  store: { listJobs: async () => runs, ...store } as EvidenceParts['store'],
  ...over
})

test('the end of the log of the run and the figures of its spider are read', async () => {
  const readLog = vi.fn(log)
  const { log: excerpt, history } = await readEvidence(partsOf({ readLog }), RUN)
  expect(excerpt).toEqual({ subject: 'shop/prices', jobId: JOB, lines: ['one', 'two'] })
  expect(history?.caption).toBe('This run: 3 items. 1 other run: 1,204 items.')
  expect(readLog.mock.calls.map(([jobId, wanted]) => [jobId, wanted])).toEqual([
    [JOB, { offset: -32_768, limitBytes: 32_768 }]
  ])
})

test('what cannot be read is left out, and the rest is shown', async () => {
  const broken = async () => {
    throw new Error('the node does not respond')
  }
  const noLog = await readEvidence(partsOf({ readLog: broken }), RUN)
  expect(noLog).toMatchObject({ log: null, history: { title: 'Items of the last 2 runs of shop/prices' } })
  const noRuns = await readEvidence(partsOf({}, { listJobs: broken }), RUN)
  expect(noRuns).toMatchObject({ log: { lines: ['one', 'two'] }, history: null })
})

test('reading a log stops after two seconds', async () => {
  const clock = createFakeClock()
  const signals: AbortSignal[] = []
  const readLog: EvidenceParts['readLog'] = (_jobId, _wanted, signal) => {
    signals.push(signal)
    return new Promise(() => {})
  }
  const reading = readEvidence(partsOf({ clock, readLog }), RUN)
  await clock.advanceBy(1_999)
  expect(signals.map(({ aborted }) => aborted)).toEqual([false])
  await clock.advanceBy(1)
  expect(await reading).toMatchObject({ log: null, history: { caption: expect.stringContaining('1,204') } })
  expect(signals.map(({ aborted }) => aborted)).toEqual([true])
})

test('nothing is read for an alert without a run or a figure', async () => {
  expect(await readEvidence({} as EvidenceParts, wantedForNews(someNews({ firing: [anAlert()] })))).toEqual({
    log: null,
    history: null
  })
})

test('the chart of the disk shows the recorded values and the current one', async () => {
  const news = wantedForNews(someNews({ firing: [anAlert({ watch: 'disk_free', value: 8 })] }))
  const clock = createFakeClock()
  const row = { id: 1, atMs: clock.nowMs() - 3_600_000, value: 40 }
  const store = { listAlertFacts: async () => [row] as never }
  const { history } = await readEvidence(partsOf({ clock, figureOf: () => 8 }, store), news)
  expect(history?.caption).toBe('Latest: 8 %. Earlier: 40 %. Each bar is the lowest value in 30 minutes.')
  expect(await readEvidence(partsOf({}, store), news)).toEqual({ log: null, history: null })
})

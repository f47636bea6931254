import { expect, test } from 'vitest'
import type { JobId } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { aJobId, aProjectName } from '../../../shared/testing/ids.ts'
import { aNewJob, anAttemptStart, entry } from '../../testing/builders.ts'
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.ts'
import { openTemporaryStore } from '../../testing/temporary-store.ts'
import { silentLogger } from '../../runtime/logger.ts'
import type { FilledFields } from '../../model/records.ts'
import type { Store } from '../../storage/store.ts'
import { ExpectationWatch } from './expectation-watch.ts'
import { plain } from '../../../shared/texts/message.ts'

const SHOP = aProjectName('shop')
const PRICES = { project: SHOP, spider: 'prices' }
const it = test
  .extend('clock', () => createFakeClock())
  .extend('store', async ({ clock }, { onCleanup }) => {
    const { store, remove } = await openTemporaryStore({ clock, inMemory: true })
    onCleanup(remove)
    return store
  })

async function ranWith(store: Store, clock: FakeClock, ...items: number[]): Promise<string> {
  let id = ''
  for (const count of items) {
    const job = aNewJob({ version: '1' })
    id = job.id
    await store.enqueueJobs([job])
    await store.beginAttempts([anAttemptStart(job)])
    await store.applyChanges([
      {
        jobId: job.id,
        attemptNumber: 1 as never,
        from: ['sending'],
        to: 'ended',
        kind: 'ended',
        result: 'succeeded',
        reason: plain('finished'),
        entry: { ...entry(), atMs: clock.nowMs() },
        counts: { pages: 700, items: count, errors: 0 }
      }
    ])
  }
  return id
}

function watchOver(store: Store, clock: FakeClock, { isOn = (): boolean => true, countFilled = NO_FILE } = {}) {
  const watch = new ExpectationWatch({ store, clock, logger: silentLogger, isOn, countFilled })
  let changes = 0
  watch.events.on('changed', () => {
    changes += 1
  })
  return { watch, changes: () => changes }
}

const NO_FILE = async (_jobId: JobId): Promise<FilledFields> => {
  throw new ScrapdeckError('ITEMS_NOT_FOUND', 'no items')
}

const USUAL = [620, 615, 630, 622, 618, 640]
const wordsOf = (watch: ExpectationWatch) =>
  watch.current().flatMap(({ findings }) => findings.map(({ words }) => words))

it('a finding about the newest run stays until the next run is as expected', async ({ store, clock }) => {
  const { watch, changes } = watchOver(store, clock)
  await watch.start()
  const id = await ranWith(store, clock, ...USUAL, 125)
  watch.refresh(PRICES)
  expect(watch.current()).toEqual([])
  await clock.advanceBy(5_000)
  expect(wordsOf(watch)).toEqual(['Items fell by 80 %: 125, usually 619 to 628'])
  const said = { code: 'finding.metric', params: { metric: 'items', value: 125 } }
  expect(watch.current()).toMatchObject([{ findings: [said] }])
  expect(watch.current()[0]).toMatchObject({ ...PRICES, jobId: id })
  expect(changes()).toBe(1)
  watch.refresh(PRICES)
  await clock.advanceBy(5_000)
  expect(changes()).toBe(1)
  await ranWith(store, clock, 625)
  watch.refresh(PRICES)
  await clock.advanceBy(5_000)
  expect(watch.current()).toEqual([])
  expect(changes()).toBe(2)
  watch.stop()
})

it('survives restarts, and so do runs that were not judged yet', async ({ store, clock }) => {
  await ranWith(store, clock, ...USUAL, 125)
  const { watch } = watchOver(store, clock)
  await watch.start()
  await clock.advanceBy(5_000)
  expect(wordsOf(watch)).toHaveLength(1)
  watch.stop()
  const { watch: next } = watchOver(store, clock)
  await next.start()
  expect(wordsOf(next)).toHaveLength(1)
  next.stop()
})

it('is hidden once it is dismissed, until another run is unusual', async ({ store, clock }) => {
  const { watch } = watchOver(store, clock)
  const jobId = aJobId(await ranWith(store, clock, ...USUAL, 125))
  await watch.start()
  await clock.advanceBy(5_000)
  expect(await watch.dismiss({ ...PRICES, jobId: aJobId('f'.repeat(32)) })).toBe(false)
  expect(await watch.dismiss({ ...PRICES, jobId })).toBe(true)
  watch.refresh(PRICES)
  await clock.advanceBy(5_000)
  expect(watch.current()).toEqual([])
  await ranWith(store, clock, 130)
  watch.refresh(PRICES)
  await clock.advanceBy(5_000)
  expect(wordsOf(watch)).toHaveLength(1)
  watch.stop()
})

it('says how each job compares, or how many runs of a young spider are missing', async ({ store, clock }) => {
  const { watch } = watchOver(store, clock)
  const young = aJobId(await ranWith(store, clock, 620, 0))
  expect(await watch.ofJob(young)).toMatchObject({ state: 'learning', neededRuns: 4, findings: [] })
  const old = aJobId(await ranWith(store, clock, ...USUAL, 625))
  await ranWith(store, clock, 0)
  expect(await watch.ofJob(old)).toMatchObject({ state: 'judged', comparedRuns: 8, findings: [] })
  await expect(watch.ofJob(aJobId('f'.repeat(32)))).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' })
  watch.stop()
})

it('does not judge runs of a project that turned it off', async ({ store, clock }) => {
  const { watch } = watchOver(store, clock, { isOn: () => false })
  const id = aJobId(await ranWith(store, clock, ...USUAL, 125))
  await watch.start()
  watch.refresh(PRICES)
  await clock.advanceBy(5_000)
  expect(watch.current()).toEqual([])
  expect(await watch.ofJob(id)).toMatchObject({ state: 'off' })
  watch.stop()
})

it('counts the items of each run once, tries again while they are copied, and compares their fields', async ({
  store,
  clock
}) => {
  const asked: JobId[] = []
  let price = 99
  const countFilled = async (jobId: JobId) => {
    const isFirst = !asked.includes(jobId)
    asked.push(jobId)
    if (isFirst) throw new ScrapdeckError('ITEMS_COPYING', 'copying')
    return { items: 100, fields: [['price', price] as [string, number]], hasMoreFields: false }
  }
  const { watch } = watchOver(store, clock, { countFilled })
  await watch.start()
  const runs: JobId[] = []
  for (const share of [99, 99, 100, 99, 99, 60]) {
    price = share
    runs.push(aJobId(await ranWith(store, clock, 620)))
    watch.refresh(PRICES)
    await clock.advanceBy(20_000)
    watch.refresh(PRICES)
    await clock.advanceBy(20_000)
  }
  expect(asked).toEqual(runs.flatMap((id) => [id, id]))
  expect(wordsOf(watch)).toEqual(['price is empty in 40 % of the items (usually 1 %)'])
  expect((await watch.ofJob(runs[5]!)).fields).toEqual({
    neededRuns: 0,
    comparedRuns: 5,
    shown: [{ field: 'price', value: 60, usual: { low: 99, high: 99 } }]
  })
  expect((await watch.ofJob(runs[2]!)).fields).toMatchObject({ neededRuns: 3, comparedRuns: 2 })
  watch.stop()
})

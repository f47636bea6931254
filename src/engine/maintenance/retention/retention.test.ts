import { mkdir, readdir, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type KeepPolicy, RECOMMENDED_POLICY, type StoragePolicy } from '../../../shared/contract/index.ts'
import { aJobId, anAttemptNumber, aProjectName, aVersionName } from '../../../shared/testing/ids.ts'
import { systemClock } from '../../runtime/clock.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { aNewJob, anAttemptStart, entry } from '../../testing/builders.ts'
import type { KeptItemsFile } from '../../model/records.ts'
import { openTemporaryStore } from '../../testing/temporary-store.ts'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'
import { until } from '../../testing/until.ts'
import { ArchivedItems, LocalFiles } from './local-files.ts'
import { forecastDisk } from './disk.ts'
import { type KeptEgg, oldEggs } from './eggs.ts'
import { oldFiles } from './old-files.ts'
import { Retention } from './retention.ts'

const DAY_MS = 86_400_000
const NOW_MS = 1_900_000_000_000
const keep = (over: Partial<KeepPolicy>): KeepPolicy => ({ days: null, perSpider: null, bytes: null, ...over })
const NOTHING = { list: async () => [], listOld: async () => [], delete: async () => {} }

async function openRetention(over: Partial<ConstructorParameters<typeof Retention>[0]> = {}) {
  const temporary = await openTemporaryStore({ inMemory: true })
  const deleted: string[] = []
  const open = () =>
    new Retention({
      store: temporary.store,
      archive: {
        delete: async (jobId, number) => void deleted.push(`${jobId}-${number}`),
        cacheFigures: () => ({ hits: 0, misses: 0, entries: 0, bytes: 0 })
      },
      searchIndex: { sizeBytes: async () => 0, reclaim: async () => 0 },
      logs: NOTHING,
      items: NOTHING,
      listEggs: async () => [],
      deleteEgg: async () => {},
      disk: () => null,
      encryption: () => null,
      clock: systemClock,
      logger: silentLogger,
      ...over
    })
  const retention = open()
  onTestFinished(async () => {
    await retention.stop()
    await temporary.remove()
  })
  await retention.start()
  const ended = async (days: number) => {
    const job = aNewJob()
    await temporary.store.enqueueJobs([job])
    await temporary.store.beginAttempts([anAttemptStart(job)])
    const sizes = { rawBytes: 900, storedBytes: 100 }
    await temporary.store.markLogArchived(job.id, anAttemptNumber(1), { packed: null, sizes })
    const at = entry('ended', { atMs: Date.now() - days * DAY_MS })
    const change = { jobId: job.id, attemptNumber: anAttemptNumber(1), entry: at }
    await temporary.store.applyChanges([
      { ...change, from: ['sending'], to: 'ended', kind: 'ended', result: 'succeeded' }
    ])
    return job
  }
  const idle = () =>
    until('the run is over', async () => (await retention.usage()).retention.state !== 'running', Boolean)
  return { retention, open, store: temporary.store, deleted, ended, idle }
}
const policyWith = (over: Partial<StoragePolicy['defaults']>): StoragePolicy => ({
  ...RECOMMENDED_POLICY,
  defaults: { ...RECOMMENDED_POLICY.defaults, ...over }
})

test('nothing is deleted until a policy is set; then deletion begins at once', async () => {
  const { retention, store, deleted, ended, idle } = await openRetention()
  const [old, newest] = [await ended(500), await ended(450)]
  expect([retention.run(), (await retention.usage()).retention.state]).toEqual([false, 'not_set'])
  expect((await retention.preview()).goes.map(({ kind, count }) => [kind, count])).toEqual([
    ['jobs', 1],
    ['logs', 1]
  ])
  await retention.setPolicy({ revision: 0, policy: RECOMMENDED_POLICY })
  await idle()
  expect((await store.getJobs([old.id, newest.id])).map(({ id }) => id)).toEqual([newest.id])
  expect(deleted).toEqual([`${old.id}-1`])
  expect((await retention.usage()).retention).toMatchObject({ state: 'idle', jobs: 1, logs: 1, problem: null })
})

test('a preview counts the archived items of the jobs to delete, and of no others', async () => {
  const { retention, store, ended } = await openRetention({
    items: {
      list: async () => (await store.listKeptItems(null, 9)).map((blobOf) => ({ ...fileOf(blobOf), blobOf })),
      listOld: async (files) => files.filter(({ blobOf }) => blobOf!.job === null),
      delete: async () => {}
    }
  })
  const fileOf = ({ project, spider, sizes }: KeptItemsFile) => ({
    project,
    spider,
    name: 'items',
    sizeBytes: sizes.storedBytes,
    changedAtMs: NOW_MS
  })
  for (const days of [500, 450]) {
    const { id: jobId, project, spider } = await ended(days)
    const record = { jobId, number: anAttemptNumber(1), project, spider, endedAtMs: NOW_MS }
    await store.recordItems({ ...record, sizes: { rawBytes: 90, storedBytes: days }, problem: null, deletedAtMs: null })
  }
  const { goes } = await retention.preview()
  expect(goes.find(({ kind }) => kind === 'items')).toMatchObject({ count: 1, bytes: 500 })
})

test('a blob that an interrupted run left is deleted by the next one', async () => {
  const failing = { isBroken: true }
  const gone: string[] = []
  const archive = {
    async delete(jobId: string) {
      if (failing.isBroken) throw new Error('the blob store is away')
      gone.push(jobId)
    },
    cacheFigures: () => ({ hits: 0, misses: 0, entries: 0, bytes: 0 })
  }
  const { retention, ended, idle, store } = await openRetention({ archive })
  const old = await ended(500)
  await ended(450)
  await retention.setPolicy({ revision: 0, policy: RECOMMENDED_POLICY })
  await idle()
  expect((await retention.usage()).retention.problem).toBe('the blob store is away')
  expect(await store.getJob(old.id)).toBeNull()
  failing.isBroken = false
  expect(retention.run()).toBe(true)
  await idle()
  expect([gone, await store.listDeletedLogs(9)]).toEqual([[old.id], []])
})

test('the search index counts, and its part for deleted logs is freed with them', async () => {
  const index = { bytes: 5_000 }
  const searchIndex = {
    sizeBytes: async () => index.bytes,
    async reclaim() {
      index.bytes = 2_000
      return 3_000
    }
  }
  const { retention, idle } = await openRetention({ searchIndex })
  const before = await retention.usage()
  expect(before).toMatchObject({ searchIndexBytes: 5_000, totalBytes: before.database.bytes + 5_000 })
  await retention.setPolicy({ revision: 0, policy: RECOMMENDED_POLICY })
  await idle()
  expect(await retention.usage()).toMatchObject({ searchIndexBytes: 2_000, retention: { freedBytes: 3_000 } })
})

test('a paused policy deletes nothing, and survives a restart', async () => {
  const { retention, open, ended, store } = await openRetention()
  const old = await ended(500)
  await ended(450)
  await retention.setPolicy({ revision: 0, policy: { ...RECOMMENDED_POLICY, paused: true } })
  const again = open()
  await again.start()
  expect([again.run(), (await again.usage()).retention.state]).toEqual([false, 'paused'])
  await again.stop()
  expect(await store.getJob(old.id)).not.toBeNull()
})

test('a size limit on jobs uses their average size', async () => {
  const { retention, ended } = await openRetention()
  for (let index = 0; index < 30; index += 1) await ended(50 - index)
  const none = keep({})
  const preview = (bytes: number) => retention.preview(policyWith({ jobs: keep({ bytes }), logs: none }))
  // A job is kept for as long as its log.
  expect((await preview(1_000_000_000)).goes).toEqual([])
  const short = await retention.preview(policyWith({ jobs: keep({ perSpider: 10 }), logs: keep({ perSpider: 10 }) }))
  expect(short.goes.find(({ kind }) => kind === 'jobs')?.count).toBe(20)
  expect(short.freesBytes).toBeGreaterThan(2_000)
})

test('files of the local node follow the same policy, but those of live, kept or flagged jobs stay', async () => {
  await using directory = await makeTemporaryDirectory()
  const { store, ended } = await openRetention()
  const folder = join(directory.path, 'shop', 'prices')
  await mkdir(folder, { recursive: true })
  const write = async (name: string, days: number) => {
    await writeFile(join(folder, name), 'x'.repeat(100))
    const at = new Date(NOW_MS - days * DAY_MS)
    await utimes(join(folder, name), at, at)
  }
  const names = ['live.log', 'old.one.log', 'older.log', 'kept.log', 'new.log']
  for (const [index, name] of names.entries()) await write(name, [50, 40, 60, 70, 2][index]!)
  const kept = await ended(70)
  await store.keepJobs([kept.id], true, entry('kept'))
  const local = new LocalFiles({
    store: {
      getJobs: (ids) => store.getJobs(ids),
      findAttemptsOnNode: async (_node, runs) => {
        const [attempt] = await store.listAttempts(kept.id)
        return runs.flatMap(({ jobid }) => (jobid === 'kept' ? [{ ...attempt!, jobid }] : []))
      }
    },
    directory: directory.path,
    isNeeded: (jobid) => jobid === 'live'
  })
  const old = await local.listOld(await local.list(), keep({ days: 30 }), NOW_MS)
  expect(old.map(({ name }) => name)).toEqual(['older.log', 'old.one.log'])
  for (const file of old) await local.delete(file)
  expect((await readdir(folder)).sort()).toEqual(['kept.log', 'live.log', 'new.log'])
})

test('files behind links in the directories of the local node are not deleted', async () => {
  await using directory = await makeTemporaryDirectory()
  const [logs, elsewhere] = [join(directory.path, 'logs'), join(directory.path, 'elsewhere')]
  await mkdir(join(logs, 'shop'), { recursive: true })
  await mkdir(join(elsewhere, 'deeper'), { recursive: true })
  await writeFile(join(elsewhere, 'deeper', 'a.log'), 'x')
  await symlink(elsewhere, join(logs, 'linked'))
  await symlink(join(elsewhere, 'deeper'), join(logs, 'shop', 'prices'))
  const local = new LocalFiles({
    store: { getJobs: async () => [], findAttemptsOnNode: async () => [] },
    directory: logs,
    isNeeded: () => false
  })
  expect(await local.list()).toEqual([])
})

test('the oldest files are deleted until the project is within its size, but the newest of each spider stays', () => {
  const file = (spider: string, days: number) => ({
    project: 'shop',
    spider,
    name: `${spider}${days}`,
    sizeBytes: 100,
    changedAtMs: NOW_MS - days * DAY_MS
  })
  const files = [file('a', 5), file('a', 3), file('b', 9), file('a', 7), file('a', 0.5)]
  const namesOf = (policy: KeepPolicy) => oldFiles(files, policy, NOW_MS).map(({ name }) => name)
  expect(namesOf(keep({ bytes: 250 }))).toEqual(['a7', 'a5'])
  expect(namesOf(keep({ perSpider: 2 }))).toEqual(['a7', 'a5'])
  expect(namesOf(keep({ days: 4 }))).toEqual(['a7', 'a5'])
  expect(namesOf(keep({}))).toEqual([])
})

test('eggs that are active, pinned, named by a schedule, young or among the newest stay', () => {
  const egg = (version: number, over: Partial<KeptEgg> = {}): KeptEgg => ({
    project: aProjectName('shop'),
    version: aVersionName(String(version)),
    sizeBytes: 10,
    createdAtMs: NOW_MS - (10 - version) * 100 * DAY_MS,
    isActive: false,
    isPinned: false,
    isNamed: false,
    ...over
  })
  const eggs = [
    egg(1, { isPinned: true }),
    egg(2),
    egg(3, { isNamed: true }),
    egg(4, { isActive: true }),
    egg(5),
    egg(9)
  ]
  const versionsOf = (policy: { days: number | null; newest: number }) =>
    oldEggs(eggs, policy, NOW_MS).map(({ version }) => version)
  expect(versionsOf({ days: 30, newest: 1 })).toEqual(['5', '2'])
  expect(versionsOf({ days: 600, newest: 1 })).toEqual(['2'])
  expect(versionsOf({ days: 30, newest: 2 })).toEqual(['2'])
  expect(versionsOf({ days: null, newest: 1 })).toEqual([])
})

test('a disk that fills up is forecast after half an hour of data, and a stable one is not', () => {
  const sample = (minutes: number, freeBytes: number) => ({ atMs: minutes * 60_000, totalBytes: 1_000, freeBytes })
  expect(forecastDisk([])).toBeNull()
  expect(forecastDisk([sample(0, 900), sample(20, 800)])?.fullAtMs).toBeNull()
  const steady = [900, 875, 850, 825, 800].map((free, at) => sample(15 * at, free))
  expect(forecastDisk(steady)?.fullAtMs).toBe(9 * 3_600_000)
  expect(forecastDisk([sample(0, 800), sample(60, 900)])?.fullAtMs).toBeNull()
  expect(forecastDisk([sample(0, 9e9), sample(60, 9e9 - 1)])?.fullAtMs).toBeNull()
})

test('a single build that fills a part of the disk is not a trend', () => {
  const free = [900, 899, 899, 700, 700, 700, 699]
  const samples = free.map((freeBytes, at) => ({ atMs: at * 600_000, totalBytes: 1_000, freeBytes }))
  expect(forecastDisk(samples)?.fullAtMs).toBeNull()
})

test('archived items are deleted by the policy, at the latest with their jobs, and the time is recorded', async () => {
  const { store, remove } = await openTemporaryStore({ inMemory: true })
  onTestFinished(remove)
  const deleted: string[] = []
  const archive = { delete: async (jobId: string) => void deleted.push(jobId) }
  const items = new ArchivedItems({ store, archive, clock: { nowMs: () => NOW_MS } })
  const keptOf = async (days: number, { isKept = false, isTriedAgain = false } = {}) => {
    const job = aNewJob()
    await store.enqueueJobs([job])
    await store.beginAttempts([anAttemptStart(job)])
    const change = { jobId: job.id, attemptNumber: anAttemptNumber(1), entry: entry('ended') }
    const jobOutcome = isTriedAgain ? null : 'failed'
    await store.applyChanges([
      { ...change, from: ['sending'], to: 'ended', kind: 'ended', result: 'failed', jobOutcome }
    ])
    await store.keepJobs([job.id], isKept, entry('kept'))
    const record = { jobId: job.id, number: anAttemptNumber(1), project: job.project, spider: job.spider }
    const sizes = { rawBytes: 9_000, storedBytes: 900 }
    await store.recordItems({
      ...record,
      endedAtMs: NOW_MS - days * DAY_MS,
      sizes,
      problem: null,
      deletedAtMs: null
    })
    return job.id
  }
  const [old, marked, recent] = [await keptOf(9), await keptOf(9, { isKept: true }), await keptOf(2)]
  const waiting = await keptOf(9, { isTriedAgain: true })
  const ofDeleted = aJobId('f'.repeat(32))
  await store.recordItems({ ...(await store.findItems(recent, anAttemptNumber(1)))!, jobId: ofDeleted })
  const files = await items.list()
  expect(files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)).toBe(4_500)
  for (const file of await items.listOld(files, keep({ days: 5 }), NOW_MS)) await items.delete(file)
  expect(deleted.toSorted()).toEqual([old, ofDeleted].toSorted())
  expect(await store.findItems(old, anAttemptNumber(1))).toMatchObject({ sizes: null, deletedAtMs: NOW_MS })
  expect((await store.listKeptItems(null, 9)).map(({ jobId }) => jobId)).toEqual([marked, recent, waiting].toSorted())
})

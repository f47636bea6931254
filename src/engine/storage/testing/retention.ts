import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JobId } from '../../../shared/contract/index.ts'
import { aJobId, anAttemptNumber, aProjectName, aScheduleId, branded } from '../../../shared/testing/ids.ts'
import { NEVER_BEFORE_MS, type ProjectBounds } from '../../model/retention.ts'
import { aNewFiring, aNewJob, anAttemptStart, aStoredSchedule, asRead, entry } from '../../testing/builders.ts'
import { newRetentionPass, type NewJob, type RetentionBounds, type RetentionCounts } from '../../model/records.ts'
import type { Store } from '../store.ts'
import { type Story, type StoreUnderTest, timeoutOf } from './story.ts'

const NOW_MS = 1_900_000_000_000
const DAY_MS = 86_400_000
const daysAgo = (days: number) => NOW_MS - days * DAY_MS

export function boundsOf(over: { jobs?: Partial<ProjectBounds['jobs']>; logs?: Partial<ProjectBounds['logs']> } = {}) {
  return {
    jobs: { endedSinceMs: null, newestPerSpider: null, newestPerProject: null, ...over.jobs },
    logs: { endedSinceMs: null, newestPerSpider: null, bytesPerProject: null, ...over.logs }
  } satisfies ProjectBounds
}
const everywhere = (defaults: ProjectBounds): RetentionBounds => ({ nowMs: NOW_MS, defaults, projects: new Map() })
const OLDER_THAN_2_DAYS = everywhere(
  boundsOf({ jobs: { endedSinceMs: daysAgo(2) }, logs: { endedSinceMs: daysAgo(2) } })
)

async function deleteOld(
  store: Store,
  bounds: RetentionBounds,
  { jobs = 3, between = async () => {} }: { jobs?: number; between?: () => Promise<void> } = {}
): Promise<RetentionCounts[]> {
  const counts: RetentionCounts[] = []
  let pass: ReturnType<typeof newRetentionPass> | null = newRetentionPass()
  while (pass !== null) {
    const step = await store.applyRetention(pass, bounds, { rows: 7, jobs })
    counts.push(...step.counts)
    pass = step.pass
    await between()
  }
  return counts
}

const packedLog = (bytes: number) => ({
  packed: new Uint8Array(bytes).fill(1),
  sizes: { rawBytes: bytes * 9, storedBytes: bytes }
})
const blobLog = (bytes: number) => ({ packed: null, sizes: { rawBytes: bytes * 9, storedBytes: bytes } })

export function describeRetention(story: Story): void {
  const ended = async (
    days: number,
    over: Parameters<Story['enqueue']>[0] & { log?: number; result?: 'succeeded' | 'failed'; flagged?: true } = {}
  ): Promise<NewJob> => {
    const { log, result = 'succeeded', flagged, ...job } = over
    const one = await story.enqueue(job)
    await story.begin(one)
    if (log !== undefined) await story.store.markLogArchived(one.id, anAttemptNumber(1), blobLog(log))
    const flag = flagged === undefined ? {} : { mayHaveRunTwice: flagged }
    await story.end(one, { result, entry: entry('ended', { atMs: daysAgo(days) }), ...flag })
    return one
  }
  const left = async (jobs: readonly { id: JobId }[]) => {
    const found = new Set((await story.store.getJobs(jobs.map(({ id }) => id))).map(({ id }) => id))
    return jobs.map(({ id }) => found.has(id))
  }

  describe('retention of ended jobs', () => {
    test('deletes what is over its term with attempts, timeline and logs, and tells of many at once', async () => {
      const { store } = story
      const jobs = [await ended(5, { log: 700 }), await ended(3, { log: 300 }), await ended(1.5), await ended(1.2)]
      const cursor = await store.changeCursor()
      const counts = await deleteOld(store, OLDER_THAN_2_DAYS)
      expect(counts.filter(({ protection }) => protection === null)).toEqual([
        ...[{ project: 'shop', kind: 'jobs', protection: null, count: 2, bytes: 0 }].map((one) => ({
          ...one,
          oldestMs: daysAgo(5),
          newestMs: daysAgo(3)
        })),
        ...[{ project: 'shop', kind: 'logs', protection: null, count: 2, bytes: 1000 }].map((one) => ({
          ...one,
          oldestMs: daysAgo(5),
          newestMs: daysAgo(3)
        }))
      ])
      expect(await left(jobs)).toEqual([false, false, true, true])
      expect(await store.listAttempts(jobs[0]!.id)).toEqual([])
      expect(await store.listTimeline(jobs[0]!.id)).toEqual([])
      expect((await store.listChanges(cursor, 9)).changes.map(({ noun }) => noun)).toEqual(['jobs'])
      const { logs, jobs: sums } = await store.storageSums()
      expect([logs, sums]).toEqual([[], [{ project: 'shop', jobs: 2 }]])
    })

    test('names the blobs of deleted logs until they are deleted too, also after a crash', async () => {
      const { store } = story
      const [job] = [await ended(5, { log: 10 }), await ended(1.5)]
      await deleteOld(store, OLDER_THAN_2_DAYS)
      await story.reopen()
      const logs = [{ jobId: job.id, attemptNumber: 1 }]
      expect(await story.store.listDeletedLogs(9)).toEqual(logs)
      await story.store.forgetDeletedLogs(branded(logs))
      expect(await story.store.listDeletedLogs(9)).toEqual([])
    })

    test('leaves the items of deleted jobs to be found until their blobs are deleted', async () => {
      const { store } = story
      const [job, other] = [await ended(5), await ended(5), await ended(1.5)]
      const record = (one: NewJob, sizes: { rawBytes: number; storedBytes: number } | null) =>
        store.recordItems({
          jobId: one.id,
          number: anAttemptNumber(1),
          project: one.project,
          spider: one.spider,
          endedAtMs: daysAgo(5),
          sizes,
          problem: null,
          deletedAtMs: null
        })
      await record(job, { rawBytes: 9, storedBytes: 5 })
      await record(other, null)
      await deleteOld(store, OLDER_THAN_2_DAYS)
      expect(await store.listKeptItems(null, 9)).toMatchObject([{ jobId: job.id, job: null }])
      expect(await store.findItems(other.id, anAttemptNumber(1))).toBeNull()
      await record(job, null)
      expect(await store.findItems(job.id, anAttemptNumber(1))).toBeNull()
    })

    test('keeps a job while its log is kept, and deletes a log before its job', async () => {
      const jobs = [await ended(9, { log: 5 }), await ended(9), await ended(5, { log: 5 }), await ended(1.5)]
      const longLogs = everywhere(boundsOf({ jobs: { endedSinceMs: daysAgo(2) }, logs: { endedSinceMs: daysAgo(7) } }))
      await deleteOld(story.store, longLogs)
      expect(await left(jobs)).toEqual([false, false, true, true])
      await deleteOld(story.store, everywhere(boundsOf({ logs: { endedSinceMs: daysAgo(2) } })))
      expect(await left(jobs)).toEqual([false, false, true, true])
      expect(await story.store.findArchivedLog(jobs[2]!.id, anAttemptNumber(1))).toBeNull()
      const attempt = async () => (await story.store.listAttempts(jobs[2]!.id))[0]
      expect(await attempt()).toMatchObject({ logArchived: false, logDeletedAtMs: NOW_MS })
      await story.store.markLogArchived(jobs[2]!.id, anAttemptNumber(1), blobLog(5))
      expect(await attempt()).toMatchObject({ logArchived: true, logDeletedAtMs: null })
    })

    test('keeps what operators marked, until they unmark it', async () => {
      const jobs = [await ended(9, { log: 5 }), await ended(9), await ended(1.5)]
      const unknown = aJobId('f'.repeat(32))
      const kept = entry('kept')
      expect(await story.store.keepJobs([jobs[0]!.id, unknown], true, kept)).toEqual([jobs[0]!.id])
      expect(await story.store.keepJobs([jobs[0]!.id], true, entry('kept again'))).toEqual([jobs[0]!.id])
      expect((await story.store.listTimeline(jobs[0]!.id)).at(-1)).toMatchObject({ kind: 'changed', ...asRead(kept) })
      expect((await story.store.getJob(jobs[0]!.id))?.kept).toBe(true)
      await deleteOld(story.store, OLDER_THAN_2_DAYS)
      expect(await left(jobs)).toEqual([true, false, true])
      await story.store.keepJobs([jobs[0]!.id], false, entry('not kept'))
      await deleteOld(story.store, OLDER_THAN_2_DAYS)
      expect(await left(jobs)).toEqual([false, false, true])
    })

    test('keeps the newest job of each spider and outcome, with its log', async () => {
      const jobs = [
        await ended(9, { log: 5 }),
        await ended(9, { result: 'failed', log: 5 }),
        await ended(8, { log: 5 }),
        await ended(9, { spider: 'stock', log: 5 })
      ]
      await deleteOld(story.store, OLDER_THAN_2_DAYS)
      expect(await left(jobs)).toEqual([false, true, true, true])
      expect(await story.store.findArchivedLog(jobs[3]!.id, anAttemptNumber(1))).not.toBeNull()
    })

    test('keeps a flagged job until its term, however many there are', async () => {
      const jobs = [await ended(9), await ended(9, { flagged: true }), await ended(8), await ended(7)]
      await deleteOld(story.store, everywhere(boundsOf({ jobs: { newestPerSpider: 1 } })))
      expect(await left(jobs)).toEqual([false, true, false, true])
      await deleteOld(story.store, OLDER_THAN_2_DAYS)
      expect(await left(jobs)).toEqual([false, false, false, true])
    })

    test('keeps what a queued job waits for, and what a dedupe key still answers with', async () => {
      const dedupe = { key: 'a', expiresAtMs: NOW_MS + 1 }
      const jobs = [await ended(9, { dedupe }), await ended(9), await ended(1.5)]
      await ended(9, { dedupe: { key: 'b', expiresAtMs: NOW_MS } })
      const waits = await story.enqueue({ after: [{ jobId: jobs[1]!.id, on: 'succeeded' }], notBeforeMs: 1e15 })
      await deleteOld(story.store, OLDER_THAN_2_DAYS)
      expect(await left(jobs)).toEqual([true, true, true])
      await story.store.cancelQueued([waits.id], entry())
      await deleteOld(story.store, { ...OLDER_THAN_2_DAYS, nowMs: NOW_MS + 1 })
      // The cancel can still be undone.
      expect(await left(jobs)).toEqual([false, true, true])
    })

    test('keeps the jobs of the last firings of a schedule, until it is deleted', async () => {
      const schedule = aStoredSchedule()
      await story.store.putSchedule(schedule)
      const jobs = Array.from({ length: 32 }, () => aNewJob({ scheduleId: schedule.id }))
      await story.store.fire(
        jobs.map((job, index) => aNewFiring({ scheduleId: schedule.id, nominalMs: index, jobs: [job] }))
      )
      for (const job of jobs) {
        await story.begin(job)
        await story.end(job, { entry: entry('ended', { atMs: daysAgo(9) }) })
      }
      await deleteOld(story.store, OLDER_THAN_2_DAYS)
      expect((await left(jobs)).indexOf(true)).toBe(2)
      await story.store.deleteSchedules([aScheduleId(schedule.id)])
      await deleteOld(story.store, OLDER_THAN_2_DAYS)
      expect((await left(jobs)).indexOf(true)).toBe(31)
    })

    test('bounds the logs of a project by their size, the oldest first', async () => {
      const jobs = []
      for (const days of [9, 8, 7, 6]) jobs.push(await ended(days, { log: 400 }))
      await deleteOld(story.store, everywhere(boundsOf({ logs: { bytesPerProject: 900 } })))
      const found = await Promise.all(jobs.map(({ id }) => story.store.findArchivedLog(id, anAttemptNumber(1))))
      expect(found.map((log) => log !== null)).toEqual([false, false, true, true])
      expect((await story.store.storageSums()).logs).toEqual([{ project: 'shop', logs: 2, bytes: 800, packed: 0 }])
    })

    test('a preview deletes nothing and names the same', async () => {
      const jobs = []
      for (const days of [9, 8, 7, 6, 1.5]) jobs.push(await ended(days, { log: 100 }))
      for (const [at, sizes] of [[0, { rawBytes: 90, storedBytes: 9 }] as const, [1, null] as const]) {
        const { id: jobId, project, spider } = jobs[at]!
        const record = { jobId, number: anAttemptNumber(1), project, spider, endedAtMs: daysAgo(8) }
        await story.store.recordItems({ ...record, sizes, problem: null, deletedAtMs: null })
      }
      const bounds = everywhere(boundsOf({ jobs: { newestPerSpider: 2 }, logs: { newestPerSpider: 1 } }))
      const counts: RetentionCounts[] = []
      const withItems: string[] = []
      let pass: ReturnType<typeof newRetentionPass> | null = newRetentionPass()
      while (pass !== null) {
        const step = await story.store.previewRetention(pass, bounds, 2)
        counts.push(...step.counts)
        withItems.push(...step.withItems)
        pass = step.pass
      }
      expect(withItems).toEqual([jobs[0]!.id])
      const done = await deleteOld(story.store, bounds)
      expect(sum(counts)).toEqual({ jobs: 3, logs: 4 })
      expect(sum(done)).toEqual(sum(counts))
    })
  })

  test('a database gives free pages back in small steps', async () => {
    const { store } = story
    const { project } = await ended(9)
    for (let index = 0; index < 40; index += 1) {
      const job = await story.enqueue()
      await story.begin(job)
      await store.markLogArchived(job.id, anAttemptNumber(1), packedLog(20_000))
      await story.end(job, { entry: entry('ended', { atMs: daysAgo(9) }) })
    }
    const before = (await store.storageSums()).database
    if (!before.canShrink) return expect(await store.shrink(10)).toBe(0)
    await deleteOld(store, OLDER_THAN_2_DAYS, { jobs: 100 })
    const left = await store.shrink(10)
    expect(left).toBeGreaterThan(0)
    expect(await store.shrink(100_000)).toBe(0)
    expect((await store.storageSums()).database.bytes).toBeLessThan(before.bytes / 2)
    await store.compact()
    expect(await store.getJobs([])).toEqual([])
    expect(project).toBe('shop')
  })

  test('the storage policy is stored with its revision', async () => {
    const { store } = story
    expect(await store.getStoragePolicy()).toBeNull()
    const keep = { days: null, perSpider: null, bytes: null }
    const defaults = { jobs: keep, logs: keep, items: keep, eggs: { days: null, newest: 5 } }
    const stored = { revision: 1, policy: { paused: false, defaults, projects: {}, budgetBytes: null } }
    await store.putStoragePolicy(stored)
    await expect(store.putStoragePolicy(stored)).rejects.toMatchObject({ code: 'CHANGED_MEANWHILE' })
    await story.reopen()
    expect(await story.store.getStoragePolicy()).toEqual(stored)
  })
}

const sum = (counts: readonly RetentionCounts[]) => {
  const of = (kind: string) =>
    counts.filter((one) => one.kind === kind && one.protection === null).reduce((all, { count }) => all + count, 0)
  return { jobs: of('jobs'), logs: of('logs') }
}

/** A past job in the model. Each boolean field protects the job or its log from retention. */
interface PastJob {
  project: 'shop' | 'news'
  spider: 'a' | 'b'
  outcome: 'succeeded' | 'failed'
  daysAgo: number
  log: number | null
  isKept: boolean
  isFlagged: boolean
  isAwaited: boolean
  hasKey: boolean
}
const rarely = fc.nat(9).map((number) => number === 0)
const pastJob: fc.Arbitrary<PastJob> = fc.record({
  project: fc.constantFrom('shop' as const, 'shop' as const, 'news' as const),
  spider: fc.constantFrom('a' as const, 'a' as const, 'b' as const),
  outcome: fc.constantFrom('succeeded' as const, 'succeeded' as const, 'failed' as const),
  daysAgo: fc.nat(12_000).map((thousandths) => thousandths / 1_000),
  log: fc.option(fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 500, max: 900 }))),
  isKept: rarely,
  isFlagged: rarely,
  isAwaited: rarely,
  hasKey: rarely
})

/** `bytesShare`: a share of the size of the project's logs, so that the bound always affects some logs. */
interface AskedBounds {
  jobs: ProjectBounds['jobs']
  logs: Omit<ProjectBounds['logs'], 'bytesPerProject'> & { bytesShare: number | null }
}
const days = fc.oneof(fc.constant(null), fc.nat(12).map(daysAgo))
const newest = fc.oneof(fc.constant(null), fc.integer({ min: 1, max: 12 }))
const bounds: fc.Arbitrary<AskedBounds> = fc.record({
  jobs: fc.record({ endedSinceMs: days, newestPerSpider: newest, newestPerProject: newest }),
  logs: fc.record({
    endedSinceMs: days,
    newestPerSpider: newest,
    bytesShare: fc.oneof(fc.constant(null), fc.double({ min: 0, max: 1, noNaN: true }))
  })
})
/** A single bound, because the strictest of several hides mistakes in the others. */
const oneBound: fc.Arbitrary<AskedBounds> = bounds.chain(({ jobs, logs }) => {
  const none = { endedSinceMs: null, newestPerSpider: null }
  const ofJobs = (over: Partial<AskedBounds['jobs']>): AskedBounds['jobs'] => ({
    ...none,
    newestPerProject: null,
    ...over
  })
  const ofLogs = (over: Partial<AskedBounds['logs']>): AskedBounds['logs'] => ({ ...none, bytesShare: null, ...over })
  return fc.constantFrom(
    { jobs: ofJobs({}), logs: ofLogs({ bytesShare: logs.bytesShare ?? 0.5 }) },
    { jobs: ofJobs({ endedSinceMs: jobs.endedSinceMs }), logs: ofLogs({ bytesShare: logs.bytesShare ?? 0.5 }) },
    { jobs: ofJobs({ newestPerSpider: jobs.newestPerSpider ?? 3 }), logs: ofLogs({ newestPerSpider: 1 }) },
    { jobs: ofJobs({ newestPerProject: jobs.newestPerProject ?? 3 }), logs: ofLogs({ endedSinceMs: NOW_MS }) }
  )
})

function modelOf(jobs: readonly KnownJob[], all: RetentionBounds) {
  const inOrder = jobs.toSorted((one, other) => other.endedAtMs - one.endedAtMs || (one.id < other.id ? 1 : -1))
  const left = new Map<JobId, { log: boolean }>()
  for (const [index, job] of inOrder.entries()) {
    const { jobs: ofJobs, logs: ofLogs } = all.projects.get(aProjectName(job.project)) ?? all.defaults
    const asNew = inOrder.slice(0, index + 1).filter(({ project }) => project === job.project)
    const ofSpider = asNew.filter(({ spider }) => spider === job.spider).length
    const bytes = asNew.reduce((total, { log }) => total + (log ?? 0), 0)
    const namesakes = jobs.filter((one) =>
      ['project', 'spider', 'outcome'].every((key) => one[key as 'spider'] === job[key as 'spider'])
    )
    const isSafe =
      job.endedAtMs >= all.nowMs - NEVER_BEFORE_MS || job.isKept || namesakes.every(({ id }) => id <= job.id)
    const late = (sinceMs: number | null) => sinceMs !== null && job.endedAtMs < sinceMs
    const many = (bound: number | null, count: number) => bound !== null && count > bound && !job.isFlagged
    const logIsOver =
      late(ofLogs.endedSinceMs) || many(ofLogs.newestPerSpider, ofSpider) || many(ofLogs.bytesPerProject, bytes)
    const hasLog = job.log !== null && (isSafe || !logIsOver)
    const jobIsOver =
      late(ofJobs.endedSinceMs) || many(ofJobs.newestPerSpider, ofSpider) || many(ofJobs.newestPerProject, asNew.length)
    if (isSafe || !jobIsOver || hasLog || job.isAwaited || job.hasKey) left.set(job.id, { log: hasLog })
  }
  return left
}

interface RetentionStory {
  past: PastJob[]
  meanwhile: PastJob[]
  defaults: AskedBounds
  shop: AskedBounds | null
  jobsAtOnce: number
}
const retentionStory: fc.Arbitrary<RetentionStory> = fc.record({
  past: fc.array(pastJob, { maxLength: 30, size: 'max' }),
  meanwhile: fc.oneof(
    { weight: 2, arbitrary: fc.constant<PastJob[]>([]) },
    { weight: 1, arbitrary: fc.array(pastJob, { maxLength: 6 }) }
  ),
  defaults: fc.oneof(bounds, oneBound),
  shop: fc.option(fc.oneof(bounds, oneBound)),
  // Small, so that each step depends on what earlier steps deleted.
  jobsAtOnce: fc.integer({ min: 1, max: 5 })
})

/** Jobs also start and end between the steps. Retention may then delete more, but never less. */
export function testRetentionAgainstModel(openStore: () => Promise<StoreUnderTest>, stories: number): void {
  test('retention leaves what a model leaves, and nothing over a bound, whatever runs meanwhile', {
    timeout: timeoutOf(stories)
  }, async () => {
    await fc.assert(
      fc.asyncProperty(retentionStory, async (story) => {
        const underTest = await openStore()
        try {
          await compare(underTest.store, story)
        } finally {
          await underTest.remove()
        }
      }),
      // The time limit also stops the search for a shorter failing story, so that the failure is reported.
      { numRuns: stories, interruptAfterTimeLimit: timeoutOf(stories) - 10_000, markInterruptAsFailure: true }
    )
  })
}

type KnownJob = PastJob & { id: JobId; endedAtMs: number }

async function compare(store: Store, story: RetentionStory): Promise<void> {
  const known: KnownJob[] = []
  const waiting: JobId[] = []
  const start = async (all: readonly PastJob[]) => {
    const jobs = all.map(({ project, spider, hasKey }) => {
      const job = aNewJob({ project, spider })
      return hasKey ? { ...job, dedupe: { key: `key of ${job.id}`, expiresAtMs: NOW_MS + 1 } } : job
    })
    await store.enqueueJobs(jobs)
    await store.beginAttempts(jobs.map((job) => anAttemptStart(job)))
    return all.map((past, index) => ({ past, id: jobs[index]!.id }))
  }
  const end = async (all: readonly { past: PastJob; id: JobId }[]) => {
    if (all.length === 0) return
    const attemptNumber = anAttemptNumber(1)
    for (const { id, past } of all) {
      if (past.log === null) continue
      await store.markLogArchived(id, attemptNumber, past.log % 2 === 0 ? packedLog(past.log) : blobLog(past.log))
    }
    const ended = all.map(({ id, past }) => ({ ...past, id, endedAtMs: Math.round(daysAgo(past.daysAgo)) }))
    await store.applyChanges(
      ended.map(({ id, outcome, endedAtMs, isFlagged }) => ({
        jobId: id,
        attemptNumber,
        from: ['sending' as const],
        to: 'ended' as const,
        kind: 'ended' as const,
        result: outcome,
        entry: entry('ended', { atMs: endedAtMs }),
        ...(isFlagged && { mayHaveRunTwice: true as const })
      }))
    )
    const idsOf = (key: 'isKept' | 'isAwaited') => ended.filter((job) => job[key]).map(({ id }) => id)
    if (idsOf('isKept').length > 0) await store.keepJobs(idsOf('isKept'), true, entry('kept'))
    const waits = idsOf('isAwaited').map((jobId) =>
      aNewJob({ project: 'waits', after: [{ jobId, on: 'ended' }], notBeforeMs: 1e15 })
    )
    if (waits.length > 0) await store.enqueueJobs(waits)
    waiting.push(...waits.map(({ id }) => id))
    known.push(...ended)
  }
  await end(await start(story.past))
  const shop = story.shop === null ? [] : [['shop', story.shop] as const]
  const projects = new Map(shop.map(([project, own]) => [aProjectName(project), boundsAsked(own, story.past, project)]))
  const asked = { nowMs: NOW_MS, defaults: boundsAsked(story.defaults, story.past, 'news'), projects }
  const live = (await start(story.meanwhile)).map(({ past, id }) => ({ id, past: { ...past, daysAgo: 0 } }))
  await deleteOld(store, asked, {
    jobs: story.jobsAtOnce,
    between: async () => {
      await end(live.splice(-1))
    }
  })
  await expectAllThere(store, [...waiting, ...live.map(({ id }) => id)])
  await end(live)
  const hadCompany = story.meanwhile.length > 0
  if (hadCompany) await deleteOld(store, asked, { jobs: story.jobsAtOnce })
  const found = await store.getJobs(known.map(({ id }) => id))
  const logs = await Promise.all(found.map(({ id }) => store.findArchivedLog(id, anAttemptNumber(1))))
  const actual = new Map(found.map(({ id }, index) => [id, { log: logs[index] !== null }]))
  const byId = (map: Map<JobId, unknown>) => [...map].sort(([one], [other]) => (one < other ? -1 : 1))
  const expected = modelOf(known, asked)
  if (!hadCompany) {
    expect(byId(actual)).toEqual(byId(expected))
    return
  }
  // Bounds count existing jobs. If a job ends after others were deleted, older jobs may be kept.
  for (const [id, { log }] of expected) expect([id, actual.get(id)]).toEqual([id, { log: log || actual.get(id)!.log }])
  const survivors = known.filter(({ id }) => actual.has(id))
  const asLeft = survivors.map((job) => ({ ...job, log: actual.get(job.id)!.log ? job.log : null }))
  expect(byId(actual)).toEqual(byId(modelOf(asLeft, asked)))
}

function boundsAsked({ jobs, logs }: AskedBounds, past: readonly PastJob[], project: string): ProjectBounds {
  const { bytesShare, ...others } = logs
  const bytes = past.reduce((sum, one) => sum + (one.project === project ? (one.log ?? 0) : 0), 0)
  return { jobs, logs: { ...others, bytesPerProject: bytesShare === null ? null : Math.floor(bytesShare * bytes) } }
}

async function expectAllThere(store: Store, ids: readonly JobId[]): Promise<void> {
  const found = await store.getJobs([...ids])
  expect(new Set(found.map(({ id }) => id))).toEqual(new Set(ids))
}

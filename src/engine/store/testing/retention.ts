import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JobId } from '../../../shared/contract/index.ts'
import { aJobId, anAttemptNumber, aProjectName, aScheduleId, branded } from '../../../shared/testing/ids.ts'
import { NEVER_BEFORE_MS, type ProjectBounds } from '../../job-rules/retention.ts'
import { aNewFiring, aNewJob, anAttemptStart, aStoredSchedule, entry } from '../../testing/builders.ts'
import { newRetentionPass, type NewJob, type RetentionBounds, type RetentionCounts } from '../records.ts'
import type { Store } from '../store.ts'
import type { Story, StoreUnderTest } from './story.ts'

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

/** Passes over everything; `between` is called after each step. */
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
          ...{ ...one, oldestMs: daysAgo(5), newestMs: daysAgo(3) }
        })),
        ...[{ project: 'shop', kind: 'logs', protection: null, count: 2, bytes: 1000 }].map((one) => ({
          ...{ ...one, oldestMs: daysAgo(5), newestMs: daysAgo(3) }
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

    test('keeps a job while its log is kept, and deletes a log before its job', async () => {
      const jobs = [await ended(9, { log: 5 }), await ended(9), await ended(5, { log: 5 }), await ended(1.5)]
      const longLogs = everywhere(boundsOf({ jobs: { endedSinceMs: daysAgo(2) }, logs: { endedSinceMs: daysAgo(7) } }))
      await deleteOld(story.store, longLogs)
      expect(await left(jobs)).toEqual([false, false, true, true])
      await deleteOld(story.store, everywhere(boundsOf({ logs: { endedSinceMs: daysAgo(2) } })))
      expect(await left(jobs)).toEqual([false, false, true, true])
      expect(await story.store.findArchivedLog(jobs[2]!.id, anAttemptNumber(1))).toBeNull()
      expect((await story.store.listAttempts(jobs[2]!.id))[0]?.logArchived).toBe(false)
    })

    test('keeps what operators marked, until they unmark it', async () => {
      const jobs = [await ended(9, { log: 5 }), await ended(9), await ended(1.5)]
      const unknown = aJobId('f'.repeat(32))
      expect(await story.store.keepJobs([jobs[0]!.id, unknown], true)).toEqual([jobs[0]!.id])
      expect((await story.store.getJob(jobs[0]!.id))?.kept).toBe(true)
      await deleteOld(story.store, OLDER_THAN_2_DAYS)
      expect(await left(jobs)).toEqual([true, false, true])
      await story.store.keepJobs([jobs[0]!.id], false)
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
      for (const days of [9, 8, 7, 6, 1.5]) await ended(days, { log: 100 })
      const bounds = everywhere(boundsOf({ jobs: { newestPerSpider: 2 }, logs: { newestPerSpider: 1 } }))
      const counts: RetentionCounts[] = []
      let pass: ReturnType<typeof newRetentionPass> | null = newRetentionPass()
      while (pass !== null) {
        const step = await story.store.previewRetention(pass, bounds, 2)
        counts.push(...step.counts)
        pass = step.pass
      }
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
    expect(before).toMatchObject({ canShrink: true })
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

/** A past job as the model knows it. `awaited`, `keyed`: as in the last two protections. */
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
const rarely = fc.nat(5).map((number) => number === 0)
const pastJob: fc.Arbitrary<PastJob> = fc.record({
  project: fc.constantFrom('shop' as const, 'news' as const),
  spider: fc.constantFrom('a' as const, 'b' as const),
  outcome: fc.constantFrom('succeeded' as const, 'succeeded' as const, 'failed' as const),
  daysAgo: fc.nat(12_000).map((thousandths) => thousandths / 1_000),
  log: fc.option(fc.integer({ min: 1, max: 900 })),
  isKept: rarely,
  isFlagged: rarely,
  isAwaited: rarely,
  hasKey: rarely
})
const perhaps = <T>(values: fc.Arbitrary<T>) => fc.option(values, { freq: 2 })
const bounds: fc.Arbitrary<ProjectBounds> = fc.record({
  jobs: fc.record({
    endedSinceMs: perhaps(fc.nat(12).map(daysAgo)),
    newestPerSpider: perhaps(fc.integer({ min: 1, max: 6 })),
    newestPerProject: perhaps(fc.integer({ min: 1, max: 9 }))
  }),
  logs: fc.record({
    endedSinceMs: perhaps(fc.nat(12).map(daysAgo)),
    newestPerSpider: perhaps(fc.integer({ min: 1, max: 6 })),
    bytesPerProject: perhaps(fc.nat(4_000))
  })
})

/** What must be left, from scratch: every job is compared with all that ended after it. */
function modelOf(jobs: readonly (PastJob & { id: JobId; endedAtMs: number })[], all: RetentionBounds) {
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

/** Also with jobs that start and end between the steps: what retention may delete only grows by that. */
export function testRetentionAgainstModel(openStore: () => Promise<StoreUnderTest>, stories: number): void {
  test('retention leaves what a model leaves, and nothing over a bound, whatever runs meanwhile', {
    timeout: 60_000
  }, async () => {
    const story = fc.record({
      past: fc.array(pastJob, { maxLength: 30 }),
      meanwhile: fc.oneof(fc.constant<PastJob[]>([]), fc.array(pastJob, { maxLength: 6 })),
      defaults: bounds,
      shop: fc.option(bounds),
      jobsAtOnce: fc.integer({ min: 1, max: 5 })
    })
    await fc.assert(
      fc.asyncProperty(story, async ({ past, meanwhile, defaults, shop, jobsAtOnce }) => {
        const underTest = await openStore()
        try {
          await compare(underTest.store, { past, meanwhile, defaults, shop, jobsAtOnce })
        } finally {
          await underTest.remove()
        }
      }),
      { numRuns: stories }
    )
  })
}

async function compare(
  store: Store,
  story: {
    past: PastJob[]
    meanwhile: PastJob[]
    defaults: ProjectBounds
    shop: ProjectBounds | null
    jobsAtOnce: number
  }
): Promise<void> {
  const { defaults, shop } = story
  const known: (PastJob & { id: JobId; endedAtMs: number })[] = []
  let keys = 0
  const start = async (past: PastJob) => {
    const { project, spider } = past
    const dedupe = past.hasKey ? { dedupe: { key: `key ${(keys += 1)}`, expiresAtMs: NOW_MS + 1 } } : {}
    const job = aNewJob({ project, spider, ...dedupe })
    await store.enqueueJobs([job])
    await store.beginAttempts([anAttemptStart(job)])
    return job
  }
  const end = async (past: PastJob, { id }: NewJob) => {
    const attemptNumber = anAttemptNumber(1)
    if (past.log !== null) {
      await store.markLogArchived(id, attemptNumber, past.log % 2 === 0 ? packedLog(past.log) : blobLog(past.log))
    }
    const endedAtMs = Math.round(daysAgo(past.daysAgo))
    const from = ['sending' as const]
    const flag = past.isFlagged ? { mayHaveRunTwice: true as const } : {}
    const at = entry('ended', { atMs: endedAtMs })
    await store.applyChanges([
      { jobId: id, attemptNumber, from, to: 'ended', kind: 'ended', result: past.outcome, entry: at, ...flag }
    ])
    if (past.isKept) await store.keepJobs([id], true)
    if (past.isAwaited) {
      const waits = aNewJob({ project: 'waits', after: [{ jobId: id, on: 'ended' }], notBeforeMs: 1e15 })
      await store.enqueueJobs([waits])
    }
    known.push({ ...past, id, endedAtMs })
  }
  for (const past of story.past) await end(past, await start(past))
  const projects = new Map(shop === null ? [] : [[aProjectName('shop'), shop]])
  const asked: RetentionBounds = { nowMs: NOW_MS, defaults, projects }
  // They run already when the pass begins, and end while it is under way: just now.
  const live = await Promise.all(story.meanwhile.map(async (past) => ({ past, job: await start(past) })))
  await deleteOld(store, asked, {
    jobs: story.jobsAtOnce,
    between: async () => {
      const one = live.pop()
      if (one !== undefined) await end({ ...one.past, daysAgo: 0 }, one.job)
    }
  })
  for (const { past, job } of live) await end({ ...past, daysAgo: 0 }, job)
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
  // A bound counts what exists: when a job ends after others were deleted, an older one may be below it and stay.
  for (const [id, { log }] of expected) expect([id, actual.get(id)]).toEqual([id, { log: log || actual.get(id)!.log }])
  const survivors = known.filter(({ id }) => actual.has(id))
  const asLeft = survivors.map((job) => ({ ...job, log: actual.get(job.id)!.log ? job.log : null }))
  expect(byId(actual)).toEqual(byId(modelOf(asLeft, asked)))
}

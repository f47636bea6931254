import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JobFilter } from '../../../shared/contract/index.ts'
import { matchesGlob } from '../../../shared/glob.ts'
import { aNodeId } from '../../../shared/testing/ids.ts'
import { aNewJob, anAttemptStart, entry } from '../../testing/builders.ts'
import type { AttemptChange } from '../../model/attempt-change.ts'
import type { NewJob, StoredJob, OnlyProjects } from '../../model/records.ts'
import type { Store } from '../store.ts'
import { type StoreUnderTest, timeoutOf } from './story.ts'

/** Ended jobs within this time (about 37 hours) can be counted together. */
const STRETCH_MS = 2 ** 27
const FIRST_MS = 13_000 * STRETCH_MS
/** The first digits of ids that are created within several minutes. */
const ID_TEXT = FIRST_MS.toString(16).padStart(12, '0').slice(0, 10).toUpperCase()
/** The longest time from the creation of a job's id to the writing of the job. */
const LAG_MAX_MS = 60_000

const ENDED = ['cancelled', 'succeeded', 'failed'] as const
const FATES = [...ENDED, ...ENDED, 'queued', 'restored', 'live', 'requeued', 'found again'] as const
type Fate = (typeof FATES)[number]

interface Past {
  atMs: number
  lagMs: number
  project: string
  spider: string
  userId: string | null
  nodeId: string
  fate: Fate
}

/** A random time, often near the edge of a stretch, where jobs are counted differently. */
const moment = fc
  .record({ stretch: fc.nat(4), into: fc.oneof(fc.constantFrom(-1, 0, 1), fc.nat(STRETCH_MS)) })
  .map(({ stretch, into }) => FIRST_MS + stretch * STRETCH_MS + into)
const past: fc.Arbitrary<Past> = fc.record({
  atMs: moment,
  lagMs: fc.oneof(fc.constant(0), fc.nat(LAG_MAX_MS)),
  project: fc.constantFrom('shop', 'shelf', 'Books'),
  spider: fc.constantFrom('prices', 'stock'),
  userId: fc.constantFrom(null, null, 'ann'),
  nodeId: fc.constantFrom('n1', 'n2'),
  fate: fc.constantFrom(...FATES)
})

type Filter = JobFilter & OnlyProjects
type Wish = { [Field in keyof Filter]-?: Filter[Field] | null } & { before: number | null; limit: number }

const sometimes = <T>(values: fc.Arbitrary<T>) => fc.oneof(fc.constant(null), values)
const wish = fc.record({
  status: sometimes(fc.subarray(['queued', 'starting', 'succeeded', 'failed', 'cancelled'] as const, { minLength: 1 })),
  project: sometimes(fc.constantFrom('shop', 'sh*', '*', 'gone')),
  spider: sometimes(fc.constantFrom('stock', '*s')),
  nodeId: sometimes(fc.constantFrom('n1', 'n2').map((id) => aNodeId(id))),
  userId: fc.constantFrom(null, null, null, 'ann'),
  text: sometimes(fc.constantFrom('S', 'book', 'own-1', 'nothing', ID_TEXT.slice(0, 9), ID_TEXT)),
  sinceMs: sometimes(
    fc.oneof(
      moment,
      moment.map((ms) => ms + 0.5),
      fc.constantFrom(-1e20, 0, 1e20)
    )
  ),
  onlyProjects: sometimes(fc.subarray(['shop', 'Books', 'gone'])),
  before: sometimes(fc.nat(1_000)),
  limit: fc.integer({ min: 1, max: 30 })
}) as fc.Arbitrary<Wish>

/** Lists and counts random histories with the store, and compares the results with a check of each job. */
export function testHistories(openStore: () => Promise<StoreUnderTest>, histories: number): void {
  test('of any history, pages and facets are what a look at each job says', {
    timeout: timeoutOf(histories)
  }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(past, { minLength: 1, maxLength: 60, size: 'max' }),
        fc.array(wish, { minLength: 20, maxLength: 20 }),
        async (pasts, wishes) => {
          const underTest = await openStore()
          try {
            const { store } = underTest
            const ids = await write(store, pasts)
            const jobs = (await store.getJobs(ids)).sort((one, other) => (one.id < other.id ? 1 : -1))
            for (const one of wishes) await compare(store, jobs, one)
          } finally {
            await underTest.remove()
          }
        }
      ),
      { numRuns: histories }
    )
  })
}

async function write(store: Store, pasts: Past[]): Promise<NewJob['id'][]> {
  const jobs = pasts.map(({ atMs, lagMs, nodeId: _, fate: __, ...over }, index) => {
    const id = (atMs.toString(16).padStart(12, '0') + index.toString(16).padStart(6, '0')).padEnd(32, '0')
    const jobid = index % 3 === 0 ? `own-${index}` : id
    return aNewJob({ ...over, id, jobid, entry: entry('asked', { atMs: atMs + lagMs }) })
  })
  await store.enqueueJobs(jobs)
  await Promise.all(pasts.map(({ fate, nodeId }, index) => live(store, jobs[index]!, fate, nodeId)))
  return jobs.map(({ id }) => id)
}

async function live(store: Store, job: NewJob, fate: Fate, nodeId: string): Promise<void> {
  if (fate === 'queued') return
  if (fate === 'cancelled' || fate === 'restored') {
    await store.cancelQueued([job.id], entry('cancelled'))
    if (fate === 'restored') await store.restoreCancelled([job.id], entry('restored'))
    return
  }
  const [attempt] = await store.beginAttempts([anAttemptStart(job, { nodeId })])
  const change = async (over: Partial<AttemptChange>) => {
    const { jobId, number: attemptNumber } = attempt!
    const from: AttemptChange['from'] = ['sending', 'running']
    await store.applyChanges([{ jobId, attemptNumber, from, kind: 'ended', entry: entry(), ...over }])
  }
  if (fate === 'live') return
  if (fate === 'requeued') return change({ to: 'ended', result: 'refused' })
  await change({ to: 'ended', result: fate === 'found again' ? 'lost' : fate })
  if (fate === 'found again') await change({ from: ['ended'], to: 'running', kind: 'found_again' })
}

async function compare(store: Store, jobs: StoredJob[], { before, limit, ...wished }: Wish): Promise<void> {
  const filter = Object.fromEntries(Object.entries(wished).filter(([, value]) => value !== null)) as Filter
  const below = before === null ? null : jobs[before % jobs.length]!.id
  const page = jobs.filter((job) => fits(job, filter) && (below === null || job.id < below)).slice(0, limit)
  const listed = await store.listJobs(filter, { before: below, limit })
  expect(listed).toEqual(page)

  const { status, project, nodeId, ...others } = filter
  const left = jobs.filter((job) => fits(job, others))
  expect(await store.countFacets(filter)).toEqual({
    status: countBy(left.filter((job) => fits(job, { project, nodeId })).map((job) => job.status)),
    project: countBy(left.filter((job) => fits(job, { status, nodeId })).map((job) => job.project)),
    nodeId: countBy(left.filter((job) => fits(job, { status, project })).flatMap((job) => job.nodeId ?? []))
  })
  const { onlyProjects } = filter
  const counted = Object.groupBy(
    jobs.filter((job) => fits(job, { onlyProjects })),
    ({ state }) => state
  )
  const { queued, starting, running, ended } = await store.countByState({ onlyProjects })
  expect({ queued, starting, running, ended }).toEqual({
    queued: counted.queued?.length ?? 0,
    starting: counted.starting?.length ?? 0,
    running: counted.running?.length ?? 0,
    ended: counted.ended?.length ?? 0
  })
  const ends = await store.countEndedSince(0, { onlyProjects })
  expect(Object.values(ends).reduce((total, count) => total + count, 0)).toBe(ended)
}

function fits(job: StoredJob, filter: Partial<Filter>): boolean {
  const { status, project, spider, nodeId, userId, text, sinceMs, onlyProjects } = filter
  const names = [job.project, job.spider].map((name) => name.toLowerCase())
  return (
    (status === undefined || status.includes(job.status)) &&
    matchesGlob(project ?? null, job.project) &&
    (onlyProjects === undefined || onlyProjects.includes(job.project)) &&
    matchesGlob(spider ?? null, job.spider) &&
    (nodeId === undefined || nodeId === job.nodeId) &&
    (userId === undefined || userId === job.userId) &&
    (sinceMs === undefined || job.queuedAtMs >= sinceMs) &&
    (text === undefined ||
      names.some((name) => name.includes(text.toLowerCase())) ||
      (job.jobid !== job.id && job.jobid.startsWith(text)) ||
      (text.length >= 10 && job.id.startsWith(text.toLowerCase())))
  )
}

function countBy(values: string[]): { value: string; count: number }[] {
  return [...Map.groupBy(values, (value) => value)]
    .map(([value, list]) => ({ value, count: list.length }))
    .sort((one, other) => other.count - one.count || (one.value < other.value ? -1 : 1))
}

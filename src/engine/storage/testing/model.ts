import { nextAttempt } from '../../../shared/ids.ts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type {
  AttemptResult,
  AttemptState,
  Dependency,
  Outcome,
  TransitionKind
} from '../../../shared/contract/index.ts'
import { anAttemptNumber, aNodeId, aVersionName, branded } from '../../../shared/testing/ids.ts'
import { attemptStatesAfter } from '../../model/transitions.ts'
import { aNewJob, entry } from '../../testing/builders.ts'
import type { NewJob } from '../../model/records.ts'
import type { Store } from '../store.ts'
import { type ModelJob, ModelQueue } from './model-queue.ts'
import { readAllHeads, type StoreUnderTest, timeoutOf } from './story.ts'

/** Options of a random job. Times are milliseconds from now; `after` picks one of the jobs created so far. */
interface Wishes {
  lane: number
  priority: number
  noOverlap: boolean
  notBefore: number | null
  expires: number | null
  after: { job: number; on: Dependency['on'] }[]
  dedupe: number | null
}

/** A step of a random story. `job` picks one of the jobs created so far. */
type Step =
  | { do: 'enqueue'; jobs: Wishes[] }
  | { do: 'begin'; job: number }
  | { do: 'askCancel'; job: number }
  | { do: 'restore'; job: number }
  | { do: 'cancelQueued'; job: number }
  | { do: 'releaseDue'; job: number }
  | { do: 'setPriority'; job: number; priority: number }
  | { do: 'reorder'; job: number; others: number[]; to: 'front' | 'back' | number }
  | { do: 'place'; job: number; node: number }
  | { do: 'move'; job: number; from: AttemptState[]; to: AttemptState }
  | {
      do: 'end'
      job: number
      from: AttemptState[]
      result: AttemptResult
      jobOutcome: Outcome | null | undefined
      retry: number | null
    }
  | { do: 'reopen' }

const LIVE: AttemptState[] = ['sending', 'uncertain', 'accepted', 'running', 'finishing']

const STATES_OF: Partial<Record<Step['do'], ModelJob['state'][]>> = {
  begin: ['queued'],
  cancelQueued: ['queued'],
  setPriority: ['queued'],
  reorder: ['queued'],
  place: ['queued'],
  askCancel: ['starting', 'running'],
  move: ['starting', 'running'],
  end: ['starting', 'running'],
  restore: ['ended']
}

const pick = fc.nat(1000)
const from = fc.oneof(
  { weight: 5, arbitrary: fc.constant(LIVE) },
  fc.uniqueArray(fc.constantFrom<AttemptState>(...LIVE, 'ended'), { minLength: 1 })
)
const rarely = (values: fc.Arbitrary<number>) =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: values })
const wishes: fc.Arbitrary<Wishes> = fc.record({
  lane: fc.nat(1),
  priority: fc.integer({ min: -1, max: 1 }),
  noOverlap: fc.nat(3).map((number) => number > 0),
  notBefore: rarely(fc.integer({ min: -5, max: 30 })),
  expires: rarely(fc.integer({ min: 1, max: 60 })),
  after: fc.oneof(
    { weight: 2, arbitrary: fc.constant<Wishes['after']>([]) },
    fc.array(fc.record({ job: pick, on: fc.constantFrom('succeeded' as const, 'failed' as const, 'ended' as const) }), {
      maxLength: 2
    })
  ),
  dedupe: rarely(fc.nat(1))
})
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('enqueue' as const),
      jobs: fc.array(wishes, { minLength: 1, maxLength: 3 })
    })
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('begin' as const), job: pick }) },
  fc.record({ do: fc.constant('askCancel' as const), job: pick }),
  fc.record({ do: fc.constant('cancelQueued' as const), job: pick }),
  fc.record({ do: fc.constant('restore' as const), job: pick }),
  fc.record({ do: fc.constant('releaseDue' as const), job: pick }),
  fc.record({ do: fc.constant('setPriority' as const), job: pick, priority: fc.integer({ min: -1, max: 1 }) }),
  fc.record({
    do: fc.constant('reorder' as const),
    job: pick,
    others: fc.array(pick, { maxLength: 2 }),
    to: fc.oneof(fc.constantFrom('front' as const, 'back' as const), pick)
  }),
  fc.record({ do: fc.constant('place' as const), job: pick, node: fc.nat(1) }),
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('move' as const), job: pick, from, to: fc.constantFrom(...LIVE) })
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('end' as const),
      job: pick,
      from,
      result: fc.constantFrom<AttemptResult>('succeeded', 'failed', 'cancelled', 'lost', 'refused', 'absent'),
      jobOutcome: fc.constantFrom<Outcome | null | undefined>(undefined, undefined, null, 'failed', 'lost'),
      retry: rarely(fc.integer({ min: -5, max: 30 }))
    })
  },
  fc.record({ do: fc.constant('reopen' as const) })
)

/** Applies random stories to the store and to a simple in-memory model, which must agree after every step. */
export function testAgainstModel(openStore: () => Promise<StoreUnderTest>, stories: number): void {
  test('any story leaves the store where the model is', { timeout: timeoutOf(stories) }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40, size: 'max' }), async (steps) => {
        const underTest = await openStore()
        try {
          const model = new ModelQueue()
          let store = underTest.store
          for (const next of steps) {
            if (next.do === 'reopen') store = await underTest.reopen()
            else if (next.do === 'enqueue') await tellEnqueue(store, model, next.jobs)
            else if (model.jobs.length > 0) await tell(store, model, next)
            await compare(store, model)
          }
          await compareHistories(store, model)
        } finally {
          await underTest.remove()
        }
      }),
      { numRuns: stories }
    )
  })
}

async function tellEnqueue(store: Store, model: ModelQueue, list: Wishes[]): Promise<void> {
  const known = model.jobs.map(({ job }) => job.id)
  const jobs = list.map((wish): NewJob => {
    const job = aNewJob({ project: `p${wish.lane}`, priority: wish.priority, noOverlap: wish.noOverlap })
    const { atMs } = job.entry
    return {
      ...job,
      notBeforeMs: wish.notBefore === null ? null : atMs + wish.notBefore,
      expiresAtMs: wish.expires === null ? null : atMs + wish.expires,
      after: known.length === 0 ? [] : wish.after.map(({ job, on }) => ({ jobId: known[job % known.length]!, on })),
      dedupe: wish.dedupe === null ? null : { key: `k${wish.dedupe}`, expiresAtMs: atMs + 20 }
    }
  })
  expect(await store.enqueueJobs(jobs)).toEqual(jobs.map((job) => model.enqueue(job, job.entry.atMs)))
}

async function tell(
  store: Store,
  model: ModelQueue,
  next: Exclude<Step, { do: 'reopen' } | { do: 'enqueue' }>
): Promise<void> {
  const picked = (index: number) => model.jobs[index % model.jobs.length] as ModelJob
  // Usually picks a job that the step can affect, because stories of rejected steps would test little.
  const fitting = model.jobs.filter(({ state }) => next.job % 4 === 0 || STATES_OF[next.do]?.includes(state) !== false)
  const known = fitting[Math.floor(next.job / 4) % fitting.length] ?? picked(next.job)
  const ids = [known.job.id]
  const number = known.attempts.length
  const attempt = known.attempts.at(-1)
  const now = entry()
  const idsIf = (holds: boolean) => (holds ? ids : [])
  const isQueued = known.state === 'queued'

  if (next.do === 'begin') {
    const jobid = `${known.job.id}-${number + 1}`
    const start = {
      jobId: known.job.id,
      number: nextAttempt(number),
      jobid,
      nodeId: aNodeId('n1'),
      version: aVersionName('1'),
      entry: now
    }
    const begun = await store.beginAttempts([start])
    expect(begun.length).toBe(model.claim(known, now.atMs) ? 1 : 0)
  } else if (next.do === 'askCancel') {
    const isLive = known.state === 'starting' || known.state === 'running'
    expect(await store.askCancel(ids, now)).toEqual(idsIf(isLive))
    if (!isLive || known.isCancelAsked) return
    known.isCancelAsked = true
    known.entries += 1
  } else if (next.do === 'cancelQueued') {
    expect(await store.cancelQueued(ids, now)).toEqual(idsIf(isQueued))
    if (isQueued) model.cancelQueued(known, now.atMs)
  } else if (next.do === 'restore') {
    const restored = (await store.restoreCancelled(ids, now)).sort()
    expect(restored).toEqual(
      model
        .restore(known, now.atMs)
        .map(({ job }) => job.id)
        .sort()
    )
  } else if (next.do === 'releaseDue') {
    expect(await store.releaseDue(now.atMs, 1000)).toEqual(model.releaseDue(now.atMs))
  } else if (next.do === 'setPriority') {
    expect(await store.setPriority(ids, next.priority, now)).toEqual(idsIf(isQueued))
    if (!isQueued || known.priority === next.priority) return
    known.priority = next.priority
    known.entries += 1
  } else if (next.do === 'reorder') {
    const list = [...new Set([known, ...next.others.map(picked)])]
    const to = typeof next.to === 'string' ? next.to : { before: picked(next.to).job.id }
    const moved = await store.reorder(
      list.map(({ job }) => job.id),
      to,
      now
    )
    expect(moved).toEqual(model.reorder(list, to).map(({ job }) => job.id))
  } else if (next.do === 'place') {
    const nodeId = next.node === 0 ? null : `n${next.node}`
    expect(await store.placeQueued(ids, { nodeId: branded(nodeId), tags: [] }, now)).toEqual(idsIf(isQueued))
    if (isQueued) model.place(known, nodeId)
  } else {
    const change = {
      jobId: known.job.id,
      attemptNumber: anAttemptNumber(Math.max(1, number)),
      from: next.from,
      entry: now
    }
    const applies = attempt !== undefined && next.from.includes(attempt.state)
    const retryAtMs = next.do === 'end' && next.retry !== null ? now.atMs + next.retry : undefined
    const kind = next.do === 'move' ? kindOfMove(attempt?.state, next.to) : kindOfEnd(next.result)
    const writing = store.applyChanges([
      next.do === 'move'
        ? { ...change, to: next.to, kind }
        : {
            ...change,
            to: 'ended',
            kind,
            result: next.result,
            jobOutcome: next.jobOutcome,
            ...(retryAtMs === undefined ? {} : { retryAtMs, mayHaveRunTwice: true })
          }
    ])
    const to = next.do === 'move' ? next.to : 'ended'
    if (applies && !attemptStatesAfter(attempt.state, kind).includes(to)) {
      await expect(writing).rejects.toThrow(/No attempt goes/)
      return
    }
    expect(await writing).toEqual([applies])
    if (!applies) return
    known.entries += 1
    if (next.do === 'move') {
      attempt.state = next.to
      if (next.to === 'running' || next.to === 'finishing') known.state = 'running'
      return
    }
    Object.assign(attempt, { state: 'ended', result: next.result })
    if (retryAtMs !== undefined) known.mayHaveRunTwice = true
    const wanted = next.result === 'refused' || next.result === 'absent' ? null : next.result
    const outcome = next.jobOutcome === undefined ? wanted : next.jobOutcome
    if (outcome === null && known.isCancelAsked) known.entries += 1
    const ends = outcome ?? (known.isCancelAsked ? 'cancelled' : null)
    if (ends === null) model.queueAgain(known, retryAtMs, now.atMs)
    else model.end(known, ends, now.atMs)
  }
}

/** Returns the event that leads to the state. If there is none, returns one that the store rejects. */
function kindOfMove(from: AttemptState | undefined, to: AttemptState): TransitionKind {
  const kinds = ['accepted', 'uncertain', 'running', 'vanished', 'finishing'] as const
  return kinds.find((kind) => attemptStatesAfter(from ?? null, kind).includes(to)) ?? 'running'
}

function kindOfEnd(result: AttemptResult): TransitionKind {
  return result === 'absent' ? 'absent' : 'ended'
}

async function compare(store: Store, queue: ModelQueue): Promise<void> {
  const model = queue.jobs
  const ids = model.map(({ job }) => job.id)
  const jobs = (await store.getJobs(ids)).map(
    ({ id, state, outcome, status, hold, priority, attemptCount, mayHaveRunTwice, placement }) => ({
      id,
      state,
      outcome,
      status,
      hold,
      priority,
      attemptCount,
      mayHaveRunTwice,
      nodeWanted: placement.nodeId
    })
  )
  expect(jobs).toEqual(
    model.map(({ job, state, outcome, hold, priority, attempts, mayHaveRunTwice, nodeWanted }) => ({
      id: job.id,
      state,
      outcome,
      status: outcome ?? state,
      hold,
      priority,
      attemptCount: attempts.length,
      mayHaveRunTwice,
      nodeWanted
    }))
  )
  const count = (state: ModelJob['state']) => model.filter((job) => job.state === state).length
  expect(await store.countByState()).toEqual({
    queued: count('queued'),
    starting: count('starting'),
    running: count('running'),
    ended: count('ended')
  })

  const laneOf = ({ job, nodeWanted }: ModelJob) => `${job.project} ${nodeWanted}`
  const lanes = [...Map.groupBy(queue.inOrder(), laneOf)].map(([lane, list]) => ({
    lane,
    depth: list.length,
    ids: list.map(({ job }) => job.id)
  }))
  const heads = (await readAllHeads(store, 1000)).map(({ project, placement, depth, jobs }) => ({
    lane: `${project} ${placement.nodeId}`,
    depth,
    ids: jobs.map(({ id }) => id)
  }))
  const byLane = (a: { lane: string }, b: { lane: string }) => (a.lane < b.lane ? -1 : 1)
  expect(heads.sort(byLane)).toEqual(lanes.sort(byLane))

  const live = model.filter(({ attempts }) => attempts.at(-1)?.state !== 'ended' && attempts.length > 0)
  expect((await store.listLiveAttempts()).map(({ jobId, state }) => [jobId, state])).toEqual(
    live.map(({ job, attempts }) => [job.id, attempts.at(-1)?.state])
  )
  const facets = await store.countFacets({})
  expect(facets).toEqual(await store.countFacets({ sinceMs: 0 }))
  expect(facets.status.reduce((sum, facet) => sum + facet.count, 0)).toBe(model.length)
}

async function compareHistories(store: Store, { jobs }: ModelQueue): Promise<void> {
  for (const { job, attempts, entries } of jobs) {
    expect((await store.listAttempts(job.id)).map(({ state, result }) => ({ state, result }))).toEqual(attempts)
    expect([job.id, (await store.listTimeline(job.id)).length]).toEqual([job.id, entries])
  }
}

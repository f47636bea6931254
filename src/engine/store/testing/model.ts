import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { AttemptResult, AttemptState, Outcome } from '../../../shared/contract/index.ts'
import { aNewJob, entry } from '../../testing/builders.ts'
import type { NewJob, Store } from '../store.ts'
import { readAllHeads, type StoreUnderTest } from './story.ts'

/** A step of a random story. `job` picks among the jobs made so far. */
type Step =
  | { do: 'enqueue'; lane: number; priority: number; count: number }
  | { do: 'begin'; job: number }
  | { do: 'askCancel'; job: number }
  | { do: 'restore'; job: number }
  | { do: 'cancelQueued'; job: number }
  | { do: 'move'; job: number; from: AttemptState[]; to: AttemptState }
  | { do: 'end'; job: number; from: AttemptState[]; result: AttemptResult; jobOutcome: Outcome | null | undefined }
  | { do: 'reopen' }

interface ModelJob {
  job: NewJob
  state: 'queued' | 'starting' | 'running' | 'ended'
  outcome: Outcome | null
  isCancelAsked: boolean
  isRestorable: boolean
  attempts: { state: AttemptState; result: AttemptResult | null }[]
  entries: number
}

const LIVE: AttemptState[] = ['sending', 'uncertain', 'accepted', 'running', 'finishing']

const pick = fc.nat(1000)
const from = fc.uniqueArray(fc.constantFrom<AttemptState>(...LIVE, 'ended'), { minLength: 1 })
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant('enqueue' as const),
    lane: fc.nat(2),
    priority: fc.integer({ min: -1, max: 1 }),
    count: fc.integer({ min: 1, max: 3 })
  }),
  { weight: 3, arbitrary: fc.record({ do: fc.constant('begin' as const), job: pick }) },
  fc.record({ do: fc.constant('askCancel' as const), job: pick }),
  fc.record({ do: fc.constant('cancelQueued' as const), job: pick }),
  fc.record({ do: fc.constant('restore' as const), job: pick }),
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('move' as const), job: pick, from, to: fc.constantFrom(...LIVE) })
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('end' as const),
      job: pick,
      from,
      result: fc.constantFrom<AttemptResult>('succeeded', 'failed', 'cancelled', 'lost', 'refused', 'absent'),
      jobOutcome: fc.constantFrom<Outcome | null | undefined>(undefined, undefined, null, 'failed', 'lost')
    })
  },
  fc.record({ do: fc.constant('reopen' as const) })
)

/** Random stories, told to the store and to a small model of it in memory: both must tell the same at every step. */
export function testAgainstModel(openStore: () => Promise<StoreUnderTest>): void {
  test('any story leaves the store where the model is', { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const underTest = await openStore()
        try {
          const model: ModelJob[] = []
          let store = underTest.store
          for (const next of steps) {
            if (next.do === 'reopen') store = await underTest.reopen()
            else await tell(store, model, next)
            await compare(store, model)
          }
        } finally {
          await underTest.remove()
        }
      }),
      { numRuns: 100 }
    )
  })
}

async function tell(store: Store, model: ModelJob[], next: Exclude<Step, { do: 'reopen' }>): Promise<void> {
  if (next.do === 'enqueue') {
    const jobs = Array.from({ length: next.count }, () =>
      aNewJob({ project: `p${next.lane}`, priority: next.priority })
    )
    await store.enqueueJobs(jobs)
    for (const job of jobs) {
      model.push({
        job,
        state: 'queued',
        outcome: null,
        isCancelAsked: false,
        isRestorable: false,
        attempts: [],
        entries: 1
      })
    }
    return
  }
  const known = model[next.job % model.length]
  if (known === undefined) return
  const ids = [known.job.id]
  const number = known.attempts.length
  const attempt = known.attempts.at(-1)

  if (next.do === 'begin') {
    const jobid = `${known.job.id}-${number + 1}`
    const start = { jobId: known.job.id, number: number + 1, jobid, nodeId: 'n1', version: '1', entry: entry() }
    const expected = known.state === 'queued' && !known.isCancelAsked
    expect((await store.beginAttempts([start])).length).toBe(expected ? 1 : 0)
    if (!expected) return
    known.state = 'starting'
    known.attempts.push({ state: 'sending', result: null })
    known.entries += 1
  } else if (next.do === 'askCancel') {
    const isLive = known.state === 'starting' || known.state === 'running'
    expect(await store.askCancel(ids, entry())).toEqual(isLive ? ids : [])
    if (!isLive || known.isCancelAsked) return
    known.isCancelAsked = true
    known.entries += 1
  } else if (next.do === 'cancelQueued') {
    const isQueued = known.state === 'queued'
    expect(await store.cancelQueued(ids, entry())).toEqual(isQueued ? ids : [])
    if (!isQueued) return
    Object.assign(known, { state: 'ended', outcome: 'cancelled', isCancelAsked: true, isRestorable: true })
    known.entries += 1
  } else if (next.do === 'restore') {
    expect(await store.restoreCancelled(ids, entry())).toEqual(known.isRestorable ? ids : [])
    if (!known.isRestorable) return
    Object.assign(known, { state: 'queued', outcome: null, isCancelAsked: false, isRestorable: false })
    known.entries += 1
  } else {
    const change = { jobId: known.job.id, attemptNumber: Math.max(1, number), from: next.from, entry: entry() }
    const applies = attempt !== undefined && attempt.state !== 'ended' && next.from.includes(attempt.state)
    const applied = await store.applyChanges([
      next.do === 'move'
        ? { ...change, to: next.to, kind: 'running' }
        : { ...change, to: 'ended', kind: 'ended', result: next.result, jobOutcome: next.jobOutcome }
    ])
    expect(applied).toEqual([applies])
    if (!applies) return
    known.entries += 1
    if (next.do === 'move') {
      attempt.state = next.to
      if (next.to === 'running' || next.to === 'finishing') known.state = 'running'
      return
    }
    Object.assign(attempt, { state: 'ended', result: next.result })
    const wanted = next.result === 'refused' || next.result === 'absent' ? null : next.result
    const outcome = next.jobOutcome === undefined ? wanted : next.jobOutcome
    if (outcome === null && known.isCancelAsked) known.entries += 1
    const ends = outcome ?? (known.isCancelAsked ? 'cancelled' : null)
    Object.assign(known, { state: ends === null ? 'queued' : 'ended', outcome: ends })
  }
}

async function compare(store: Store, model: ModelJob[]): Promise<void> {
  const ids = model.map(({ job }) => job.id)
  const jobs = (await store.getJobs(ids)).map(({ id, state, outcome, status, attemptCount }) => ({
    id,
    state,
    outcome,
    status,
    attemptCount
  }))
  expect(jobs).toEqual(
    model.map(({ job, state, outcome, attempts }) => ({
      id: job.id,
      state,
      outcome,
      status: outcome ?? state,
      attemptCount: attempts.length
    }))
  )
  const count = (state: ModelJob['state']) => model.filter((job) => job.state === state).length
  expect(await store.countByState()).toEqual({
    queued: count('queued'),
    starting: count('starting'),
    running: count('running'),
    ended: count('ended')
  })

  const waiting = model.filter(({ state }) => state === 'queued').map(({ job }) => job)
  const lanes = [...Map.groupBy(waiting, ({ project }) => project)].map(([project, list]) => ({
    project,
    depth: list.length,
    ids: list.sort((a, b) => b.priority - a.priority || (a.id < b.id ? -1 : 1)).map(({ id }) => id)
  }))
  const heads = (await readAllHeads(store, 1000)).map((lane) => ({
    project: lane.project,
    depth: lane.depth,
    ids: lane.jobs.map(({ id }) => id)
  }))
  const byProject = (a: { project: string }, b: { project: string }) => (a.project < b.project ? -1 : 1)
  expect(heads.sort(byProject)).toEqual(lanes.sort(byProject))

  const live = model.filter(({ attempts }) => attempts.at(-1)?.state !== 'ended' && attempts.length > 0)
  expect((await store.listLiveAttempts()).map(({ jobId, state }) => [jobId, state])).toEqual(
    live.map(({ job, attempts }) => [job.id, attempts.at(-1)?.state])
  )
  const facets = await store.countFacets({})
  expect(facets).toEqual(await store.countFacets({ sinceMs: 0 }))
  expect(facets.status.reduce((sum, facet) => sum + facet.count, 0)).toBe(model.length)

  for (const { job, attempts, entries } of model) {
    expect((await store.listAttempts(job.id)).map(({ state, result }) => ({ state, result }))).toEqual(attempts)
    expect((await store.listTimeline(job.id)).length).toBe(entries)
  }
}

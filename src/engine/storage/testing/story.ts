import { expect } from 'vitest'
import type { Attempt, JobFilter } from '../../../shared/contract/index.ts'
import { aJobId, anAttemptNumber, branded, type Plain } from '../../../shared/testing/ids.ts'
import { aNewJob, anAttemptStart, entry } from '../../testing/builders.ts'
import { parseLane } from '../../model/lane.ts'
import type { AttemptChange } from '../../model/attempt-change.ts'
import type { AttemptStart, NewJob } from '../../model/records.ts'
import type { Store } from '../store.ts'

/** A store with its own empty data. `reopen` closes it and opens the same data again. */
export interface StoreUnderTest {
  store: Store
  reopen(): Promise<Store>
  remove(): Promise<void>
}

export const timeoutOf = (stories: number): number => 60_000 + stories * 500

export type Story = ReturnType<typeof createStory>

export function createStory(openStore: () => Promise<StoreUnderTest>) {
  let underTest: StoreUnderTest | null = null
  let store: Store | null = null

  function opened(): Store {
    if (store === null) throw new Error('The store of this test is not open')
    return store
  }

  function change(job: { id: string }, over: Partial<AttemptChange>): AttemptChange {
    return {
      jobId: aJobId(job.id),
      attemptNumber: anAttemptNumber(1),
      from: ['sending', 'uncertain', 'accepted', 'running', 'finishing'],
      kind: over.to === undefined ? 'seen_again' : over.result === 'absent' ? 'absent' : 'ended',
      entry: entry(),
      ...over
    }
  }

  return {
    get store() {
      return opened()
    },

    async open(): Promise<void> {
      underTest = await openStore()
      store = underTest.store
    },

    async reopen(): Promise<void> {
      store = (await underTest?.reopen()) ?? null
    },

    async remove(): Promise<void> {
      await underTest?.remove()
    },

    change,

    async enqueue(over: Plain<Partial<NewJob>> = {}): Promise<NewJob> {
      const job = aNewJob(over)
      await opened().enqueueJobs([job])
      return job
    },

    async begin(job: NewJob, over: Partial<AttemptStart> = {}): Promise<Attempt> {
      const [begun] = await opened().beginAttempts([anAttemptStart(job, over)])
      if (begun === undefined) throw new Error(`${job.id} was not claimed`)
      const { job: claimed, ...attempt } = begun
      expect(claimed).toEqual(await opened().getJob(job.id))
      return attempt
    },

    end: (job: { id: string }, over: Partial<AttemptChange> = {}): Promise<boolean[]> =>
      opened().applyChanges([change(job, { to: 'ended', result: 'succeeded', ...over })]),

    heads: (limit: number) => readAllHeads(opened(), limit),

    kindsOf: async (job: { id: string }) => (await opened().listTimeline(aJobId(job.id))).map(({ kind }) => kind),

    pageIds: async (filter: JobFilter, before: string | null = null, limit = 100) =>
      (await opened().listJobs(filter, { before: branded(before), limit })).map(({ id }) => id)
  }
}

export async function readAllHeads(store: Store, limit: number) {
  const lanes = await store.listLanes()
  const heads = await store.readHeads(lanes.map(({ lane }) => ({ lane, limit })))
  return lanes.map(({ lane, depth }, index) => ({ lane, depth, ...parseLane(lane), jobs: heads[index] ?? [] }))
}

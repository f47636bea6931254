import { expect, expectTypeOf, it } from 'vitest'
import { type Change, type Contract, contract, type Job, listOperations } from '../../../shared/contract/index.ts'
import { NOUN_OF } from '../../../shared/contract/change-nouns.ts'
import { aJob, aNode, jobIdAt } from '../../../shared/testing/builders.ts'
import { createApi } from '../api.tsx'
import { createFakeEngine } from '../../testing/fake-engine.ts'
import { LIVE_UPDATES, type LiveUpdates, newestOfEach, queryUpdates } from './live-updates.ts'
import { type ChangeOf, type Noun, patch, refetch } from './query-updates.ts'

const { query } = createApi(createFakeEngine({ jobCount: 0, nodeCount: 1 }).client)

it('everything an operation writes is announced as a change of its noun', () => {
  const written = [...listOperations(contract)].filter(([, operation]) => operation['~orpc'].meta.writes)
  const nouns = new Set(written.map(([name]) => name.split('.')[0] as keyof Contract))
  // Operations of these nouns change data of other nouns, or data that is refetched while it is shown.
  const access = ['users', 'groups', 'roles', 'tokens', 'sessions', 'secondFactors', 'signIns'] as const
  const alerts = ['alertRules', 'alertSilences', 'alertChannels'] as const
  for (const other of ['crawl', 'crawlOrders', 'fleetFile', 'engines', ...alerts, ...access] as const)
    nouns.delete(other)
  const told: ReadonlySet<string> = new Set(Object.values(NOUN_OF))
  expect([...nouns].filter((noun) => !told.has(noun))).toEqual([])
})

it('an event that is missing from live updates does not compile', () => {
  expectTypeOf<Noun>().toExtend<keyof Contract>()
  expectTypeOf<ChangeOf<'jobs'>['kind']>().toEqualTypeOf<'job' | 'job_removed' | 'job_progress' | 'jobs' | 'waiting'>()
  expectTypeOf<ChangeOf<Noun>>().toEqualTypeOf<Change>()

  const { job: _job, ...otherKinds } = NOUN_OF
  // @ts-expect-error a kind of change without its noun
  otherKinds satisfies Record<Change['kind'], keyof Contract>
  const { jobs: _jobs, ...otherNouns } = LIVE_UPDATES
  // @ts-expect-error a noun without its updates
  otherNouns satisfies LiveUpdates

  // @ts-expect-error an operation that the contract does not have
  const unknown = () => refetch(query.jobs.list, query.jobs.theirList)
  expectTypeOf(unknown).toBeFunction()
  // @ts-expect-error a field that the operation's response does not have
  patch(query.nodes.list, (data) => ({ nodes: data.theirNodes }))
  // @ts-expect-error not what the operation returns
  patch(query.jobs.get, () => aJob() satisfies Job)
})

it('of several changes of one thing only the newest remains, at the position of the newest', () => {
  const [first, second] = [jobIdAt(1, 1), jobIdAt(2, 2)]
  const changes: Change[] = [
    { kind: 'job', job: aJob({ id: first }) },
    { kind: 'job', job: aJob({ id: second }) },
    { kind: 'node', node: aNode({ id: first }) },
    { kind: 'job_removed', id: first }
  ]
  expect(newestOfEach(changes)).toEqual([changes[1], changes[2], changes[3]])
})

it('a bulk change of jobs names no single rows: every query that counts or lists jobs is repeated', () => {
  const updates = queryUpdates([{ kind: 'jobs' }], query)
  expect(updates.map(({ queryKey, write }) => [(queryKey[0] as string[]).join('.'), write])).toEqual(
    ['jobs.list', 'jobs.facets', 'jobs.get', 'jobs.count', 'jobs.running', 'queue.lanes', 'queue.limits'].map(
      (name) => [name, null]
    )
  )
})

import { QueryClient, QueryObserver } from '@tanstack/react-query'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { aJob, aNode, jobIdAt } from '../../../shared/testing/builders.ts'
import { aNodeId } from '../../../shared/testing/ids.ts'
import type { Connection } from '../../state/connection.ts'
import { createFakeEngine, type FakeEngine } from '../../testing/fake-engine.ts'
import { type Api, createApi } from '../api.tsx'
import { followChanges } from './follow-changes.ts'

let engine: FakeEngine
let api: Api
let queryClient: QueryClient
let states: Connection['state'][]
let frames: (() => void)[]
let following: { stop(): void }
const closing: (() => void)[] = []

/** Starts following and waits until the stream is open. Changes are applied when `drawFrame()` is called. */
async function follow(refetchAfterMs = 10): Promise<void> {
  following = followChanges({
    api,
    queryClient,
    onConnection: (state) => states.push(state),
    onNextFrame: (flush) => frames.push(flush),
    refetchAfterMs,
    retryAfterMs: 2
  })
  await vi.waitFor(() => expect(states.at(-1)).toBe('live'))
  await drawFrame()
}

async function drawFrame(): Promise<void> {
  await vi.waitFor(() => expect(frames.length).toBeGreaterThan(0))
  for (const frame of frames.splice(0)) frame()
}

async function show<T>(options: T): Promise<T> {
  const observer = new QueryObserver(queryClient, options as never)
  closing.push(observer.subscribe(() => {}))
  await vi.waitFor(() => expect(observer.getCurrentResult().isFetching).toBe(false))
  return options
}

const callsOf = (name: string) => engine.calls.filter((call) => call === name).length
const jobList = (filter: object = {}) => api.query.jobs.list.queryOptions({ input: { limit: 50, ...filter } })

beforeEach(() => {
  engine = createFakeEngine({ jobCount: 0, nodeCount: 3 })
  for (let index = 1; index <= 5; index++) {
    const id = jobIdAt(1000 * index, index)
    engine.jobs.set(id, aJob({ id, jobid: id, spider: `s${index}` }))
  }
  api = createApi(engine.client)
  queryClient = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY, retry: false } } })
  states = []
  frames = []
})

afterEach(() => {
  for (const close of closing.splice(0)) close()
  following.stop()
  queryClient.clear()
  engine.stop()
})

it('updates a row in place, puts a new one on top and removes what no longer matches the filter', async () => {
  await follow()
  const all = await show(jobList())
  const queued = await show(jobList({ status: ['queued'] }))
  const [second, third] = [engine.jobs.get(jobIdAt(2000, 2))!, engine.jobs.get(jobIdAt(3000, 3))!]
  const started = { ...third, status: 'running' as const, state: 'running' as const }
  const newId = jobIdAt(9000, 9)
  engine.emit(
    { kind: 'job', job: started },
    { kind: 'job', job: aJob({ id: newId, spider: 'new' }) },
    { kind: 'job_removed', id: second.id }
  )
  await drawFrame()
  const spiders = (options: typeof all) =>
    queryClient.getQueryData(options.queryKey)?.jobs.map(({ spider, status }) => `${spider} ${status}`)
  expect(spiders(all)).toEqual(['new queued', 's5 queued', 's4 queued', 's3 running', 's1 queued'])
  expect(spiders(queued)).toEqual(['new queued', 's5 queued', 's4 queued', 's1 queued'])
  expect(callsOf('jobs.list')).toBe(2)
})

it('leaves jobs older than the last row of a page to the next page', async () => {
  await follow()
  const page = await show(jobList({ limit: 2 }))
  engine.emit({ kind: 'job', job: { ...engine.jobs.get(jobIdAt(1000, 1))!, priority: 5 } })
  await drawFrame()
  expect(queryClient.getQueryData(page.queryKey)?.jobs.map(({ spider }) => spider)).toEqual(['s5', 's4'])
})

it('does not let a limited list grow beyond its limit, however many jobs arrive', async () => {
  await follow()
  const { queryKey } = await show(jobList({ limit: 3 }))
  for (let index = 6; index <= 40; index++)
    engine.emit({ kind: 'job', job: aJob({ id: jobIdAt(1000 * index, index), spider: `s${index}` }) })
  await vi.waitFor(async () => {
    await drawFrame()
    expect(queryClient.getQueryData(queryKey)?.jobs.map(({ spider }) => spider)).toEqual(['s40', 's39', 's38'])
  })
  expect(queryClient.getQueryData(queryKey)?.nextBefore).toBe(jobIdAt(38_000, 38))
})

it('refills a limited list when rows leave it', async () => {
  await follow()
  const { queryKey } = await show(jobList({ limit: 2, status: ['queued'] }))
  const newest = engine.jobs.get(jobIdAt(5000, 5))!
  const running = { ...newest, status: 'running' as const, state: 'running' as const }
  engine.jobs.set(running.id, running)
  engine.emit({ kind: 'job', job: running })
  await drawFrame()
  await vi.waitFor(() =>
    expect(queryClient.getQueryData(queryKey)?.jobs.map(({ spider }) => spider)).toEqual(['s4', 's3'])
  )
})

it('renders a hundred changes of one job once', async () => {
  await follow()
  const { queryKey } = await show(jobList())
  let writes = 0
  closing.push(
    queryClient
      .getQueryCache()
      .subscribe((event) => event.type === 'updated' && event.action.type === 'success' && writes++)
  )
  const job = engine.jobs.get(jobIdAt(5000, 5))!
  for (let pages = 1; pages <= 100; pages++) engine.emit({ kind: 'job', job: { ...job, pages } })
  // The batches can arrive in several frames. Only the last frame has the newest state.
  await vi.waitFor(async () => {
    await drawFrame()
    expect(queryClient.getQueryData(queryKey)?.jobs[0]?.pages).toBe(100)
  })
  expect(writes).toBeLessThanOrEqual(3)
})

it('resumes at its cursor after a drop: nothing is lost and nothing fetched again', async () => {
  await follow()
  const { queryKey } = await show(jobList())
  const calls = callsOf('jobs.list')
  engine.dropStreams()
  await vi.waitFor(() => expect(states).toContain('reconnecting'))
  engine.emit({ kind: 'job', job: aJob({ id: jobIdAt(9000, 9), spider: 'meanwhile' }) })
  await vi.waitFor(() => expect(states.at(-1)).toBe('live'))
  await vi.waitFor(async () => {
    await drawFrame()
    expect(queryClient.getQueryData(queryKey)?.jobs[0]?.spider).toBe('meanwhile')
  })
  expect(callsOf('jobs.list')).toBe(calls)
})

it('fetches visible data again if the engine no longer has the missed changes', async () => {
  await follow()
  const { queryKey } = await show(jobList())
  engine.jobs.clear()
  engine.forgetChanges()
  engine.dropStreams()
  await vi.waitFor(async () => {
    for (const frame of frames.splice(0)) frame()
    expect(queryClient.getQueryData(queryKey)?.jobs).toEqual([])
  })
})

it('does not let an in-flight response undo a change', async () => {
  await follow()
  const { queryKey } = await show(jobList())
  const old = queryClient.getQueryData(queryKey)!
  const changed = { ...old.jobs[0]!, priority: 9 }
  // The change arrives during the fetch, and the fetch then returns the older state.
  let answer = (_data: typeof old) => {}
  const fetching = queryClient.fetchQuery({
    queryKey,
    staleTime: 0,
    queryFn: () => new Promise<typeof old>((resolve) => (answer = resolve))
  })
  engine.emit({ kind: 'job', job: changed })
  await drawFrame()
  answer(old)
  await fetching
  expect(queryClient.getQueryData(queryKey)?.jobs[0]?.priority).toBe(9)
})

it('shows a change of the open job at once and fetches its timeline once for many changes', async () => {
  await follow(500)
  const job = engine.jobs.get(jobIdAt(4000, 4))!
  const { queryKey } = await show(api.query.jobs.get.queryOptions({ input: { id: job.id } }))
  const calls = callsOf('jobs.get')
  for (let items = 1; items <= 5; items++) {
    engine.jobs.set(job.id, { ...job, items })
    engine.emit({ kind: 'job', job: { ...job, items } })
    await drawFrame()
  }
  expect(queryClient.getQueryData(queryKey)?.job.items).toBe(5)
  await vi.waitFor(() => expect(callsOf('jobs.get')).toBe(calls + 1), { timeout: 2000 })
})

it("keeps nodes, the engine's status and the sparklines up to date", async () => {
  await follow()
  const nodes = await show(api.query.nodes.list.queryOptions())
  const status = await show(api.query.system.status.queryOptions())
  const history = await show(api.query.system.history.queryOptions())
  const before = queryClient.getQueryData(history.queryKey)!.samples
  const figures = { ...before.at(-1)!, queued: 77, sampledAtMs: before.at(-1)!.sampledAtMs + 10_000 }
  engine.emit(
    { kind: 'node', node: aNode({ id: 'eu-1', name: 'renamed' }) },
    { kind: 'node', node: aNode({ id: 'fresh', name: 'fresh' }) },
    { kind: 'node_removed', id: aNodeId('eu-2') }
  )
  engine.emit({ kind: 'figures', figures }, { kind: 'problems', problems: [] })
  await vi.waitFor(async () => {
    await drawFrame()
    expect(queryClient.getQueryData(status.queryKey)?.problems).toEqual([])
  })
  expect(queryClient.getQueryData(nodes.queryKey)?.nodes.map(({ name }) => name)).toEqual([
    'this computer',
    'renamed',
    'fresh'
  ])
  expect(queryClient.getQueryData(status.queryKey)?.figures.queued).toBe(77)
  expect(queryClient.getQueryData(history.queryKey)?.samples.at(-1)?.queued).toBe(77)
})

it('replaces the environments as a whole', async () => {
  await follow()
  const options = await show(api.query.environments.list.queryOptions())
  const [first] = engine.environments.values()
  engine.emit({ kind: 'environments', environments: [{ ...first!, state: 'building' }] })
  await drawFrame()
  expect(queryClient.getQueryData(options.queryKey)?.environments.map(({ state }) => state)).toEqual(['building'])
})

import { fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, expect, it } from 'vitest'
import { createFakeEngine, type FakeEngine } from '../../testing/fake-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'
import { sendPendingCancels } from '../../ui/cancel-grace.tsx'

let engine: FakeEngine
let app: ReturnType<typeof renderApp>

afterEach(() => app.stop())

function open(options: Parameters<typeof createFakeEngine>[0] = {}) {
  engine = createFakeEngine({ jobCount: 100, nodeCount: 3, ...options })
  app = renderApp(engine, '/running')
}

const rows = async () => within(await screen.findByRole('grid', { name: 'Running jobs' })).findAllByRole('row')
const live = () => [...engine.jobs.values()].filter(({ state }) => state === 'running' || state === 'starting')
const rowOf = async (text: string) => (await rows()).find((row) => row.textContent?.includes(text))!

it('shows each live job as a process, and its pages and errors as its log grows', async () => {
  open()
  await screen.findByText(new RegExp(`^${live().length} jobs`))
  const job = live().find(({ state }) => state === 'running')!
  fireEvent.change(screen.getByLabelText('Filter running jobs'), { target: { value: job.spider } })
  const progress = { pages: 71_234, items: 5_678, errors: 31, pagesPerMinute: 912.4, itemsPerMinute: 8 }
  engine.emit({ kind: 'job_progress', id: job.id, progress })
  await waitFor(async () => {
    const row = await rowOf('71,234')
    for (const text of ['5,678', '31', '912']) expect(within(row).getByText(text)).toBeTruthy()
  })
})

it('an ended job disappears, and a started one appears', async () => {
  open()
  const job = live()[0]!
  await screen.findByText(new RegExp(`^${live().length} jobs`))
  const ended = { ...job, state: 'ended' as const, status: 'succeeded' as const, outcome: 'succeeded' as const }
  const begun = { ...[...engine.jobs.values()].find(({ state }) => state === 'queued')!, waiting: null }
  Object.assign(begun, {
    state: 'running',
    status: 'running',
    nodeId: job.nodeId,
    startedAtMs: Date.now(),
    spider: 'fresh'
  })
  for (const each of [ended, begun]) engine.jobs.set(each.id, each)
  engine.emit({ kind: 'job', job: ended }, { kind: 'job', job: begun })
  await waitFor(async () => expect(await rowOf('fresh')).toBeTruthy())
})

it('cancels a run with one click, and a second click in the same place undoes it', async () => {
  open()
  await screen.findByText(new RegExp(`^${live().length} jobs`))
  const name = await screen.findAllByRole('button', { name: /^Cancel \w+\// })
  const spider = name[0]!.getAttribute('aria-label')!.replace('Cancel ', '')
  fireEvent.click(name[0]!)
  fireEvent.click(await screen.findByRole('button', { name: `Undo the cancellation of ${spider}` }))
  expect((await screen.findAllByRole('button', { name: `Cancel ${spider}` })).length).toBeGreaterThan(0)
  expect(engine.calls).not.toContain('jobs.cancel')
})

it('sorts by the resources that a process uses', async () => {
  open()
  const head = within(await screen.findByRole('grid', { name: 'Running jobs' }))
  fireEvent.click(await head.findByRole('button', { name: /^Pages$/ }))
  fireEvent.click(await head.findByRole('button', { name: /^Pages$/ }))
  const most = Math.max(...live().map(({ pages }) => pages ?? 0))
  await waitFor(async () => expect((await rows())[1]!.textContent).toContain(most.toLocaleString('en')))
})

it('says that nothing is running', async () => {
  open({ firstRun: true })
  expect(await screen.findByText('Nothing is running')).toBeTruthy()
})

it('shows runs of other clients on the nodes as external, and cancels one with one click, too', async () => {
  open({ nodeCount: 40 })
  const [node] = [...engine.nodes.values()].filter(({ runs }) => runs.some(({ jobId }) => jobId === null))
  const run = node!.runs.find(({ jobId }) => jobId === null)!
  expect(await screen.findByText(/ · \d+ external/)).toBeTruthy()
  fireEvent.change(screen.getByLabelText('Filter running jobs'), { target: { value: `external ${node!.name}` } })
  const row = await waitFor(async () => (await rowOf(`${run.spider} external`))!)
  expect(within(row).getByText(String(run.pid))).toBeTruthy()
  fireEvent.click(within(row).getByRole('button', { name: `Cancel ${run.project}/${run.spider}` }))
  sendPendingCancels()
  await waitFor(() => expect(engine.calls).toContain('nodes.cancelExternal'))
})

import { aJobId } from '../../../shared/testing/ids.ts'
import { configure, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterAll, afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Job } from '../../../shared/contract/index.ts'
import { outliveTerminals, stubCanvas } from '../../testing/stub-canvas.ts'
import { createFakeEngine, type FakeEngine } from '../../testing/fake-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'
import { sendPendingCancels } from '../../ui/cancel-grace.tsx'
import { placesBetween } from './use-queue-order.ts'

configure({ asyncUtilTimeout: 8000 })

let engine: FakeEngine
let app: ReturnType<typeof renderApp>

beforeEach(stubCanvas)
afterEach(() => {
  app.stop()
  vi.restoreAllMocks()
})
afterAll(outliveTerminals)

function open(address: string, options: Parameters<typeof createFakeEngine>[0] = {}) {
  engine = createFakeEngine({ jobCount: 100, ...options })
  app = renderApp(engine, address)
}

const grid = () => screen.findByRole('grid', { name: 'Jobs' })
const rows = async () => within(await grid()).findAllByRole('row')
const those = (status: Job['status']) => [...engine.jobs.values()].filter((job) => job.status === status)
const markAllShown = async () => {
  await waitFor(async () => expect((await rows()).length).toBeGreaterThan(1))
  fireEvent.click(await screen.findByRole('checkbox', { name: 'Select all rows shown' }))
  return within(await screen.findByRole('toolbar', { name: 'Selected jobs' }))
}

it('marks all matching jobs, beyond the loaded rows, and cancels them with progress and one Undo', async () => {
  open('/jobs', { jobCount: 900, nodeCount: 30 })
  const live = [...engine.jobs.values()].filter(({ state }) => state !== 'ended').length
  const waiting = those('queued').length
  const bar = await markAllShown()
  fireEvent.click(await bar.findByRole('button', { name: 'Select all 900' }))
  await bar.findByText('900 jobs selected')
  fireEvent.click(bar.getByRole('button', { name: `Cancel ${live}` }))
  fireEvent.click(await screen.findByRole('button', { name: 'Cancel jobs' }))
  // Queued jobs leave the queue immediately; running ones get a signal after the grace period. One Undo covers all.
  await waitFor(() => expect(those('queued')).toHaveLength(0))
  fireEvent.click(await screen.findByRole('button', { name: 'Undo', description: /^Cancelling \d+ jobs in 5 s/ }))
  await waitFor(() => expect(those('queued')).toHaveLength(waiting))
  expect(those('running').every(({ cancelAskedAtMs }) => cancelAskedAtMs === null)).toBe(true)

  const again = await markAllShown()
  fireEvent.click(await again.findByRole('button', { name: 'Select all 900' }))
  await again.findByText('900 jobs selected')
  fireEvent.click(again.getByRole('button', { name: `Cancel ${live}` }))
  fireEvent.click(await screen.findByRole('button', { name: 'Cancel jobs' }))
  sendPendingCancels()
  expect(await screen.findByText(`Cancelled ${waiting} of ${live} jobs`)).toBeTruthy()
  expect(screen.getByText(`${live - waiting} still stopping`)).toBeTruthy()
  fireEvent.click(await screen.findByRole('button', { name: 'Undo' }))
  await waitFor(() => expect(those('queued')).toHaveLength(waiting))
}, 30_000)

it('shows a request before the engine has responded, in the rows too', async () => {
  open('/jobs?status=queued')
  const cancel = engine.holdBack('jobs.cancel')
  const bar = await markAllShown()
  fireEvent.click(bar.getByRole('button', { name: /^Cancel/ }))
  expect(await screen.findByText(/^Cancelling \d+ jobs: requested$/)).toBeTruthy()
  expect(within(await grid()).getAllByText('cancelling…').length).toBeGreaterThan(3)
  cancel.release()
  expect(await screen.findByText(/^Cancelled \d+ jobs$/)).toBeTruthy()
})

it("changes the priority of marked jobs, and Undo restores each one's old priority", async () => {
  open('/jobs?status=queued')
  const before = new Map(those('queued').map(({ id, priority }) => [id, priority]))
  const bar = await markAllShown()
  fireEvent.click(bar.getByRole('button', { name: 'Priority' }))
  fireEvent.change(await screen.findByLabelText(/^Priority of/), { target: { value: '7' } })
  fireEvent.click(screen.getByRole('button', { name: 'Set priority' }))
  await waitFor(() => expect(those('queued').every(({ priority }) => priority === 7)).toBe(true))
  fireEvent.click(await screen.findByRole('button', { name: 'Undo' }))
  await waitFor(() => expect(new Map(those('queued').map(({ id, priority }) => [id, priority]))).toEqual(before))
})

it('moves marked jobs to a node, to tags and to any node, and Undo puts each back where it was', async () => {
  open('/jobs?status=queued')
  const places = () => those('queued').map(({ placement }) => placement)
  const before = places()
  const bar = await markAllShown()
  fireEvent.click(bar.getByRole('button', { name: 'Move' }))
  fireEvent.click(await screen.findByRole('combobox', { name: 'Node' }))
  fireEvent.click(await screen.findByRole('option', { name: 'eu-2' }))
  fireEvent.click(screen.getByRole('button', { name: /^Move \d+ jobs?$/ }))
  await waitFor(() => expect(places().every(({ nodeId }) => nodeId === 'eu-2')).toBe(true))
  fireEvent.click(await screen.findByRole('button', { name: 'Undo' }))
  await waitFor(() => expect(places()).toEqual(before))

  const again = await markAllShown()
  fireEvent.click(again.getByRole('button', { name: 'Move' }))
  fireEvent.click(await screen.findByRole('radio', { name: 'Any node' }))
  fireEvent.click(screen.getByRole('button', { name: /^Move \d+ jobs?$/ }))
  await waitFor(() => expect(places().every(({ nodeId, tags }) => nodeId === null && tags.length === 0)).toBe(true))
})

it('keeps every Undo within reach while seven actions are open, newest on top, and each undoes only its own action', async () => {
  // Notices must not close automatically, however slow the machine is.
  const { setTimeout } = window
  vi.spyOn(window, 'setTimeout').mockImplementation(((run: () => void, afterMs: number) =>
    afterMs === 10_000 ? 0 : setTimeout(run, afterMs)) as typeof setTimeout)
  open('/jobs?status=queued')
  await waitFor(async () => expect((await rows()).length).toBeGreaterThan(7))
  const cancelled: string[] = []
  for (let act = 1; act <= 7; act += 1) {
    const waited = new Set(those('queued').map(({ id }) => id))
    fireEvent.click(within((await rows())[1]!).getByRole('checkbox'))
    const bar = within(await screen.findByRole('toolbar', { name: 'Selected jobs' }))
    fireEvent.click(bar.getByRole('button', { name: 'Cancel 1' }))
    await waitFor(() => expect(screen.getAllByRole('button', { name: 'Undo' })).toHaveLength(act))
    for (const { id } of those('queued')) waited.delete(id)
    cancelled.push(...waited)
  }
  expect(cancelled).toHaveLength(7)
  const undos = screen.getAllByRole('button', { name: 'Undo', description: 'Cancelled 1 job' })
  // The newest notice is at the top, so the third one belongs to the fifth action.
  fireEvent.click(undos[2]!)
  await waitFor(() => expect(engine.jobs.get(cancelled[4]!)?.state).toBe('queued'))
  expect(cancelled.filter((id) => engine.jobs.get(id)?.state === 'queued')).toEqual([cancelled[4]])
  fireEvent.click(screen.getAllByRole('button', { name: 'Undo' }).at(-1)!)
  await waitFor(() => expect(engine.jobs.get(cancelled[0]!)?.state).toBe('queued'))
  expect(cancelled.filter((id) => engine.jobs.get(id)?.state === 'queued')).toEqual([cancelled[0], cancelled[4]])
}, 30_000)

it('says at once that 10,000 marked jobs are being cancelled, before any request is sent to the engine', async () => {
  open('/jobs?status=queued')
  await waitFor(async () => expect((await rows()).length).toBeGreaterThan(1))
  const [like] = those('queued')
  for (let number = 0; number < 10_000; number += 1) {
    const id = number.toString(16).padStart(32, '0')
    engine.jobs.set(id, { ...like!, id: aJobId(id), jobid: id, queuedAtMs: number })
  }
  const waiting = those('queued').length
  engine.emit({ kind: 'jobs' })
  const bar = await markAllShown()
  fireEvent.click(await bar.findByRole('button', { name: /^Select all/ }))
  await bar.findByText('10,000 jobs selected')
  const cancel = engine.holdBack('jobs.cancel')
  const asked = engine.calls.length
  fireEvent.click(bar.getByRole('button', { name: 'Cancel 10,000' }))
  // There is no await before this, because the click itself must show the text.
  expect(screen.getByText('Cancelling 10,000 jobs: requested')).toBeTruthy()
  expect(within(screen.getByRole('grid', { name: 'Jobs' })).getAllByText('cancelling…').length).toBeGreaterThan(3)
  expect(screen.queryByRole('toolbar', { name: 'Selected jobs' })).toBeNull()
  expect(engine.calls.slice(asked)).not.toContain('jobs.count')
  cancel.release()
  expect(await screen.findByText('Cancelled 10,000 jobs')).toBeTruthy()
  expect(engine.calls.filter((call) => call === 'jobs.cancel')).toHaveLength(1)
  expect(those('queued')).toHaveLength(waiting - 10_000)
}, 30_000)

it.for(['down', 'invalid'] as const)(
  'shows unknown for a run whose node is %s, and requeues it after warning that it may run twice',
  async (health) => {
    open('/jobs?status=running&node=eu-4')
    engine.nodes.set('eu-4', { ...engine.nodes.get('eu-4')!, health })
    const unknown = those('running').filter(({ nodeId }) => nodeId === 'eu-4')
    expect(await within(await grid()).findAllByText('unknown')).toHaveLength(unknown.length)
    fireEvent.click(within(await grid()).getAllByText('unknown')[0]!)
    const pane = within(await screen.findByRole('complementary', { name: 'Job' }))
    expect(await pane.findByText(/state of this run is unknown/)).toBeTruthy()
    expect(pane.getByText('It may then run twice.')).toBeTruthy()
    expect(pane.getAllByRole('listitem').at(-1)?.textContent).toMatch(/^eu-4 is unreachable: state unknown since then/)
    fireEvent.click(pane.getByRole('button', { name: 'Run elsewhere' }))
    await waitFor(() =>
      expect([...engine.jobs.values()].filter((job) => job.mayHaveRunTwice && job.state === 'queued')).toHaveLength(1)
    )
    expect(await pane.findByText('This job may have run more than once.')).toBeTruthy()
  }
)

it('lists the runs that are shown as unknown when their status is chosen, with their number', async () => {
  open('/jobs')
  const unknown = [...engine.jobs.values()].filter(({ unknownSinceMs }) => unknownSinceMs !== null)
  expect(unknown.length).toBeGreaterThan(0)
  const [facet] = await screen.findAllByRole('button', { name: /unknown/, pressed: false })
  expect(facet!.textContent).toBe(`unknown${unknown.length}`)
  fireEvent.click(facet!)
  await waitFor(async () => expect(await within(await grid()).findAllByText('unknown')).toHaveLength(unknown.length))
  expect(app.router.state.location.search).toMatchObject({ status: 'unknown' })
})

it('shows the state again as soon as the node responds, before any job changes', async () => {
  open('/jobs?status=running&node=eu-4')
  expect((await within(await grid()).findAllByText('unknown')).length).toBeGreaterThan(0)
  engine.emit({ kind: 'node', node: { ...engine.nodes.get('eu-4')!, health: 'up', unreachableSinceMs: null } })
  await waitFor(async () => expect(within(await grid()).queryByText('unknown')).toBeNull())
})

it('shows the queue in its order, and Alt with an arrow moves a row', async () => {
  open('/jobs?status=queued')
  await screen.findByText(/Queue order/)
  const order = () =>
    [...engine.jobs.values()]
      .filter(({ state }) => state === 'queued')
      .sort((left, right) => right.priority - left.priority || left.rank - right.rank || (left.id < right.id ? -1 : 1))
      .map(({ id }) => id)
  const [first, second, third] = order()
  fireEvent.keyDown(document.body, { key: 'j' })
  fireEvent.keyDown(document.body, { key: 'ArrowDown', altKey: true })
  await waitFor(() => expect(order().slice(0, 3)).toEqual([second, first, third]))
  fireEvent.click(await screen.findByRole('button', { name: 'Undo' }))
  await waitFor(() => expect(order().slice(0, 3)).toEqual([first, second, third]))
})

it('keeps one notice, which undoes the last step, while a row is moved step by step', async () => {
  open('/jobs?status=queued')
  const table = await grid()
  await waitFor(async () => expect((await rows()).length).toBeGreaterThan(3))
  await screen.findByText(/Queue order/)
  fireEvent.keyDown(table, { key: 'j' })
  for (let step = 0; step < 2; step += 1) {
    const calls = engine.calls.filter((call) => call === 'jobs.reorder').length
    fireEvent.keyDown(table, { key: 'ArrowDown', altKey: true })
    await waitFor(() => expect(engine.calls.filter((call) => call === 'jobs.reorder')).toHaveLength(calls + 1))
  }
  expect(await screen.findByText('Moved 1 job in the queue')).toBeTruthy()
  expect(screen.getAllByRole('button', { name: 'Undo' })).toHaveLength(1)
})

it('puts moved rows between their new neighbours until the engine has responded', () => {
  expect(placesBetween({ priority: 0, rank: 4 }, { priority: 0, rank: 5 }, 1)).toEqual([{ priority: 0, rank: 4.5 }])
  expect(placesBetween({ priority: 9, rank: 4 }, { priority: 0, rank: 5 }, 1)[0]).toMatchObject({ priority: 0 })
  const last = placesBetween({ priority: 1, rank: 8 }, null, 2)
  expect(last.every(({ rank }) => rank > 8)).toBe(true)
})

it('counts down to a retry in the row, and shows how many attempts are left', async () => {
  open('/jobs?status=queued')
  const [retry] = those('queued').filter(({ hold }) => hold === 'retry')
  engine.jobs.set(retry!.id, {
    ...retry!,
    retry: { attempts: 3, backoffSeconds: 30, backoffFactor: 2, backoffMaxSeconds: 3600, on: ['failed', 'lost'] }
  })
  expect((await within(await grid()).findAllByText(/^retry in \d+ s$/)).length).toBeGreaterThan(0)
  app.router.navigate({ to: '/jobs', search: { job: retry!.id } }).catch(() => {})
  const pane = within(await screen.findByRole('complementary', { name: 'Job' }))
  expect(await pane.findByText(/attempt 2 of 3/)).toBeTruthy()
})

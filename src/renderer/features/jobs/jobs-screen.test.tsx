import { act, configure, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, expect, it } from 'vitest'
import type { SceneName } from '../../../shared/testing/screens.ts'
import { type JobId, type JobStatus, NO_DEFAULTS } from '../../../shared/contract/index.ts'
import { shortId } from '../../../shared/ids.ts'
import { aProjectName } from '../../../shared/testing/ids.ts'
import { useRunDialog } from '../../state/open-dialogs.ts'
import { openRealEngine, type RealEngine } from '../../testing/real-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'
import { sendPendingCancels } from '../../ui/cancel-grace.tsx'

configure({ asyncUtilTimeout: 8000 })

let engine: RealEngine
let app: ReturnType<typeof renderApp>

async function open(address: string, scene: SceneName = 'fleet') {
  engine = await openRealEngine(scene)
  app = renderApp(engine, address)
}
afterEach(() => {
  app.stop()
  useRunDialog.setState({ prefill: null })
})

const jobsThatAre = async (...status: JobStatus[]) => (await engine.client.jobs.list({ status, limit: 500 })).jobs
const table = async () => within(await screen.findByRole('grid', { name: 'Jobs' }))
const rows = async () => (await table()).getAllByRole('row').slice(1)
const markRow = async (index: number, shiftKey = false) =>
  fireEvent.click(within((await rows())[index] as HTMLElement).getByRole('checkbox'), { shiftKey })

it('filters the list by facets and by typing, with all of it in the address', async () => {
  await open('/jobs')
  fireEvent.click(
    within(await screen.findByRole('navigation', { name: 'Filters' })).getByRole('button', { name: /failed/ })
  )
  await waitFor(async () => expect(await rows()).toHaveLength((await jobsThatAre('failed')).length))
  const box = screen.getByLabelText('Filter jobs')
  fireEvent.change(box, { target: { value: 'project:prices ' } })
  await waitFor(() => expect(app.router.state.location.search).toMatchObject({ status: 'failed', project: 'prices' }))
  expect(screen.getByRole('button', { name: 'Remove project:prices' })).toBeTruthy()
  fireEvent.keyDown(box, { key: 'Backspace' })
  expect((box as HTMLInputElement).value).toBe('project:prices')
  await waitFor(() => expect(app.router.state.location.search).not.toHaveProperty('project'))
})

it('says what is wrong with a term, and searches for the words as they are typed', async () => {
  await open('/jobs')
  const box = await screen.findByLabelText('Filter jobs')
  fireEvent.change(box, { target: { value: 'colour:red' } })
  fireEvent.keyDown(box, { key: 'Enter' })
  expect((await screen.findByRole('alert')).textContent).toContain('Unknown filter “colour”')
  fireEvent.change(box, { target: { value: 'zalando' } })
  await waitFor(() => expect(app.router.state.location.search).toMatchObject({ text: 'zalando' }))
  await waitFor(async () => {
    for (const row of await rows()) expect(row.textContent).toContain('zalando')
  })
})

it('says how a job compares with earlier runs of its spider', async () => {
  await open('/jobs')
  const [unusual] = (await engine.client.findings.list()).spiders
  await table()
  await act(() => app.router.navigate({ to: '/jobs', search: { job: unusual!.jobId, tab: 'stats' } }))
  await screen.findByText('This run was unusual.')
  expect(await screen.findByText('usually 600')).toBeTruthy()
  expect(screen.getByText(/^Half of the last \d+ successful runs were within the usual range\.$/)).toBeTruthy()
})

it('finds jobs whose outcome is unclear by a status of their own, and says what would show the outcome', async () => {
  await open('/jobs')
  const [job] = await jobsThatAre('unclear')
  const filters = within(await screen.findByRole('navigation', { name: 'Filters' }))
  fireEvent.click(filters.getByRole('button', { name: /unclear/ }))
  await waitFor(async () => expect(await rows()).toHaveLength(1))
  fireEvent.click((await table()).getByText('unclear'))
  const pane = within(await screen.findByRole('complementary', { name: 'Job' }))
  expect(await pane.findByText('The run ended, but its log does not show how.')).toBeTruthy()
  expect(pane.getByText(/Set LOG_LEVEL=INFO for the spider/)).toBeTruthy()
  expect(pane.getAllByText(job!.reason!).length).toBeGreaterThan(0)
})

it('says which filter leaves no jobs, and clears it', async () => {
  await open('/jobs?text=nosuchspider&status=failed')
  expect(await screen.findByText('No matching jobs')).toBeTruthy()
  expect(screen.getByText(/status:failed.*nosuchspider/)).toBeTruthy()
  fireEvent.click(screen.getByRole('button', { name: 'Clear filter' }))
  await waitFor(async () => expect((await rows()).length).toBeGreaterThan(5))
})

it('explains jobs while there are none', async () => {
  await open('/jobs', 'empty')
  expect(await screen.findByText('No jobs yet')).toBeTruthy()
  fireEvent.click(screen.getByRole('button', { name: 'Run spider' }))
  expect(useRunDialog.getState().prefill).toEqual({})
})

it('says why the list cannot be shown, and retries', async () => {
  engine = await openRealEngine()
  engine.failures.set('jobs.list', new TypeError('Failed to fetch'))
  app = renderApp(engine, '/jobs')
  expect(
    await screen.findByText(/Could not load the jobs: the engine does not respond/, {}, { timeout: 10_000 })
  ).toBeTruthy()
  engine.failures.clear()
  fireEvent.click(screen.getByRole('button', { name: 'Retry' }))
  await waitFor(async () => expect((await rows()).length).toBeGreaterThan(5))
})

it('shows new jobs and changes without a reload', async () => {
  await open('/jobs?status=running')
  const before = (await rows()).length
  await engine.client.jobs.run({ project: aProjectName('prices'), spiders: ['otto'] })
  await waitFor(async () => expect(await rows()).toHaveLength(before + 1))
})

it('cancels the marked queued jobs at once and undoes that with Undo', async () => {
  await open('/jobs?status=queued')
  await markRow(0)
  await markRow(2, true)
  expect(screen.getByRole('toolbar', { name: 'Selected jobs' }).textContent).toContain('3 jobs selected')
  const queuedBefore = (await jobsThatAre('queued')).length
  fireEvent.click(screen.getByRole('button', { name: 'Cancel 3' }))
  await waitFor(async () => expect(await jobsThatAre('queued')).toHaveLength(queuedBefore - 3))
  fireEvent.click(await screen.findByRole('button', { name: 'Undo' }))
  await waitFor(async () => expect(await jobsThatAre('queued')).toHaveLength(queuedBefore))
})

it('asks before stopping many running jobs', async () => {
  await open('/jobs?status=running')
  await markRow(0)
  await markRow(6, true)
  fireEvent.click(screen.getByRole('button', { name: 'Cancel 7' }))
  const dialog = within(await screen.findByRole('dialog', { name: 'Cancel 7 jobs?' }))
  expect(engine.calls).not.toContain('jobs.cancel')
  fireEvent.click(dialog.getByRole('button', { name: 'Cancel jobs' }))
  expect(await screen.findByText(/^Cancelling 7 jobs in 5 s\./)).toBeTruthy()
  expect(screen.getAllByText('cancel in 5 s')).toHaveLength(7)
  expect(engine.calls).not.toContain('jobs.cancel')
  sendPendingCancels()
  await waitFor(async () =>
    expect((await jobsThatAre('running')).filter(({ cancelAskedAtMs }) => cancelAskedAtMs !== null)).toHaveLength(7)
  )
})

it('retries the ended jobs among the marked ones', async () => {
  await open('/jobs?status=failed&status=succeeded')
  const sizeOf = async () => (await engine.client.jobs.list({ limit: 500 })).jobs.length
  const before = await sizeOf()
  await markRow(0)
  await markRow(1)
  fireEvent.click(screen.getByRole('button', { name: 'Retry 2' }))
  await waitFor(async () => expect(await sizeOf()).toBe(before + 2))
})

it('shows a job beside the list: why it ended, its timeline with evidence, its stats and attempts', async () => {
  await open('/jobs?status=failed')
  fireEvent.click((await rows())[0] as HTMLElement)
  const pane = within(await screen.findByRole('complementary', { name: 'Job' }))
  expect(await pane.findAllByText(/KeyError: 'offerPrice'/)).not.toHaveLength(0)
  expect(app.router.state.location.search).toMatchObject({ job: expect.stringMatching(/^[0-9a-f]{32}$/) })
  expect(pane.getByText(/^Failed: /)).toBeTruthy()
  expect(pane.getAllByText('pid')[0]!.closest('details')).toBeTruthy()

  fireEvent.click(pane.getByRole('tab', { name: 'Stats' }))
  expect(await pane.findByText('log_count/ERROR')).toBeTruthy()
  fireEvent.click(pane.getByRole('tab', { name: /Attempts/ }))
  expect(await pane.findByRole('region', { name: 'Attempt 1' })).toBeTruthy()

  fireEvent.keyDown(document.body, { key: 'Escape' })
  await waitFor(() => expect(screen.queryByRole('complementary', { name: 'Job' })).toBeNull())
  expect(await rows()).not.toHaveLength(0)
})

it('distinguishes a requested cancel from a confirmed one, shows all its steps with the time to the next, and offers it at once', async () => {
  await open('/jobs?status=running')
  fireEvent.click((await rows())[0] as HTMLElement)
  const pane = within(await screen.findByRole('complementary', { name: 'Job' }))
  fireEvent.click(await pane.findByRole('button', { name: 'Cancel' }))
  sendPendingCancels()
  const steps = within(await pane.findByRole('list', { name: 'Cancellation steps' })).getAllByRole('listitem')
  expect(steps.map(({ textContent }) => textContent)).toEqual([
    expect.stringMatching(/^Asked the run to stop \(INT\)\d\d:\d\d:\d\d$/),
    expect.stringMatching(/^Stop immediately \(INT\)in (10:00|9:5\d)\d\d:\d\d:\d\d$/),
    expect.stringMatching(/^Kill \(KILL\)\d\d:\d\d:\d\d$/)
  ])
  expect(pane.getByText(/^The node reported the run as running\. Next: stop immediately \(INT\) at/)).toBeTruthy()
  expect(await pane.findByText('cancelling…')).toBeTruthy()
  fireEvent.click(pane.getByRole('button', { name: 'Stop now' }))
  await waitFor(() => expect(engine.calls.filter((call) => call === 'jobs.cancel')).toHaveLength(2))
})

it('cancels a running job from its row after a grace period with Undo, and at once when the page closes', async () => {
  await open('/jobs?status=running')
  const row = within((await rows())[0] as HTMLElement)
  fireEvent.click(row.getByRole('button', { name: /^Cancel / }))
  expect(await screen.findByText(/^Cancelling .* in 5 s\./)).toBeTruthy()
  expect(row.getByText('cancel in 5 s')).toBeTruthy()
  expect(row.queryByText('cancelling…')).toBeNull()
  fireEvent.click(screen.getByRole('button', { name: 'Undo' }))
  await waitFor(() => expect(row.queryByText(/^cancel in/)).toBeNull())
  expect(engine.calls).not.toContain('jobs.cancel')

  fireEvent.click(row.getByRole('button', { name: /^Cancel / }))
  fireEvent(window, new Event('pagehide'))
  await waitFor(() => expect(engine.calls).toContain('jobs.cancel'))
  await waitFor(() => expect(row.queryByRole('button')).toBeNull())
})

it('cancels from the pane with the grace period and the Undo of the row', async () => {
  await open('/jobs?status=running')
  const row = (await rows())[0] as HTMLElement
  fireEvent.click(row)
  const pane = within(await screen.findByRole('complementary', { name: 'Job' }))
  fireEvent.click(await pane.findByRole('button', { name: 'Cancel' }))
  expect(await pane.findByText('cancel in 5 s')).toBeTruthy()
  expect(within(row).getByText('cancel in 5 s')).toBeTruthy()
  fireEvent.click(pane.getByRole('button', { name: 'Undo cancel' }))
  await waitFor(() => expect(pane.queryByText(/^cancel in/)).toBeNull())
  expect(screen.queryByText(/^Cancelling /)).toBeNull()
  sendPendingCancels()
  expect(engine.calls).not.toContain('jobs.cancel')
})

it('cancels a queued job from its row at once, and Undo returns it to its place', async () => {
  await open('/jobs?status=queued')
  const row = within((await rows())[0] as HTMLElement)
  const queued = (await jobsThatAre('queued')).length
  fireEvent.click(row.getByRole('button', { name: /^Cancel / }))
  await waitFor(async () => expect(await jobsThatAre('queued')).toHaveLength(queued - 1))
  fireEvent.click(await screen.findByRole('button', { name: 'Undo' }))
  await waitFor(async () => expect(await jobsThatAre('queued')).toHaveLength(queued))
})

it('opens the Run dialog with everything filled in from a job', async () => {
  await open('/jobs?status=failed')
  fireEvent.click((await rows())[0] as HTMLElement)
  const pane = within(await screen.findByRole('complementary', { name: 'Job' }))
  fireEvent.click(await pane.findByRole('button', { name: 'Run again…' }))
  const { job: id } = app.router.state.location.search as { job: JobId }
  const { job } = await engine.client.jobs.get({ id })
  expect(useRunDialog.getState().prefill).toEqual({
    project: job?.project,
    version: job?.version,
    spiders: [job?.spider],
    settings: job?.settings,
    args: job?.args,
    env: job?.env,
    secretNames: job?.secretNames,
    limits: job?.limits,
    priority: job?.priority,
    nodeId: null,
    tags: ['eu'],
    retry: job?.retry,
    noOverlap: job?.noOverlap
  })
})

it('leaves values that a job took from the defaults to the defaults when it is run again', async () => {
  await open('/jobs')
  await rows()
  const project = aProjectName('prices')
  const { settings } = await engine.client.projects.get({ project })
  const values = { args: { country: 'de', token: 'hunter2', page: '1' }, secretNames: ['token'] }
  const defaults = { ...NO_DEFAULTS, ...values, priority: 4, tags: ['gpu'] }
  await engine.client.projects.configure({ project, settings: { ...settings, defaults } })
  const order = { project, spiders: ['otto'], args: { day: 'today' }, withoutDefaults: ['page'] }
  const [job] = (await engine.client.jobs.run(order)).jobs
  await app.router.navigate({ to: '/jobs', search: { job: job!.id } })
  const pane = within(await screen.findByRole('complementary', { name: 'Job' }))
  expect(await pane.findByText('active version')).toBeTruthy()
  expect(pane.getByText(/from defaults args\.country, args\.token, priority, placement/)).toBeTruthy()
  fireEvent.click(await pane.findByRole('button', { name: 'Run again…' }))
  expect(useRunDialog.getState().prefill).toEqual({
    ...order,
    version: null,
    settings: {},
    env: {},
    secretNames: [],
    limits: null,
    retry: null,
    noOverlap: false
  })
})

it('loads further pages when the end scrolls into view, down to the last of many jobs', async () => {
  await open('/jobs')
  const many = Array.from({ length: 450 }, () => ({ project: aProjectName('prices'), spider: 'otto' }))
  await engine.client.jobs.runMany({ jobs: many })
  const { project } = await engine.client.jobs.facets({})
  const total = project.reduce((sum, { count }) => sum + count, 0)
  await table()
  await waitFor(() => expect(engine.calls.filter((call) => call === 'jobs.list').length).toBeGreaterThanOrEqual(1))
  const grid = screen.getByRole('grid', { name: 'Jobs' })
  for (let page = 2; page <= 3; page += 1) {
    fireEvent.keyDown(grid, { key: 'End' })
    Object.defineProperty(grid, 'scrollTop', { configurable: true, value: page * 200 * 32 - 600 })
    fireEvent.scroll(grid)
    const expected = Math.min(total, page * 200) + 1
    await waitFor(() => expect(Number(grid.getAttribute('aria-rowcount'))).toBe(expected))
  }
})

it('says that the state of a job on a down node is the last known one', async () => {
  await open('/jobs?status=running')
  await rows()
  const { nodes } = await engine.client.nodes.list()
  const down = nodes.find(({ name }) => name === 'us-2')!
  const isOnIt = ({ textContent }: HTMLElement) => textContent?.includes(`${down.name} down`) === true
  await waitFor(async () => expect((await rows()).some(isOnIt)).toBe(true))
  for (const row of await rows()) expect(row.hasAttribute('data-stale')).toBe(isOnIt(row))
})

it('names the job that another one waits for, opens it, and says when the wait can never end', async () => {
  await open('/jobs?status=queued')
  await rows()
  const [running] = await jobsThatAre('running')
  const order = { project: aProjectName('prices'), spider: 'otto', expiresAtMs: Date.now() + 60_000 }
  const { ids } = await engine.client.jobs.runMany({
    jobs: [{ ...order, after: [{ jobId: running!.id, on: 'succeeded' }] }]
  })
  const text = `waits until job ${running!.id} has succeeded`
  expect((await (await table()).findByText(`waits until job ${shortId(running!.id)} has succeeded`)).title).toBe(text)
  act(() => void app.router.navigate({ to: '/jobs', search: { job: ids[0]! as JobId } }))
  const pane = within(await screen.findByRole('complementary', { name: 'Job' }))
  expect(await pane.findByText(/cancelled if not sent by/)).toBeTruthy()
  fireEvent.click(await pane.findByRole('button', { name: `${running!.project}/${running!.spider}` }))
  await waitFor(() => expect(app.router.state.location.search).toMatchObject({ job: running!.id }))
})

it('says which schedule created a job, and its scheduled time', async () => {
  engine = await openRealEngine()
  const { schedule } = await engine.client.schedules.create({
    name: 'nightly prices',
    zone: 'UTC',
    rules: [{ kind: 'cron', expression: '0 3 * * *' }],
    jobs: [{ project: 'prices', spiders: ['otto'] }]
  })
  const { firing } = await engine.client.schedules.runNow({ id: schedule.id })
  app = renderApp(engine, `/jobs?job=${firing.jobIds[0]}&tab=arguments`)
  const pane = within(await screen.findByRole('complementary', { name: 'Job' }))
  const [first] = await pane.findAllByRole('link', { name: 'nightly prices' })
  expect(first?.getAttribute('href')).toContain(schedule.id)
  expect(pane.getAllByText((_, element) => element?.tagName === 'TIME').length).toBeGreaterThan(0)
})

it('filters jobs by the user they were ordered for, with a link from a job', async () => {
  engine = await openRealEngine()
  const order = { project: aProjectName('prices'), spiders: ['otto'] }
  await engine.client.jobs.run({ ...order, userId: 'ann' })
  const { jobs } = await engine.client.jobs.run({ ...order, userId: 'Bob B' })
  app = renderApp(engine, `/jobs?job=${jobs[0]!.id}&tab=arguments`)
  const pane = within(await screen.findByRole('complementary', { name: 'Job' }))
  fireEvent.click(await pane.findByRole('link', { name: 'Bob B' }))
  expect(await screen.findByRole('button', { name: 'Remove user:"Bob B"' })).toBeTruthy()
  await waitFor(async () => expect(await rows()).toHaveLength(1))
  const box = screen.getByLabelText('Filter jobs')
  fireEvent.change(box, { target: { value: 'user:nobody ' } })
  expect(await screen.findByRole('button', { name: 'Remove user:nobody' })).toBeTruthy()
  await waitFor(() => expect(screen.queryByRole('link', { name: 'Bob B' })).toBeNull())
})

import { fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, expect, it } from 'vitest'
import { aNodeId } from '../../../shared/testing/ids.ts'
import { createFakeEngine, type FakeEngine } from '../../testing/fake-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'
import { isCore } from '../../../../scripts/test-length.mjs'

let engine: FakeEngine
let app: ReturnType<typeof renderApp>

function open(options: Parameters<typeof createFakeEngine>[0] = {}) {
  engine = createFakeEngine({ jobCount: 40, ...options })
  app = renderApp(engine, '/')
}
afterEach(() => app.stop())

it('offers the demo spider on first run and opens its live log', async () => {
  open({ firstRun: true })
  fireEvent.click(await screen.findByRole('button', { name: 'Run demo' }))
  await waitFor(() => expect(app.router.state.location.pathname).toBe('/logs'))
  const [job] = [...engine.jobs.values()]
  expect(app.router.state.location.search).toMatchObject({ job: job?.id })
})

it.skipIf(isCore)('creates a Python environment with progress, then offers the demo', async () => {
  open({ firstRun: true, python: 'missing' })
  await screen.findByText(/Scrapy is not/)
  fireEvent.click(screen.getByRole('button', { name: 'Create environment' }))
  await screen.findByText(/Collecting scrapy/, {}, { timeout: 3000 })
  await screen.findByRole('button', { name: 'Run demo' }, { timeout: 5000 })
})

it('puts the fix beside each problem, and undoes a cordon on Undo', async () => {
  open()
  const row = within((await screen.findByText('us-2 is stuck')).closest('li') as HTMLElement)
  fireEvent.click(row.getByRole('button', { name: 'Cordon' }))
  await waitFor(() => expect(engine.nodes.get('us-2')?.mode).toBe('cordoned'))
  fireEvent.click(await screen.findByRole('button', { name: 'Undo' }))
  await waitFor(() => expect(engine.nodes.get('us-2')?.mode).toBe('active'))
})

it('names errors that are new or reappeared within a day, with a link to them', async () => {
  open({ jobCount: 400 })
  const dayAgoMs = Date.now() - 86_400_000
  const { groups } = await engine.client.errors.list({ state: 'open' })
  const added = groups.filter(({ firstSeenMs }) => firstSeenMs >= dayAgoMs)
  const panel = (await screen.findByText(`Errors in the last 24 hours: ${added.length} new`)).closest('section')!
  fireEvent.click(within(panel).getAllByRole('link')[1]!)
  await waitFor(() => expect(app.router.state.location.pathname).toBe('/errors'))
  expect(app.router.state.location.search).toEqual({ group: String(added[0]!.id) })
})

it('links from a failing spider to its failed runs, not to all of its runs', async () => {
  open()
  await screen.findByText('us-2 is stuck')
  const [link] = screen.getAllByRole('link', { name: 'Show jobs' })
  fireEvent.click(link!)
  await waitFor(() => expect(app.router.state.location.pathname).toBe('/jobs'))
  expect(app.router.state.location.search).toMatchObject({ spider: 'amazon_de', status: 'failed' })
})

it('shows what is unusual about a run, until it is dismissed', async () => {
  open()
  const [unusual] = (await engine.client.findings.list()).spiders
  const { project, spider, jobId, findings } = unusual!
  const about = { severity: 'warning', sinceMs: null, nodeId: null, project, spider, jobId } as const
  const problem = { ...about, id: 'unusual', title: 'It was unusual', text: findings[0]!.words } as const
  await screen.findByText('us-2 is stuck')
  engine.emit({ kind: 'problems', problems: [{ ...problem, mend: 'open_findings' }] })
  const row = within((await screen.findByText('It was unusual')).closest('li') as HTMLElement)
  expect(row.getByText(/Items fell by 80 %/)).toBeTruthy()
  expect(row.getByRole('link', { name: 'Open job' }).getAttribute('href')).toContain(jobId)
  fireEvent.click(row.getByRole('button', { name: 'Dismiss' }))
  await waitFor(async () => expect((await engine.client.findings.list()).spiders).toEqual([]))
})

it('shows the latest failures with their last error, and runs one again', async () => {
  open({ jobCount: 200 })
  const newest = [...engine.jobs.values()].find(({ status }) => status === 'failed')!
  const count = engine.jobs.size
  const [retry] = await screen.findAllByRole('button', { name: `Retry ${newest.project}/${newest.spider}` })
  expect(screen.getAllByText("KeyError: 'offerPrice'").length).toBeGreaterThan(0)
  fireEvent.click(retry!)
  await waitFor(() => expect(engine.jobs.size).toBe(count + 1))
  await screen.findByText(`${newest.project}/${newest.spider} is queued again`)
})

it('updates the figures live, and greys out stale ones with a message', async () => {
  open()
  const bar = within(await screen.findByRole('contentinfo', { name: 'Status' }))
  await bar.findByText('Live')
  engine.nodes.set('extra', { ...engine.nodes.get('eu-1')!, id: aNodeId('extra'), slots: 1000, runs: [] })
  engine.step()
  await bar.findByText(/1,112/)
  engine.failures.set('events.subscribe', new TypeError('network error'))
  engine.dropStreams()
  await bar.findByText(/Reconnecting/)
  const screenOf = () => document.querySelector('main [class*=screen]')
  await waitFor(() => expect(screenOf()?.hasAttribute('data-outdated')).toBe(true))
  engine.failures.clear()
  await bar.findByText('Live')
  await waitFor(() => expect(screenOf()?.hasAttribute('data-outdated')).toBe(false))
})

it('pauses the queue with the switch in the top bar once the engine has confirmed it', async () => {
  open()
  const pause = await screen.findByRole<HTMLButtonElement>('button', { name: 'Pause queue' })
  await waitFor(() => expect(pause.disabled).toBe(false))
  fireEvent.click(pause)
  expect((await screen.findByRole('button', { name: /Paused/ })).getAttribute('aria-pressed')).toBe('true')
  await screen.findByText('The queue is paused')
})

it('runs the jobs of a silent node elsewhere, after warning that they may run twice', async () => {
  open()
  fireEvent.click(await screen.findByRole('button', { name: 'Run elsewhere' }))
  const dialog = within(await screen.findByRole('dialog', { name: 'Run jobs of eu-4 elsewhere?' }))
  expect(dialog.getByText(/run twice and are marked/)).toBeTruthy()
  fireEvent.click(dialog.getByRole('button', { name: 'Run elsewhere' }))
  await waitFor(() => expect(engine.calls).toContain('jobs.runElsewhere'))
  expect(await screen.findByText(/of eu-4 queued for other nodes/)).toBeTruthy()
})

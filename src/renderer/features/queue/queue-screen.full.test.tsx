import { configure, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, expect, it } from 'vitest'
import { NO_DEFAULTS } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { createFakeEngine, type FakeEngine } from '../../testing/fake-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'
import { shareOf } from './project-shares.tsx'

configure({ asyncUtilTimeout: 8000 })

let engine: FakeEngine
let app: ReturnType<typeof renderApp>

afterEach(() => app.stop())

async function open(options: Parameters<typeof createFakeEngine>[0] = {}) {
  engine = createFakeEngine({ jobCount: 200, ...options })
  app = renderApp(engine, '/queue')
  await screen.findByRole('heading', { name: 'Queue' })
}

it('shows each limit with a sentence and its live runs, and says which are reached', async () => {
  await open()
  expect(await screen.findByText(/up to 40 runs of project news in the fleet/)).toBeTruthy()
  expect(screen.getByText(/up to 1 run of amazon\* on each node/).textContent).toContain('reached')
})

it('never shows more slots in use than exist: jobs beyond them wait on the nodes', async () => {
  engine = createFakeEngine({ jobCount: 200 })
  for (const node of engine.nodes.values()) engine.nodes.set(node.id, { ...node, slots: Math.min(node.slots, 1) })
  app = renderApp(engine, '/queue')
  const { slotsTotal, slotsUsed } = (await engine.client.system.status()).figures
  const over = `+${slotsUsed - slotsTotal}`
  await screen.findByText((text) =>
    text.includes(`${slotsTotal} of ${slotsTotal} slots in use, ${over} queued on nodes`)
  )
})

it('applies a changed limit only once it is saved, and Undo restores the previous ones', async () => {
  await open()
  fireEvent.click(await screen.findByRole('button', { name: 'Add limit' }))
  const save = await screen.findByRole('button', { name: 'Save limits' })
  fireEvent.click(save)
  expect(await screen.findByText(/^Enter a number/)).toBeTruthy()
  fireEvent.change(screen.getByLabelText('Spiders of limit 4', { selector: 'input' }), { target: { value: 'otto' } })
  fireEvent.change(screen.getByLabelText('Maximum of limit 4'), { target: { value: '2' } })
  expect(await screen.findByText('up to 2 runs of otto in the fleet')).toBeTruthy()
  expect(engine.limits.rules).toHaveLength(3)
  fireEvent.click(save)
  await waitFor(() => expect(engine.limits.rules.at(-1)).toMatchObject({ spider: 'otto', max: 2, perNode: false }))
  fireEvent.click(await screen.findByRole('button', { name: 'Undo' }))
  await waitFor(() => expect(engine.limits.rules).toHaveLength(3))
})

it('does not call a limit of 0 reached: it lets nothing start, even if runs are live', async () => {
  await open()
  const max = await screen.findByLabelText('Maximum of limit 2')
  fireEvent.change(max, { target: { value: '0' } })
  fireEvent.click(await screen.findByRole('button', { name: 'Save limits' }))
  await waitFor(() => expect(engine.limits.rules[1]?.max).toBe(0))
  expect((await screen.findByText(/no runs of amazon\* on each node/)).textContent).not.toContain('reached')
})

it('keeps typed values if the engine refuses them', async () => {
  await open()
  fireEvent.click(await screen.findByRole('button', { name: 'Remove limit 1' }))
  engine.failures.set('queue.setLimits', new ScrapdeckError('STOPPING', 'Scrapdeck is stopping. Start it again.'))
  fireEvent.click(await screen.findByRole('button', { name: 'Save limits' }))
  expect((await screen.findByRole('alert')).textContent).toContain('stopping')
  expect(screen.queryByText(/40 runs of project news/)).toBeNull()
})

it('pauses a project: its lanes say so, and continue once it is resumed', async () => {
  await open()
  fireEvent.click(await screen.findByRole('switch', { name: 'Dispatch jobs of news' }))
  const lanes = within(await screen.findByRole('grid', { name: 'Lanes of the queue' }))
  expect((await lanes.findAllByText('news is paused', {}, { timeout: 6000 })).length).toBeGreaterThan(0)
  expect(engine.projects.get('news')?.settings.paused).toBe(true)
  fireEvent.click(screen.getByRole('switch', { name: 'Dispatch jobs of news' }))
  await waitFor(() => expect(engine.projects.get('news')?.settings.paused).toBe(false))
})

it('changes the weight of a project and shows the resulting shares', async () => {
  await open()
  const weight = await screen.findByLabelText('Weight of jobs')
  fireEvent.change(weight, { target: { value: '3' } })
  fireEvent.blur(weight)
  await waitFor(() => expect(engine.projects.get('jobs')?.settings.weight).toBe(3))
  expect(await screen.findByText('50 %')).toBeTruthy()
})

it('undoes a changed weight and nothing else', async () => {
  await open()
  const weight = await screen.findByLabelText('Weight of jobs')
  fireEvent.change(weight, { target: { value: '3' } })
  fireEvent.blur(weight)
  const undo = await screen.findByRole('button', { name: 'Undo' })
  const { settings } = await engine.client.projects.get({ project: 'jobs' })
  const version = engine.projects.get('jobs')!.versions[0]!.version
  const defaults = { ...NO_DEFAULTS, args: { page: '1' } }
  await engine.client.projects.configure({ project: 'jobs', settings: { ...settings, defaults, paused: true } })
  await engine.client.projects.pinVersion({ project: 'jobs', version })
  fireEvent.click(undo)
  const others = { defaults, paused: true, pinnedVersion: version }
  await waitFor(() => expect(engine.projects.get('jobs')?.settings).toMatchObject({ weight: 1, ...others }))
})

it('gives slots only to projects that wait and are not paused', () => {
  engine = createFakeEngine()
  app = renderApp(engine, '/queue')
  const projects = [...engine.projects.values()].slice(0, 3)
  const [first, second, third] = projects
  const paused = { ...second!, settings: { ...second!.settings, paused: true } }
  const waitingOf = (name: string) => (name === third!.name ? 0 : 5)
  const all = [first!, paused, third!]
  expect(all.map((project) => shareOf(project, all, waitingOf))).toEqual([1, null, null])
})

it('explains limits while there are none', async () => {
  await open({ firstRun: true })
  expect(await screen.findByText('No limits')).toBeTruthy()
  expect(screen.getByText(/Jobs above the limit wait/)).toBeTruthy()
})

import { configure, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, expect, it, vi } from 'vitest'
import { NO_DEFAULTS, type Schedule } from '../../../shared/contract/index.ts'
import { aProjectName } from '../../../shared/testing/ids.ts'
import { createFakeEngine, type FakeEngine } from '../../testing/fake-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'

configure({ asyncUtilTimeout: 8000 })

let engine: FakeEngine
let app: ReturnType<typeof renderApp>

afterEach(() => {
  app.stop()
  vi.restoreAllMocks()
})

const named = (name: string): Schedule => [...engine.schedules.values()].find((schedule) => schedule.name === name)!

async function open(address = '/schedules', options: Parameters<typeof createFakeEngine>[0] = {}) {
  engine = createFakeEngine({ jobCount: 20, ...options })
  app = renderApp(engine, address.replace('NIGHTLY', named('nightly prices')?.id))
  await screen.findByRole('heading', { level: 1 })
}

it('shows each schedule in words with its next run, its last runs, and what was missed', async () => {
  await open()
  const grid = within(await screen.findByRole('grid', { name: 'Schedules' }))
  expect(await grid.findByText('missed 1')).toBeTruthy()
  expect(grid.getByText('3 spiders of prices')).toBeTruthy()
  expect(grid.getAllByRole('img', { name: /^Last \d+ runs: .*succeeded/ }).length).toBeGreaterThan(5)
  expect(screen.getByText(/8 on · 2 paused · 1 with missed runs/)).toBeTruthy()
  const nightly = within(grid.getByText('nightly prices').closest<HTMLElement>('[role=row]')!)
  expect(nightly.getByText(/^in \d/)).toBeTruthy()
  expect(nightly.getByText(/ 03:\d\d/)).toBeTruthy()
})

it('pauses from the table at once, and Undo resumes it', async () => {
  await open()
  fireEvent.click(await screen.findByRole('switch', { name: 'reuters live is on' }))
  await waitFor(() => expect(named('reuters live').paused).toBe(true))
  fireEvent.click(await screen.findByRole('button', { name: 'Undo' }))
  await waitFor(() => expect(named('reuters live').paused).toBe(false))
})

it('offers to undo only the last of several pauses', async () => {
  await open()
  for (const paused of [true, false, true]) {
    fireEvent.click(await screen.findByRole('switch', { name: 'reuters live is on' }))
    await waitFor(() => expect(named('reuters live').paused).toBe(paused))
    await screen.findAllByText(paused ? /^reuters live is paused/ : 'reuters live is resumed.')
  }
  await waitFor(() => expect(screen.getAllByRole('button', { name: 'Undo' })).toHaveLength(1))
  fireEvent.click(screen.getByRole('button', { name: 'Undo' }))
  await waitFor(() => expect(named('reuters live').paused).toBe(false))
})

it('shows the first and last runs of a long backfill, and how many are between them', async () => {
  await open('/schedules?schedule=NIGHTLY')
  fireEvent.click(await screen.findByRole('button', { name: 'Backfill…' }))
  fireEvent.click(await screen.findByRole('button', { name: 'Last 30 days' }))
  const plan = within(screen.getByRole('status', { name: 'Preview' }))
  const between = (await plan.findByText(/^… \d+ between$/)).textContent!
  const shown = plan.getAllByRole('listitem').length - 1
  expect(shown).toBe(6)
  expect(plan.getByText(new RegExp(`^${shown + Number(/\d+/.exec(between))} runs`))).toBeTruthy()
})

it('pauses with a note in the detail pane, and shows it', async () => {
  await open('/schedules?schedule=NIGHTLY')
  const detail = within(await screen.findByRole('complementary', { name: 'Schedule nightly prices' }))
  fireEvent.click(detail.getByRole('button', { name: 'Pause…' }))
  fireEvent.change(await screen.findByLabelText('Note'), { target: { value: 'shop is closed' } })
  fireEvent.click(within(screen.getByRole('dialog')).getByRole('button', { name: 'Pause schedule' }))
  expect(await detail.findByText('shop is closed')).toBeTruthy()
  expect(named('nightly prices')).toMatchObject({ paused: true, pauseNote: 'shop is closed' })
})

it('opens the linked schedule even if it is not among the rows, and shows its node by name', async () => {
  engine = createFakeEngine({ jobCount: 20 })
  const nightly = named('nightly prices')
  const { nodes } = await engine.client.nodes.list()
  const node = nodes.find(({ id, name }) => id !== name) ?? nodes[0]!
  await engine.client.schedules.update({
    ...nightly,
    jobs: nightly.jobs.map((each) => ({ ...each, nodeId: node.id, tags: [] }))
  })
  app = renderApp(engine, `/schedules?text=reuters&schedule=${nightly.id}`)
  const detail = within(await screen.findByRole('complementary', { name: 'Schedule nightly prices' }))
  expect(await detail.findByText(`on ${node.name}`)).toBeTruthy()
  expect(within(screen.getByRole('grid', { name: 'Schedules' })).queryByText('nightly prices')).toBeNull()
})

it('says that a linked schedule has been deleted', async () => {
  await open('/schedules?schedule=00000000000000000000000000000000')
  fireEvent.click(await screen.findByRole('button', { name: 'Close' }))
  await waitFor(() => expect(screen.queryByText('This schedule was removed')).toBeNull())
})

it('saves changes based on the revision that was read; after a concurrent change it offers theirs or mine', async () => {
  await open('/schedules?edit=NIGHTLY')
  const words = await screen.findByLabelText('In words')
  fireEvent.change(words, { target: { value: 'every weekday at 4:30' } })
  expect((screen.getByLabelText('Cron expression') as HTMLInputElement).value).toBe('30 4 * * 1-5')
  const before = named('nightly prices')
  await engine.client.schedules.update({ ...before, overlap: 'allow' })
  fireEvent.click(screen.getByRole('button', { name: /^Save/ }))
  expect((await screen.findByRole('alert')).textContent).toContain('Somebody has changed')
  fireEvent.click(screen.getByRole('button', { name: 'Overwrite with my version' }))
  fireEvent.click(screen.getByRole('button', { name: /^Save/ }))
  await waitFor(() => expect(named('nightly prices').rules).toEqual([{ kind: 'cron', expression: '30 4 * * 1-5' }]))
  expect(named('nightly prices').overlap).toBe('queue_one')
})

it('shows the inherited defaults of its jobs in the editor, with their origin', async () => {
  await open('/schedules?edit=NIGHTLY')
  const project = aProjectName('prices')
  const { settings } = await engine.client.projects.get({ project })
  const defaults = { ...NO_DEFAULTS, args: { country: 'de' }, tags: ['us'], priority: 3 }
  await engine.client.projects.configure({ project, settings: { ...settings, defaults } })
  expect(await screen.findByRole('radio', { name: 'Default: #us' })).toBeTruthy()
  expect(screen.queryByRole('radio', { name: 'Any node' })).toBeNull()
  expect((screen.getByLabelText('Priority') as HTMLInputElement).placeholder).toBe('3')
  expect(screen.getByText('country').parentElement?.textContent).toBe('countrydeproject default')
  fireEvent.click(screen.getByRole('button', { name: 'Override argument country' }))
  expect(screen.queryByText('project default', { selector: '[class*=origin]' })).toBeNull()
})

it('warns about a crowded minute and moves the schedule to a quieter one', async () => {
  await open('/schedules?edit=NIGHTLY', { nodeCount: 1 })
  expect((await screen.findByRole('status', { name: 'Load' })).textContent).toContain('some will wait')
  fireEvent.click(screen.getByRole('button', { name: /^Spread to 03:/ }))
  await waitFor(() =>
    expect((screen.getByLabelText('Cron expression') as HTMLInputElement).value).toMatch(/^[1-9]\d? 3 \* \* 1-5$/)
  )
})

it('lists runs that did not happen with the reason, and links to their schedules', async () => {
  await open('/schedules/missed')
  const grid = within(await screen.findByRole('grid', { name: 'Missed runs' }))
  expect(await grid.findByText('maps weekly')).toBeTruthy()
  expect(grid.getByText(/Missed while Scrapdeck was not running/)).toBeTruthy()
  fireEvent.click(screen.getByRole('radio', { name: 'Skipped' }))
  expect((await grid.findAllByText(/^The run of .* had not ended$/)).length).toBeGreaterThan(0)
})

it('shows the reason on a phone too', async () => {
  vi.spyOn(window, 'matchMedia').mockImplementation(
    (media) => ({ matches: true, media, addEventListener() {}, removeEventListener() {} }) as unknown as MediaQueryList
  )
  await open('/schedules/missed')
  const grid = within(await screen.findByRole('grid', { name: 'Missed runs' }))
  expect((await grid.findByText('maps weekly')).closest('[role=row]')?.textContent).toMatch(
    /Missed while Scrapdeck was not running/
  )
})

it('explains schedules on first use', async () => {
  await open('/schedules', { firstRun: true })
  expect(await screen.findByText('No schedules yet')).toBeTruthy()
})

it('asks before leaving an editor with changes, and does not ask without any', async () => {
  await open('/schedules?edit=NIGHTLY')
  const name = await screen.findByLabelText('Name')
  fireEvent.change(name, { target: { value: 'nightly prices of all' } })
  fireEvent.click(screen.getByRole('link', { name: /^Jobs/ }))
  const dialog = within(await screen.findByRole('dialog', { name: 'Leave without saving?' }))
  expect(dialog.getByText('Your changes to nightly prices are not saved.')).toBeTruthy()
  fireEvent.click(dialog.getByRole('button', { name: 'Keep editing' }))
  expect(await screen.findByDisplayValue('nightly prices of all')).toBeTruthy()

  fireEvent.click(screen.getByRole('link', { name: /^Jobs/ }))
  fireEvent.click(await screen.findByRole('button', { name: 'Discard and leave' }))
  await screen.findByRole('heading', { level: 1, name: /Jobs/ })
  expect(named('nightly prices')).toBeTruthy()
  app.stop()

  await open('/schedules?edit=NIGHTLY')
  await screen.findByLabelText('Name')
  fireEvent.click(screen.getByRole('link', { name: /^Jobs/ }))
  await screen.findByRole('heading', { level: 1, name: /Jobs/ })
})

it('filters schedules by the user of their jobs', async () => {
  await open()
  const nightly = named('nightly prices')
  const jobs = nightly.jobs.map((template) => ({ ...template, userId: 'ann' }))
  engine.schedules.set(nightly.id, { ...nightly, jobs })
  fireEvent.change(screen.getByLabelText('Filter schedules'), { target: { value: 'user:ann' } })
  await waitFor(() => expect(screen.queryByText('reuters live')).toBeNull())
  fireEvent.click(screen.getByText('nightly prices'))
  expect((await screen.findByRole('link', { name: 'ann' })).getAttribute('href')).toContain('user=ann')
})

import { act, configure, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest'
import { DEFAULT_PROJECT_SETTINGS, NO_DEFAULTS, SECRET_MASK } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { aProjectName } from '../../../shared/testing/ids.ts'
import { openRunDialog, type RunPrefill, useRunDialog } from '../../state/open-dialogs.ts'
import { createFakeEngine, type FakeEngine } from '../../testing/fake-engine.ts'
import { outliveTerminals, stubCanvas } from '../../testing/stub-canvas.ts'
import { renderApp } from '../../testing/render-app.tsx'

const NEWS = aProjectName('news')
const PRICES = aProjectName('prices')

configure({ asyncUtilTimeout: 8000 })

let engine: FakeEngine
let app: ReturnType<typeof renderApp>

beforeEach(() => {
  localStorage.clear()
  stubCanvas()
})
afterEach(() => {
  app.stop()
  useRunDialog.setState({ prefill: null })
})

afterAll(outliveTerminals)

async function open(prefill: RunPrefill = {}, options: Parameters<typeof createFakeEngine>[0] = {}) {
  engine = createFakeEngine({ jobCount: 30, ...options })
  app = renderApp(engine, '/nodes')
  await screen.findByRole('heading', { name: 'Nodes' })
  act(() => openRunDialog(prefill))
  return within(await screen.findByRole('dialog', { name: 'Run spiders' }))
}

const newest = (count: number) =>
  [...engine.jobs.values()].sort((left, right) => (left.id < right.id ? 1 : -1)).slice(0, count)
const describedBy = (input: HTMLElement) =>
  (input.getAttribute('aria-describedby') ?? '')
    .split(' ')
    .map((id) => document.getElementById(id)?.textContent ?? '')
    .join('')
const runButton = (dialog: ReturnType<typeof within>) =>
  dialog.getByRole('button', { name: /^Run/ }) as HTMLButtonElement

it('shows missing values at their fields once Run was clicked, and moves the focus there', async () => {
  const dialog = await open()
  const project = await dialog.findByRole('combobox', { name: 'Project' })
  expect(project.getAttribute('aria-invalid')).toBeNull()
  fireEvent.click(runButton(dialog))
  const words = await dialog.findByText('Choose a project')
  expect(project.getAttribute('aria-describedby')).toContain(words.id)
  expect(project.getAttribute('aria-invalid')).toBe('true')
  await waitFor(() => expect(document.activeElement).toBe(project))
})

it('selects a typed option: with Enter the exact or only match, with Tab the exact one', async () => {
  const dialog = await open()
  const project = await dialog.findByRole('combobox', { name: 'Project' })
  const type = (input: HTMLElement, text: string, key: string) => {
    // Changes to an input without the focus count as the browser's autofill.
    act(() => input.focus())
    fireEvent.change(input, { target: { value: text } })
    return fireEvent.keyDown(input, { key, code: key })
  }
  // The text is incomplete, because several projects contain it.
  expect(type(project, 'e', 'Enter')).toBe(false)
  expect(useRunDialog.getState().prefill).not.toBeNull()
  expect(dialog.queryByText('Correct the marked fields.')).toBeNull()
  type(project, 'price', 'Tab')
  const spiders = dialog.getByRole('combobox', { name: 'Spiders' }) as HTMLInputElement
  expect(spiders.disabled).toBe(true)
  expect(type(project, 'Prices', 'Enter')).toBe(false)
  await waitFor(() => expect(spiders.disabled).toBe(false))
  expect(dialog.queryByRole('option', { name: 'news' })).toBeNull()

  type(spiders, 'zaland', 'Enter')
  type(spiders, 'otto', 'Tab')
  expect(dialog.getByRole('button', { name: /^Run 2 spiders/ })).toBeTruthy()
})

it('shows the error of a select above its input, where its open list does not cover it', async () => {
  const dialog = await open()
  const project = await dialog.findByRole('combobox', { name: 'Project' })
  fireEvent.click(runButton(dialog))
  const error = await dialog.findByText('Choose a project')
  expect(error.compareDocumentPosition(project) & Node.DOCUMENT_POSITION_FOLLOWING).toBeTruthy()
})

it('runs several spiders at once with arguments and settings', async () => {
  const dialog = await open({ project: PRICES, spiders: ['otto', 'zalando', 'bol_nl'] })
  fireEvent.click(await dialog.findByRole('button', { name: 'Add argument' }))
  fireEvent.change(dialog.getByLabelText('Name of argument 1', { selector: 'input' }), {
    target: { value: 'category' }
  })
  fireEvent.change(dialog.getByLabelText('Value of argument 1', { selector: 'input' }), {
    target: { value: 'laptops' }
  })
  fireEvent.click(dialog.getByRole('button', { name: 'Add setting' }))
  fireEvent.change(dialog.getByLabelText('Name of setting 1', { selector: 'input' }), {
    target: { value: 'LOG_LEVEL' }
  })
  fireEvent.change(dialog.getByLabelText('Value of setting 1', { selector: 'input' }), { target: { value: 'INFO' } })
  fireEvent.click(dialog.getByRole('button', { name: /^Run 3 spiders/ }))
  await waitFor(() =>
    expect(
      newest(3)
        .map(({ spider }) => spider)
        .sort()
    ).toEqual(['bol_nl', 'otto', 'zalando'])
  )
  expect(newest(1)[0]).toMatchObject({ args: { category: 'laptops' }, settings: { LOG_LEVEL: 'INFO' } })
  expect(await screen.findByText('3 jobs of prices are queued.')).toBeTruthy()
  expect(app.router.state.location.pathname).toBe('/nodes')
})

it('opens the job if there is only one, and Ctrl-Enter runs', async () => {
  const dialog = await open({ project: NEWS, spiders: ['reuters'] })
  fireEvent.keyDown(await dialog.findByRole('button', { name: 'Add argument' }), { key: 'Enter', ctrlKey: true })
  await waitFor(() => expect(app.router.state.location.pathname).toBe('/jobs'))
  expect(app.router.state.location.search).toMatchObject({ job: newest(1)[0]?.id })
})

it('refuses a reserved argument at the field without calling the engine', async () => {
  const dialog = await open({ project: PRICES, spiders: ['otto'], args: { jobid: '7' } })
  expect(await dialog.findByText(/Scrapyd reserves jobid/)).toBeTruthy()
  const before = engine.jobs.size
  fireEvent.click(runButton(dialog))
  expect(await dialog.findByText('Correct the marked fields.')).toBeTruthy()
  expect(engine.jobs.size).toBe(before)
})

it('shows the equivalent curl command', async () => {
  const dialog = await open({ project: PRICES, spiders: ['otto'], args: { page: '2' } })
  fireEvent.click(await dialog.findByRole('button', { name: 'Show curl' }))
  expect(await dialog.findByText(/http:\/\/127\.0\.0\.1:6800\/schedule\.json/)).toBeTruthy()
  expect(dialog.getByText(/--data-urlencode page=2/)).toBeTruthy()
})

it('stays open with the reason at its field if the engine refuses, until the field is changed', async () => {
  const dialog = await open({ project: PRICES, spiders: ['otto'] })
  engine.failures.set(
    'jobs.run',
    new ScrapdeckError('SPIDER_NOT_FOUND', 'Version 2 of prices has no spider otto. Choose another.')
  )
  fireEvent.click(await dialog.findByRole('button', { name: /^Run/ }))
  const words = await dialog.findByText(/has no spider otto/)
  const spiders = dialog.getByRole('combobox', { name: 'Spiders' })
  expect(spiders.getAttribute('aria-describedby')).toContain(words.id)
  fireEvent.click(dialog.getByRole('button', { name: /^Choose all/ }))
  await waitFor(() => expect(dialog.queryByText(/has no spider otto/)).toBeNull())
})

it('shows errors that belong to no field above the buttons, and keeps typed values', async () => {
  const dialog = await open({ project: PRICES, spiders: ['otto'], args: { page: '2' } })
  engine.failures.set('jobs.run', new ScrapdeckError('STOPPING', 'Scrapdeck is stopping. Start it again.'))
  fireEvent.click(await dialog.findByRole('button', { name: /^Run/ }))
  expect((await dialog.findByRole('alert')).textContent).toContain('Start it again')
  expect((dialog.getByLabelText('Value of argument 1') as HTMLInputElement).value).toBe('2')
})

it('remembers the last run', async () => {
  const dialog = await open({ project: PRICES, spiders: ['otto'], args: { page: '2' }, priority: 5 })
  fireEvent.click(await dialog.findByRole('button', { name: /^Run/ }))
  await waitFor(() => expect(useRunDialog.getState().prefill).toBeNull())
  act(() => openRunDialog())
  const again = within(await screen.findByRole('dialog', { name: 'Run spiders' }))
  expect(((await again.findByLabelText('Name of argument 1', { selector: 'input' })) as HTMLInputElement).value).toBe(
    'page'
  )
})

it('says how to start when there is no project', async () => {
  const dialog = await open({}, { firstRun: true })
  expect(await dialog.findByText('No projects yet')).toBeTruthy()
})

it('shows a secret as dots, sends which one it is, and stores its value nowhere', async () => {
  const dialog = await open({ project: PRICES, spiders: ['otto'], args: { token: 'hush' } })
  const value = async () => (await dialog.findByLabelText('Value of argument 1')) as HTMLInputElement
  expect((await value()).type).toBe('text')
  fireEvent.click(dialog.getByRole('button', { name: 'Secret value of argument token' }))
  expect((await value()).type).toBe('password')
  fireEvent.click(runButton(dialog))
  await waitFor(() => expect(useRunDialog.getState().prefill).toBeNull())
  expect(newest(1)[0]).toMatchObject({ secretNames: ['token'], args: { token: SECRET_MASK } })
  expect(JSON.stringify(Object.entries(localStorage))).not.toContain('hush')
})

it('shows inherited values with their origin; one can be replaced or left out, and nothing else is sent', async () => {
  const dialog = await open({ project: PRICES, spiders: ['otto'] })
  const settings = {
    ...DEFAULT_PROJECT_SETTINGS,
    defaults: { ...NO_DEFAULTS, args: { country: 'de', page: '1' }, tags: ['eu'], priority: 3 },
    spiderDefaults: { otto: { ...NO_DEFAULTS, args: { page: '2' }, env: { PROXY: 'http://proxy' } } }
  }
  await engine.client.projects.configure({ project: PRICES, settings })
  const page = (await dialog.findByText('page')).parentElement as HTMLElement
  expect(page.textContent).toBe('page2spider default')
  expect(dialog.getByText('country').parentElement?.textContent).toBe('countryde' + 'project default')
  expect(dialog.getByText('Default: #eu')).toBeTruthy()
  expect(dialog.getByText('Default: #eu').closest('[role=radiogroup]')?.nextElementSibling?.textContent).toBe(
    'project default'
  )
  const priority = dialog.getByRole('textbox', { name: 'Priority' })
  expect([priority.getAttribute('placeholder'), describedBy(priority)]).toEqual(['3', 'project default'])
  expect(dialog.getByRole('button', { name: /^Environment variables/ }).textContent).toContain('PROXY (spider default)')
  fireEvent.change(priority, { target: { value: '1' } })
  expect(describedBy(priority)).toBe('')
  fireEvent.change(priority, { target: { value: '' } })

  fireEvent.click(dialog.getByRole('button', { name: 'Leave out argument country' }))
  expect(dialog.getByText('left out')).toBeTruthy()
  fireEvent.click(dialog.getByRole('button', { name: 'Override argument page' }))
  expect(document.activeElement).toBe(dialog.getByLabelText('Value of argument 1'))
  fireEvent.change(dialog.getByLabelText('Value of argument 1'), { target: { value: '9' } })
  fireEvent.click(runButton(dialog))
  await waitFor(() => expect(engine.calls).toContain('jobs.run'))
  expect(JSON.parse(localStorage.getItem('scrapdeck.run-dialog.last') ?? '')).toEqual({
    project: 'prices',
    version: null,
    spiders: ['otto'],
    args: { page: '9' },
    settings: {},
    secretNames: [],
    limits: null,
    withoutDefaults: ['country']
  })
})

it('leaves out only the defaults of the selected project and spider', async () => {
  const dialog = await open({ project: PRICES, spiders: ['otto'] })
  const withDefaults = (args: Record<string, string>) => ({
    ...DEFAULT_PROJECT_SETTINGS,
    defaults: { ...NO_DEFAULTS, args }
  })
  await engine.client.projects.configure({ project: PRICES, settings: withDefaults({ country: 'de', page: '1' }) })
  await engine.client.projects.configure({ project: NEWS, settings: withDefaults({ page: '1' }) })
  fireEvent.click(await dialog.findByRole('button', { name: 'Leave out argument country' }))
  fireEvent.click(dialog.getByRole('button', { name: 'Leave out argument page' }))
  fireEvent.click(dialog.getByRole('combobox', { name: 'Project' }))
  fireEvent.click(await screen.findByRole('option', { name: 'news', hidden: true }))
  fireEvent.click(dialog.getByRole('combobox', { name: 'Spiders' }))
  fireEvent.click(await screen.findByRole('option', { name: 'reuters', hidden: true }))
  fireEvent.click(dialog.getByRole('button', { name: 'Show curl' }))
  expect((await dialog.findByText(/withoutDefaults/)).textContent).toMatch(/"withoutDefaults": \[\s*"page"\s*\]/)
  fireEvent.click(runButton(dialog))
  await waitFor(() => expect(useRunDialog.getState().prefill).toBeNull())
  const { timeline } = await engine.client.jobs.get({ id: newest(1)[0]!.id })
  expect(timeline[0]?.evidence).toMatchObject({ withoutDefaults: ['page'] })
})

it('offers for a schedule only what it can store: not any node, and not priority 0 instead of the defaults', async () => {
  const dialog = await open({ project: PRICES, spiders: ['otto'], priority: 0, tags: [], nodeId: null })
  const defaults = { ...NO_DEFAULTS, tags: ['eu'], priority: 3 }
  await engine.client.projects.configure({ project: PRICES, settings: { ...DEFAULT_PROJECT_SETTINGS, defaults } })
  expect(await dialog.findByText('Default: #eu')).toBeTruthy()
  const anyNode = () => dialog.queryByRole('radio', { name: 'Any node' }) as HTMLInputElement | null
  const usual = () => dialog.getByRole('radio', { name: 'Default: #eu' }) as HTMLInputElement
  const priority = dialog.getByRole('textbox', { name: 'Priority' })
  expect([anyNode()?.checked, usual().checked, describedBy(priority)]).toEqual([true, false, ''])
  fireEvent.click(dialog.getByRole('radio', { name: 'On a schedule' }))
  expect([anyNode(), usual().checked]).toEqual([null, true])
  expect(describedBy(priority)).toBe('0 means the project default, 3')
})

it('asks for the secrets of a job that is run again', async () => {
  const dialog = await open({
    project: PRICES,
    spiders: ['otto'],
    args: { token: SECRET_MASK },
    secretNames: ['token']
  })
  expect(await dialog.findByText('Enter the secret value')).toBeTruthy()
  fireEvent.change(dialog.getByLabelText('Value of argument 1'), { target: { value: 'again' } })
  expect(dialog.queryByText('Enter the secret value')).toBeNull()
})

it('shows the limits in force, accepts others for this job, and says what is wrong with one', async () => {
  const dialog = await open({ project: PRICES, spiders: ['otto'] })
  const limits = { wallSeconds: 1800, memoryMegabytes: 512 }
  await engine.client.projects.configure({ project: 'prices', settings: { python: { kind: 'default' }, limits } })
  fireEvent.click(await dialog.findByRole('button', { name: /Limits 30 min wall time, 512 MB memory/ }))
  const memory = dialog.getByLabelText('Memory') as HTMLInputElement
  expect(memory.placeholder).toBe('project: 512 MB')
  fireEvent.change(memory, { target: { value: '2' } })
  expect(dialog.getByText('Add a unit: 2 MB or 2 GB')).toBeTruthy()
  fireEvent.change(memory, { target: { value: '2gb' } })
  fireEvent.blur(memory)
  expect(memory.value).toBe('2 GB')
  expect(dialog.getByRole('button', { name: /Limits 30 min wall time, 2 GB memory/ })).toBeTruthy()
  fireEvent.click(runButton(dialog))
  await waitFor(() => expect(newest(1)[0]?.limits).toEqual({ memoryMegabytes: 2048 }))
})

it('waits for several jobs, each with its required outcome', async () => {
  const dialog = await open({ project: NEWS, spiders: ['reuters'] })
  const [first, second] = newest(2)
  fireEvent.click(await dialog.findByRole('button', { name: /^More/ }))
  const field = dialog.getByRole('combobox', { name: 'After other jobs' })
  // The list starts with the newest job. Chosen jobs are not offered again.
  for (const { project, spider, status } of [first!, second!]) {
    fireEvent.click(field)
    const offered = await waitFor(() => {
      const found = screen.getAllByText(/ ago$/).filter((text) => text.closest('[role=option]') !== null)
      expect(found[0]?.textContent).toContain(`${project}/${spider} · ${status}`)
      return found
    })
    fireEvent.click(offered[0]!)
  }
  const endings = await waitFor(() => {
    const found = dialog.getAllByLabelText(/^Required outcome of /, { selector: 'input' })
    expect(found).toHaveLength(2)
    return found
  })
  fireEvent.click(endings[1]!)
  fireEvent.click((await screen.findAllByText('ended (any outcome)')).at(-1)!)
  expect(dialog.getByRole('button', { name: /^More/ }).textContent).toContain('after 2 other jobs')
  fireEvent.click(runButton(dialog))
  await waitFor(() =>
    expect(newest(1)[0]?.after).toEqual([
      { jobId: first!.id, on: 'succeeded' },
      { jobId: second!.id, on: 'ended' }
    ])
  )
})

it('runs at a later time: the job waits for it in the queue', async () => {
  const dialog = await open({ project: NEWS, spiders: ['reuters'] })
  fireEvent.click(await dialog.findByRole('radio', { name: 'At a time' }))
  fireEvent.click(runButton(dialog))
  expect(await dialog.findByText('Enter a date and time')).toBeTruthy()
  fireEvent.change(dialog.getByLabelText('Start time'), { target: { value: '2099-01-02T03:04' } })
  fireEvent.click(runButton(dialog))
  await waitFor(() => expect(newest(1)[0]?.notBeforeMs).toBe(new Date(2099, 0, 2, 3, 4).getTime()))
})

it('runs on a schedule: it previews the times and creates the schedule but no job', async () => {
  const dialog = await open({ project: NEWS, spiders: ['reuters'], args: { page: '2' } })
  fireEvent.click(await dialog.findByRole('radio', { name: 'On a schedule' }))
  const expression = dialog.getByLabelText('Cron expression')
  fireEvent.change(expression, { target: { value: '61 3 * * *' } })
  expect(dialog.getByText(/The minute field/)).toBeTruthy()
  const save = dialog.getByRole('button', { name: /^Create schedule/ })
  fireEvent.change(expression, { target: { value: '15 3 * * *' } })
  expect(dialog.getByText(/03:15/, { selector: 'strong' })).toBeTruthy()
  const jobs = engine.jobs.size
  fireEvent.click(save)
  expect(await screen.findByText(/reuters of news was created/)).toBeTruthy()
  const { schedules } = await engine.client.schedules.list({ text: 'reuters of news' })
  expect(schedules[0]).toMatchObject({ rules: [{ expression: '15 3 * * *' }], jobs: [{ args: { page: '2' } }] })
  expect(engine.jobs.size).toBe(jobs)
})

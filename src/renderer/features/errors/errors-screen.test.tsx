import { fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, expect, it } from 'vitest'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { createFakeEngine, type FakeEngine } from '../../testing/fake-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'
import { foldLibraries, recordAt } from './error-detail.tsx'

let engine: FakeEngine
let app: ReturnType<typeof renderApp>

afterEach(() => app.stop())

function open(address = '/errors', options: Parameters<typeof createFakeEngine>[0] = {}) {
  engine = createFakeEngine({ jobCount: 120, ...options })
  app = renderApp(engine, address)
}

const groups = async (filter: Parameters<FakeEngine['client']['errors']['list']>[0] = {}) =>
  (await engine.client.errors.list({ state: 'open', ...filter })).groups
const table = async () => within(await screen.findByRole('grid', { name: 'Errors' }))
const pane = async () => within(await screen.findByRole('complementary', { name: 'Error' }))

it('shows an error with its example, why it is one group, and a link to its line in the log', async () => {
  open()
  const [first] = await groups()
  fireEvent.click((await (await table()).findAllByText(first!.title))[0]!)
  const shown = await pane()
  expect(await shown.findByRole('heading', { name: first!.title })).toBeTruthy()
  expect((await shown.findByLabelText('Example')).textContent).toMatch(
    /ERROR: .*\nTraceback[^]*KeyError: 'offerPrice'$/
  )
  const { group, occurrences } = await engine.client.errors.get({ id: first!.id })
  const because = { frames: /same functions/, exception: /no project code/, message: /no traceback/ }
  expect(shown.getByText(because[group.because])).toBeTruthy()
  const log = shown.getByRole('link', { name: `Open log at line ${occurrences[0]!.line}` })
  const jobId = occurrences[0]!.jobId
  expect(log.getAttribute('href')).toBe(`/logs?jobs=${jobId}&job=${jobId}&line=${occurrences[0]!.line}`)
  expect(app.router.state.location.search).toEqual({ group: String(first!.id) })
})

it('resolves an error with one click, removes it from the open ones, and Undo brings it back', async () => {
  const count = async (state: 'open' | 'resolved') => (await groups({ state })).length
  open()
  const before = await count('open')
  const [first] = await groups()
  await app.router.navigate({ to: '/errors', search: { group: first!.id } })
  fireEvent.click(await (await pane()).findByRole('button', { name: 'Resolve' }))
  expect(await screen.findByText(`Resolved: ${first!.title}`)).toBeTruthy()
  expect(await (await pane()).findByRole('button', { name: 'Reopen' })).toBeTruthy()
  expect([await count('open'), await count('resolved')]).toEqual([before - 1, 1])
  fireEvent.click(screen.getByRole('button', { name: 'Undo' }))
  await waitFor(async () => expect([await count('open'), await count('resolved')]).toEqual([before, 0]))
  expect(await (await pane()).findByRole('button', { name: 'Ignore' })).toBeTruthy()
})

it('keeps the filter in the address: a spider of an error shows its other errors', async () => {
  open()
  const [first] = await groups()
  await app.router.navigate({ to: '/errors', search: { group: first!.id } })
  const spiders = within(await (await pane()).findByRole('region', { name: 'Spiders' }))
  fireEvent.click(spiders.getByRole('button', { name: first!.spiders[0]! }))
  await waitFor(() =>
    expect(app.router.state.location.search).toEqual({
      spider: first!.spiders[0],
      project: first!.project,
      state: 'all'
    })
  )
  fireEvent.click(await screen.findByRole('button', { name: `Remove filter spider: ${first!.spiders[0]}` }))
  await waitFor(() => expect(app.router.state.location.search).toEqual({ project: first!.project, state: 'all' }))
  fireEvent.click(screen.getByRole('radio', { name: 'Ignored' }))
  expect(await screen.findByText('No matching errors')).toBeTruthy()
  fireEvent.click(screen.getAllByRole('button', { name: 'Clear filter' })[0]!)
  expect(await screen.findByText('No ignored errors')).toBeTruthy()
})

it('explains the view before there are errors, and says why it could not be loaded', async () => {
  open('/errors', { firstRun: true })
  expect(await screen.findByText('No open errors')).toBeTruthy()
  expect(screen.getByText(/appear here in groups/)).toBeTruthy()
  app.stop()

  engine = createFakeEngine({ jobCount: 20 })
  engine.failures.set('errors.list', new ScrapdeckError('DATA_DIRECTORY_UNUSABLE', 'The disk is full.'))
  app = renderApp(engine, '/errors')
  expect(await screen.findByText(/Could not load the errors/)).toBeTruthy()
  engine.failures.clear()
  fireEvent.click(screen.getByRole('button', { name: 'Retry' }))
  expect((await (await table()).findAllByRole('row')).length).toBeGreaterThan(1)
})

it('shows new errors as they are recorded', async () => {
  open()
  await (await table()).findAllByRole('row')
  const calls = () => engine.calls.filter((call) => call === 'errors.list').length
  const before = calls()
  engine.emit({ kind: 'errors' })
  await waitFor(() => expect(calls()).toBe(before + 1))
})

it('the example ends where the next record starts, and omits a line that may be cut', () => {
  const record = ['2026-11-02 12:00:00 [prices] ERROR: no price', 'Traceback (most recent call last):', 'KeyError: 1']
  const next = '2026-11-02 12:00:01 [prices] INFO: going on'
  expect(recordAt([...record, next, 'more'].join('\n'))).toEqual(record)
  expect(recordAt([...record, '  cut of'].join('\n'))).toEqual(record)
  expect(recordAt(record[0]!)).toEqual([record[0]])
})

it('frames of libraries are folded; those of the project and the exception stay visible', () => {
  const frame = (file: string) => [
    `  File "${file}", line 9, in parse`,
    '    price = float(text)',
    '            ^^^^^^^^^^^'
  ]
  const library = frame('/venv/lib/python3.11/site-packages/scrapy/utils/defer.py')
  const project = frame('/tmp/shop-1.egg/shop/spiders/prices.py')
  const head = ['ERROR: Spider error', 'Traceback (most recent call last):']
  expect(foldLibraries([...head, ...library, ...library, ...project, ...library, 'ValueError: no number'])).toEqual([
    ...head,
    '  … 2 library frames',
    ...project,
    '  … 1 library frame',
    'ValueError: no number'
  ])
})

import { fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, expect, it, vi } from 'vitest'
import type { Job } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { aJob, jobIdAt } from '../../../shared/testing/builders.ts'
import { aNodeId, aProjectName } from '../../../shared/testing/ids.ts'
import { createFakeEngine, type FakeEngine } from '../../testing/fake-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'
import { isCore } from '../../../../scripts/test-length.mjs'

let engine: FakeEngine
let app: ReturnType<typeof renderApp>
afterEach(() => {
  vi.restoreAllMocks()
  app.stop()
})

const NOW = Date.now()
const ID = jobIdAt(NOW - 1_000, 77)
const EARLIER = jobIdAt(NOW - 90_000_000, 78)
const ended = { status: 'succeeded', state: 'ended', outcome: 'succeeded', endedAtMs: NOW } as const

function open(over: Partial<Job> = {}, { search = '', itemsEngine = 'duckdb' as 'duckdb' | 'plain' } = {}) {
  engine = createFakeEngine({ jobCount: 5, itemsEngine })
  const common = { ...ended, project: aProjectName('prices'), spider: 'lamps', nodeId: aNodeId('local') }
  engine.jobs.set(ID, aJob({ ...common, id: ID, items: 1204, startedAtMs: NOW - 60_000, ...over }))
  engine.jobs.set(EARLIER, aJob({ ...common, id: EARLIER, items: 1200, startedAtMs: NOW - 86_400_000 }))
  app = renderApp(engine, `/items?job=${ID}${search}`)
}

const table = () => screen.findByRole('grid', { name: 'Items' })
const address = () => app.router.state.location.search as Record<string, unknown>
const firstRow = async () => within(await table()).getAllByRole('row')[1]!.textContent

async function choose(name: string, item: string | RegExp) {
  fireEvent.click(await screen.findByRole('button', { name }))
  fireEvent.click(await screen.findByRole('menuitem', { name: item }))
}

it('shows the items as a table, with their number and format', async () => {
  open()
  const header = within(await table())
    .getAllByRole('columnheader')
    .map(({ textContent }) => textContent)
  expect(header).toEqual(['#', 'name', 'price', 'currency', 'in_stock', 'tags', 'url', 'description'])
  expect(await firstRow()).toContain('Walnut desk lamp')
  expect(screen.getByText(/^1,204 items · 376 kB of JSON lines$/)).toBeTruthy()
})

it('filters by a condition, which is then in the address and can be removed again', async () => {
  open()
  await table()
  fireEvent.keyDown(document.body, { key: '/' })
  fireEvent.change(await screen.findByLabelText('Value'), { target: { value: 'kettle' } })
  fireEvent.click(screen.getByRole('button', { name: 'Apply filter' }))
  await waitFor(async () => expect(await firstRow()).toContain('kettle'))
  expect(address()['where']).toBe('[{"field":"name","operator":"contains","value":"kettle"}]')
  fireEvent.click(screen.getByRole('button', { name: 'Remove filter name contains kettle' }))
  await waitFor(async () => expect(await firstRow()).toContain('Walnut desk lamp'))
})

it('says when nothing matches, and offers to clear the filter', async () => {
  open({}, { search: `&where=${encodeURIComponent('[{"field":"name","operator":"is","value":"zork"}]')}` })
  expect(await screen.findByText('No items match the filter')).toBeTruthy()
  fireEvent.click(screen.getByRole('button', { name: 'Clear filter' }))
  await waitFor(async () => expect(await firstRow()).toContain('Walnut desk lamp'))
})

it.skipIf(isCore)('sorts by a field and hides a column with the menu of its header', async () => {
  open()
  await choose('Field price', 'Sort descending')
  await waitFor(() => expect(address()['sort']).toBe('-price'))
  const header = within(await table()).getByRole('columnheader', { name: /price/ })
  expect(header.getAttribute('aria-sort')).toBe('descending')
  await choose('Field tags', 'Hide column')
  await waitFor(() => expect(screen.queryByRole('button', { name: 'Field tags' })).toBeNull())
})

it('shows a whole item, and the statistics of a field, whose values can filter', async () => {
  open()
  fireEvent.click(within(await table()).getAllByRole('row')[2]!)
  const pane = within(await screen.findByRole('complementary', { name: 'Item' }))
  expect((await pane.findByText(/"in_stock": true/)).textContent).toContain('"currency": "USD"')
  fireEvent.click(pane.getByRole('button', { name: 'Close the item' }))
  await choose('Field currency', 'Statistics')
  const statistics = within(await screen.findByRole('complementary', { name: 'Field statistics' }))
  expect((await statistics.findByText('Filled')).parentElement?.textContent).toContain('100 % 1,204 of 1,204 items')
  fireEvent.click(statistics.getAllByTitle('Show only these items')[0]!)
  await waitFor(() => expect(String(address()['where'])).toContain('"operator":"is"'))
})

it('compares with the previous run by a key', async () => {
  open()
  fireEvent.click(await screen.findByRole('button', { name: 'Compare' }))
  const pane = within(await screen.findByRole('complementary', { name: 'Comparison' }))
  expect((await pane.findByText('Added')).parentElement?.textContent).toBe('Added4')
  expect((pane.getByRole('combobox', { name: 'Match items by' }) as HTMLInputElement).value).toBe('url')
  expect(pane.getByRole('row', { name: 'in_stock missing new · 100 %' })).toBeTruthy()
})

it('exports the filtered items', async () => {
  open({ items: 30 })
  const made: Blob[] = []
  vi.spyOn(URL, 'createObjectURL').mockImplementation((blob) => {
    made.push(blob as Blob)
    return 'blob:x'
  })
  const clicked = vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(() => {})
  await choose('Export', /^CSV/)
  expect(await screen.findByText('Exported 30 items')).toBeTruthy()
  expect(clicked).toHaveBeenCalledOnce()
  expect(made[0]!.size).toBeGreaterThan(400)
})

it('without DuckDB says why sorting, comparing and Parquet are not available', async () => {
  open({}, { itemsEngine: 'plain' })
  expect((await screen.findByRole('button', { name: 'Compare' })).hasAttribute('disabled')).toBe(true)
  fireEvent.click(await screen.findByRole('button', { name: 'Field price' }))
  expect((await screen.findByRole('menuitem', { name: 'Sort ascending' })).hasAttribute('disabled')).toBe(true)
  expect(screen.getByText('The desktop app does not load DuckDB')).toBeTruthy()
})

it.skipIf(isCore)(
  'a run without items, one that has not written any yet, and one whose node is down each say so',
  async () => {
    open({ items: 0 })
    expect(await screen.findByText('No items')).toBeTruthy()
    app.stop()
    open({ status: 'running', state: 'running', outcome: null, endedAtMs: null, items: null })
    expect(await screen.findByText('No items yet')).toBeTruthy()
    app.stop()
    open()
    engine.failures.set('items.describe', new ScrapdeckError('NODE_UNREACHABLE', 'eu-1 did not respond in 5 s'))
    expect(await screen.findByText(/eu-1 did not respond in 5 s/)).toBeTruthy()
  }
)

it('items that retention deleted say so, and when', async () => {
  open()
  const text = 'Retention deleted the items of job 1 on 2026-11-02.'
  const data = { deletedAtMs: 1_793_577_600_000, problem: null }
  engine.failures.set('items.describe', new ScrapdeckError('ITEMS_NOT_FOUND', text, { data }))
  expect(await screen.findByText(text)).toBeTruthy()
})

it('shows the progress while items are copied from their node', async () => {
  open()
  const data = { copiedBytes: 250_000_000, sizeBytes: 1_000_000_000 }
  engine.failures.set('items.describe', new ScrapdeckError('ITEMS_COPYING', 'copying', { data }))
  expect(await screen.findByText('250 MB of 1.0 GB')).toBeTruthy()
})

it('a live run offers to load the items that it has written since', async () => {
  open({ status: 'running', state: 'running', outcome: null, endedAtMs: null, items: 20 })
  fireEvent.click(await screen.findByRole('button', { name: 'Load new items' }))
  await waitFor(() => expect(engine.calls.filter((call) => call === 'items.page').length).toBe(2))
})

it.skipIf(isCore)('a job shows its first hundred items on a tab, with a link to all of them', async () => {
  open()
  await app.router.navigate({ to: '/jobs', search: { job: ID, tab: 'items' } as never })
  const pane = within(await screen.findByRole('complementary', { name: 'Job' }))
  expect(await pane.findByText('The first 100 are shown.')).toBeTruthy()
  fireEvent.click(pane.getByRole('link', { name: 'Open all items' }))
  expect(await screen.findByRole('heading', { name: 'Items' })).toBeTruthy()
  expect(address()['job']).toBe(ID)
})

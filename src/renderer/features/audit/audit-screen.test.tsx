import { fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, expect, it, vi } from 'vitest'
import { createFakeEngine, type FakeEngine } from '../../testing/fake-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'

let engine: FakeEngine
let app: ReturnType<typeof renderApp>
const open = (options: Parameters<typeof createFakeEngine>[0] = {}, address = '/audit') => {
  engine = createFakeEngine({ jobCount: 10, ...options })
  app = renderApp(engine, address)
}
afterEach(() => {
  app.stop()
  vi.restoreAllMocks()
})

const table = async () => within(await screen.findByRole('grid', { name: 'Audit log' }))

it('lists the newest entry first, and shows what it has changed', async () => {
  open()
  const rows = (await table()).getAllByRole('row')
  expect(rows[1]?.textContent).toMatch(
    /3 min ago.*owner.*schedules\.setPaused.*schedule Shoes, nightly.*local command line.*done/
  )
  fireEvent.click((await table()).getByText('nodes.update'))
  const pane = within(await screen.findByRole('complementary', { name: 'Audit entry' }))
  expect(pane.getByRole('row', { name: 'slots 4 8' })).toBeTruthy()
  expect(pane.getByText(/"password": "••••••"/)).toBeTruthy()
  fireEvent.click(pane.getByRole('button', { name: 'Close entry' }))
  await waitFor(() => expect(screen.queryByRole('complementary', { name: 'Audit entry' })).toBeNull())
})

it('filters by result and by operation, and says how often something was tried', async () => {
  open()
  await table()
  fireEvent.click(screen.getByRole('radio', { name: 'Refused' }))
  await waitFor(async () => expect((await table()).queryByText('nodes.update')).toBeNull())
  expect((await table()).getByText(/×8/)).toBeTruthy()
  fireEvent.change(screen.getByRole('textbox', { name: 'Operation' }), { target: { value: 'nodes' } })
  await waitFor(async () => expect((await table()).queryByText('login')).toBeNull())
  expect((await table()).getByText('nodes.remove')).toBeTruthy()
  fireEvent.change(screen.getByRole('textbox', { name: 'Operation' }), { target: { value: 'queue' } })
  expect(await screen.findByText('No entry matches the filter')).toBeTruthy()
  fireEvent.click(screen.getAllByRole('button', { name: 'Clear filter' })[0]!)
  expect((await table()).getByText('jobs.run')).toBeTruthy()
})

it('opens the entry of a link that is not on the first page', async () => {
  open({}, '/audit?entry=2&result=refused')
  const pane = within(await screen.findByRole('complementary', { name: 'Audit entry' }))
  expect(await pane.findByText('jobs.run')).toBeTruthy()
})

it('verifies the hashes, and says which entry does not fit', async () => {
  open()
  fireEvent.click(await screen.findByRole('button', { name: 'Verify' }))
  expect((await screen.findByText(/entries, all hashes match/)).getAttribute('role')).toBe('status')
})

it('exports all entries as JSON lines', async () => {
  open()
  const saved: Blob[] = []
  vi.stubGlobal(
    'URL',
    Object.assign(URL, { createObjectURL: (blob: Blob) => (saved.push(blob), 'blob:x'), revokeObjectURL: () => {} })
  )
  vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(() => {})
  fireEvent.click(await screen.findByRole('button', { name: 'Export' }))
  await waitFor(() => expect(saved).toHaveLength(1))
  const lines = (await saved[0]!.text()).trim().split('\n')
  expect(lines.map((line) => (JSON.parse(line) as { seq: number }).seq)).toEqual(lines.map((_line, index) => index + 1))
})

it('is for admins: an operator sees that, and nothing is requested', async () => {
  open({ role: 'operator' })
  expect(await screen.findByText('The audit log is for admins')).toBeTruthy()
  expect(engine.calls).not.toContain('audit.list')
})

import { configure, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, expect, it } from 'vitest'
import { ScrapdeckError } from '../../../../shared/errors.ts'
import { createFakeEngine, type FakeEngine } from '../../../testing/fake-engine.ts'
import { renderApp } from '../../../testing/render-app.tsx'

configure({ asyncUtilTimeout: 8000 })

let engine: FakeEngine
let app: ReturnType<typeof renderApp>

function open(address: string, options: Parameters<typeof createFakeEngine>[0] = {}) {
  engine = createFakeEngine({ jobCount: 40, ...options })
  app = renderApp(engine, address)
}
afterEach(() => app.stop())

const sourceNamed = async (id: string) => within(await screen.findByRole('listitem', { name: `Source ${id}` }))

it('is linked from the nodes, and shows each source with its state and the nodes it no longer lists', async () => {
  open('/nodes')
  fireEvent.click(await screen.findByRole('link', { name: /Sources/ }))
  const kubernetes = await sourceNamed('kubernetes')
  expect(kubernetes.getByText('A records of scrapyd.crawl.svc')).toBeTruthy()
  expect(kubernetes.getByText(/4 nodes found/).textContent).toContain('every 30 s')
  const vanished = kubernetes.getByRole('list', { name: 'Nodes no longer listed by kubernetes' })
  expect(vanished.textContent).toContain('cordoned until it is listed again')
  const inventory = await sourceNamed('inventory')
  expect(inventory.getByRole('img', { name: 'has a problem' })).toBeTruthy()
  expect(inventory.getByRole('alert').textContent).toContain('Line 7')
  expect(app.router.state.location.pathname).toBe('/nodes/sources')
})

it('adds a source, edits it, refreshes it and removes it, and says what happens to its nodes', async () => {
  open('/nodes/sources')
  fireEvent.click(await screen.findByRole('button', { name: 'Add source' }))
  let dialog = within(await screen.findByRole('dialog', { name: 'Add discovery source' }))
  fireEvent.change(dialog.getByLabelText('Source name'), { target: { value: 'rented' } })
  fireEvent.change(dialog.getByLabelText(/Host name/), { target: { value: 'rented.example.net' } })
  fireEvent.click(dialog.getByRole('radio', { name: 'SRV' }))
  fireEvent.change(dialog.getByLabelText('Slots'), { target: { value: '8' } })
  fireEvent.click(dialog.getByRole('button', { name: 'Add source' }))
  const rented = await sourceNamed('rented')
  expect(rented.getByText('SRV records of rented.example.net')).toBeTruthy()
  expect(rented.getByText(/8 slots/)).toBeTruthy()

  fireEvent.click(rented.getByRole('button', { name: 'Edit rented' }))
  dialog = within(await screen.findByRole('dialog', { name: 'Discovery source rented' }))
  fireEvent.click(dialog.getByRole('radio', { name: 'File' }))
  fireEvent.change(dialog.getByLabelText(/File path/), { target: { value: '/etc/rented.txt' } })
  fireEvent.click(dialog.getByRole('button', { name: 'Save source' }))
  expect(await (await sourceNamed('rented')).findByText('the file /etc/rented.txt')).toBeTruthy()

  fireEvent.click((await sourceNamed('rented')).getByRole('button', { name: 'Refresh rented now' }))
  await waitFor(() => expect(engine.calls).toContain('discovery.refresh'))
  fireEvent.click((await sourceNamed('rented')).getByRole('button', { name: 'Remove rented' }))
  dialog = within(await screen.findByRole('dialog', { name: 'Remove source rented?' }))
  expect(dialog.getByText(/as if you had added them manually/)).toBeTruthy()
  fireEvent.click(dialog.getByRole('button', { name: 'Remove' }))
  await waitFor(() => expect(screen.queryByRole('listitem', { name: 'Source rented' })).toBeNull())
})

it('keeps the dialog open with the reason if a source is refused', async () => {
  open('/nodes/sources')
  fireEvent.click(await screen.findByRole('button', { name: 'Edit kubernetes' }))
  const dialog = within(await screen.findByRole('dialog', { name: 'Discovery source kubernetes' }))
  engine.failures.set('discovery.put', new ScrapdeckError('BAD_INPUT', 'There is no such host.'))
  fireEvent.click(dialog.getByRole('button', { name: 'Save source' }))
  expect((await dialog.findByRole('alert')).textContent).toContain('There is no such host.')
})

it('explains sources while there are none', async () => {
  open('/nodes/sources', { firstRun: true })
  expect(await screen.findByText('No sources')).toBeTruthy()
})

it('offers a file on the machine of Scrapdeck to owners only, and says why', async () => {
  open('/nodes/sources', { role: 'admin' })
  fireEvent.click(await screen.findByRole('button', { name: 'Add source' }))
  const dialog = within(await screen.findByRole('dialog', { name: 'Add discovery source' }))
  await waitFor(() => expect(dialog.getByRole<HTMLInputElement>('radio', { name: 'File' }).disabled).toBe(true))
  expect(dialog.getByRole<HTMLInputElement>('radio', { name: 'List' }).disabled).toBe(false)
  expect(dialog.getByText(/Needs the permission “manage users and roles”/)).toBeTruthy()
})

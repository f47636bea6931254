import { configure, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, expect, it } from 'vitest'
import { createFakeEngine, type FakeEngine } from '../../../testing/fake-engine.ts'
import { renderApp } from '../../../testing/render-app.tsx'

configure({ asyncUtilTimeout: 8000 })

let engine: FakeEngine
let app: ReturnType<typeof renderApp>
afterEach(() => app.stop())

function open(address = '/schedules/chains', options: Parameters<typeof createFakeEngine>[0] = {}) {
  engine = createFakeEngine({ jobCount: 10, ...options })
  app = renderApp(engine, address)
}
const chains = async () => (await engine.client.chains.list()).chains
const row = async (name: string) => within(await screen.findByRole('listitem', { name: `Chain ${name}` }))

it('shows each chain as a sentence, switches it off, and undoes a removal', async () => {
  open()
  const sweep = await row('sweep after any news')
  expect(sweep.getByText('any spider of news')).toBeTruthy()
  fireEvent.click(sweep.getByRole('switch'))
  await waitFor(async () => expect((await chains()).find(({ on }) => on === 'ended')?.enabled).toBe(false))
  fireEvent.click(sweep.getByRole('button', { name: 'Remove sweep after any news' }))
  await waitFor(async () => expect(await chains()).toHaveLength(4))
  fireEvent.click(await screen.findByRole('button', { name: 'Undo' }))
  await waitFor(async () => expect((await chains()).map(({ name }) => name)).toContain('sweep after any news'))
})

it('opens a chain from the graph and saves the changes', async () => {
  open()
  fireEvent.click(await screen.findByRole('button', { name: 'Edit chain tell the stock' }))
  const dialog = within(await screen.findByRole('dialog', { name: 'Edit tell the stock' }))
  fireEvent.click(dialog.getByRole('radio', { name: 'ends' }))
  fireEvent.change(dialog.getByRole('combobox', { name: 'Spider' }), { target: { value: '' } })
  expect(dialog.getByText('Enter a spider, or * for any')).toBeTruthy()
  fireEvent.change(dialog.getByRole('combobox', { name: 'Spider' }), { target: { value: 'ot*' } })
  fireEvent.click(dialog.getByRole('button', { name: 'Save chain' }))
  await waitFor(async () =>
    expect((await chains()).find(({ name }) => name === 'tell the stock')).toMatchObject({ on: 'ended', spider: 'ot*' })
  )
})

it('warns about a circle', async () => {
  open()
  await row('tell the stock')
  await engine.client.chains.create({
    name: 'back again',
    project: 'jobs',
    spider: 'indeed',
    on: 'succeeded',
    run: { project: 'prices', spiders: ['otto'] }
  })
  expect((await screen.findByText(/Each job goes through the circle only once/)).textContent).toMatch(
    /otto.*indeed|indeed.*otto/
  )
})

it('explains chains while there are none', async () => {
  open('/schedules/chains', { firstRun: true })
  expect(await screen.findByText('No chains yet')).toBeTruthy()
})

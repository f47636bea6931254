import { fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { createFakeEngine, type FakeEngine } from '../../testing/fake-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'

let engine: FakeEngine
let app: ReturnType<typeof renderApp>
let health: { engine: string; leads: boolean }
const open = (options: { hasSeveralEngines: boolean }) => {
  engine = createFakeEngine({ jobCount: 10, ...options })
  app = renderApp(engine, '/engines')
}
beforeEach(() => {
  health = { engine: 'south:6800', leads: false }
  vi.stubGlobal('fetch', async (url: string) => {
    expect(new URL(url).pathname).toMatch(/health\/live$/)
    return Response.json({ status: 'ok', live: true, ...health })
  })
})
afterEach(() => {
  app.stop()
  vi.unstubAllGlobals()
})

const row = async (name: string) => within(await screen.findByRole('listitem', { name: `Engine ${name}` }))

it('shows since when and why an engine leads, which one is silent, and which one this page uses', async () => {
  open({ hasSeveralEngines: true })
  expect((await row('north:6800')).getByText('Leader')).toBeTruthy()
  expect(await (await row('south:6800')).findByText('this page')).toBeTruthy()
  const silent = await row('west:6800')
  expect(silent.getByText('Silent')).toBeTruthy()
  expect(screen.getByRole('listitem', { name: 'Engine west:6800' }).textContent).toContain('last seen 1 min ago')
  expect(silent.queryByRole('button')).toBeNull()
  const terms = within(screen.getByRole('list', { name: 'Leaders' })).getAllByRole('listitem')
  expect(terms.map(({ textContent }) => textContent)).toEqual([
    expect.stringMatching(/^2 h agonorth:6800nowwest:6800 is gone$/),
    expect.stringMatching(/^3 d agowest:6800the first engine$/)
  ])
})

it('the top bar says which engine responds and which leads, and asks again after a reconnect', async () => {
  open({ hasSeveralEngines: true })
  const link = async (name: string) => screen.findByRole('link', { name })
  await link('south:6800 north:6800 leads')
  health = { engine: 'north:6800', leads: true }
  engine.dropStreams()
  await link('north:6800 leads')
})

it('hands over to a named engine after it has said what that interrupts', async () => {
  open({ hasSeveralEngines: true })
  fireEvent.click((await row('south:6800')).getByRole('button', { name: 'Hand over to south:6800' }))
  const dialog = within(await screen.findByRole('dialog', { name: 'Hand over to south:6800?' }))
  expect(dialog.getByText(/requests may fail, live views reconnect/)).toBeTruthy()
  expect(engine.calls).not.toContain('engines.handOver')
  fireEvent.click(dialog.getByRole('button', { name: 'Hand over' }))
  await waitFor(async () => expect((await row('south:6800')).getByText('Leader')).toBeTruthy())
  expect((await row('north:6800')).getByText('Follower')).toBeTruthy()
})

it('drains a follower at once, with Undo; the last one that could lead cannot be drained', async () => {
  open({ hasSeveralEngines: true })
  fireEvent.click((await row('south:6800')).getByRole('button', { name: 'Drain south:6800' }))
  expect(await (await row('south:6800')).findByText('drained')).toBeTruthy()
  const reason = 'Drain north:6800: No other engine could lead: start or undrain one first'
  fireEvent.click((await row('north:6800')).getByRole('button', { name: reason }))
  expect(screen.queryByRole('dialog')).toBeNull()
  fireEvent.click(await screen.findByRole('button', { name: 'Undo' }))
  fireEvent.click(await (await row('north:6800')).findByRole('button', { name: 'Drain north:6800' }))
  const dialog = within(await screen.findByRole('dialog', { name: 'Drain north:6800?' }))
  engine.failures.set('engines.drain', new ScrapdeckError('NO_LEADER', 'No engine leads at the moment.'))
  fireEvent.click(dialog.getByRole('button', { name: 'Drain' }))
  expect(await dialog.findByText('NO_LEADER')).toBeTruthy()
})

it('while no engine leads, the last list stays and says how old it is', async () => {
  open({ hasSeveralEngines: true })
  await row('north:6800')
  engine.failures.set('engines.list', new ScrapdeckError('NO_LEADER', 'No engine leads at the moment.'))
  void app.queryClient.invalidateQueries()
  expect(await screen.findByText(/No engine leads at the moment/)).toBeTruthy()
  await row('north:6800')
})

it('says on SQLite that there is one engine and where to read more; the top bar shows nothing about it', async () => {
  open({ hasSeveralEngines: false })
  expect(await screen.findByText('One engine')).toBeTruthy()
  expect(screen.getByRole('link', { name: 'Several engines' }).getAttribute('href')).toMatch(
    /docs\/scaling#several-engines$/
  )
  expect(screen.queryByRole('link', { name: /leads$/ })).toBeNull()
})

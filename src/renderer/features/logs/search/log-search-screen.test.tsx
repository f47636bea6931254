// @vitest-environment jsdom
import { configure, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, expect, it } from 'vitest'
import { createFakeEngine, type FakeEngine } from '../../../testing/fake-engine.ts'
import { renderApp } from '../../../testing/render-app.tsx'

configure({ asyncUtilTimeout: 8000 })

let engine: FakeEngine
let app: ReturnType<typeof renderApp>

function open(address: string) {
  engine = createFakeEngine({ jobCount: 40 })
  app = renderApp(engine, address)
}
afterEach(() => app.stop())

it('shows lines by run, each of which opens its log there', async () => {
  open('/logs/search')
  fireEvent.change(await screen.findByLabelText('Search text'), { target: { value: 'Crawled' } })
  fireEvent.click(screen.getByRole('button', { name: 'Search' }))
  const results = await screen.findByRole('region', { name: 'Results' })
  const line = (await within(results).findAllByRole('listitem'))[0] as HTMLElement
  expect(app.router.state.location.search).toMatchObject({ q: 'Crawled' })
  fireEvent.click(within(line).getByRole('link'))
  await waitFor(() => expect(app.router.state.location.pathname).toBe('/logs'))
})

it('says when no line matches, and what is wrong with an expression', async () => {
  open('/logs/search?q=nothing-like-this&level=ERROR')
  expect(await screen.findByText('No matching lines')).toBeTruthy()
  expect((screen.getByLabelText('Level') as HTMLSelectElement).value).toBe('ERROR')
})

it('continues with older logs on request', async () => {
  open('/logs/search?q=Crawled')
  const more = await screen.findByRole('button', { name: 'Search older logs' })
  expect(await screen.findByText(/older logs not searched yet/)).toBeTruthy()
  const before = screen.getAllByRole('listitem').length
  fireEvent.click(more)
  await waitFor(() => expect(screen.getAllByRole('listitem').length).toBeGreaterThan(before))
})

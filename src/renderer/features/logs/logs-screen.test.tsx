// @vitest-environment jsdom
import { configure, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, expect, it, vi } from 'vitest'
import { createFakeEngine, type FakeEngine } from '../../testing/fake-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'

configure({ asyncUtilTimeout: 8000 })

// jsdom cannot draw the terminal. It has its own tests, and the end-to-end tests use the real one.
vi.mock('../../terminal/log-terminal.tsx', () => ({
  LogTerminal: ({ title }: { title: string }) => <div data-testid="log">Log of {title}</div>
}))

let engine: FakeEngine
let app: ReturnType<typeof renderApp>

function open(jobs: (running: string[]) => string[]) {
  engine = createFakeEngine({ jobCount: 40 })
  const running = [...engine.jobs.values()].filter(({ status }) => status === 'running').map(({ id }) => id)
  const address = new URLSearchParams(jobs(running).map((id) => ['jobs', id]))
  app = renderApp(engine, `/logs?${address}`)
  return running
}
afterEach(() => app.stop())

it('opens a log from the picker', async () => {
  open(() => [])
  expect(await screen.findByText('No open logs')).toBeTruthy()
  fireEvent.click(screen.getAllByRole('button', { name: 'Open log' })[0] as HTMLElement)
  const choice = (await screen.findAllByRole('option'))[0] as HTMLElement
  fireEvent.click(choice)
  expect(await screen.findByTestId('log')).toBeTruthy()
  expect(await screen.findAllByRole('tab')).toHaveLength(1)
})

it('keeps the open logs in the address and switches between them', async () => {
  const running = open((ids) => ids.slice(0, 2))
  const tabs = await screen.findAllByRole('tab')
  expect(tabs.map((tab) => tab.getAttribute('aria-selected'))).toEqual(['true', 'false'])
  fireEvent.click(tabs[1] as HTMLElement)
  await waitFor(() => expect(app.router.state.location.search).toEqual({ jobs: running.slice(0, 2), job: running[1] }))
  fireEvent.click(screen.getAllByRole('button', { name: /^Close log of/ })[1] as HTMLElement)
  await waitFor(() => expect(screen.getAllByRole('tab')).toHaveLength(1))
  expect(app.router.state.location.search).toMatchObject({ job: running[0] })
})

it('still shows the name of a tab when its job no longer exists', async () => {
  open(() => ['f'.repeat(32)])
  const list = within(await screen.findByRole('tablist', { name: 'Open logs' }))
  expect(await list.findByText('unknown job')).toBeTruthy()
})

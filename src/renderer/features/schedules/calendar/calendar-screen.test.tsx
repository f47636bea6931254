import { configure, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createFakeEngine, type FakeEngine } from '../../../testing/fake-engine.ts'
import { renderApp } from '../../../testing/render-app.tsx'

configure({ asyncUtilTimeout: 8000 })

let engine: FakeEngine
let app: ReturnType<typeof renderApp>

beforeEach(() => {
  // Wednesday noon, with days of the week on either side.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-11-25T12:00:00Z') })
  window.innerWidth = 1280
})
afterEach(() => {
  app.stop()
  vi.useRealTimers()
})

function open(address = '/schedules/calendar?utc=true', options: Parameters<typeof createFakeEngine>[0] = {}) {
  engine = createFakeEngine({ jobCount: 10, ...options })
  app = renderApp(engine, address)
}

it('shows the outcomes of past runs and the upcoming ones, hour by hour', async () => {
  open()
  // 03:00 in Berlin is 02:00 UTC in winter.
  const yesterday = await screen.findByRole('button', { name: /^Tue 24 Nov 02:00/ })
  expect(yesterday.textContent).toContain('nightly prices')
  expect(within(yesterday).queryAllByRole('img', { name: 'upcoming' })).toEqual([])
  const tomorrow = await screen.findByRole('button', { name: /^Thu 26 Nov 02:00/ })
  await waitFor(() => expect(within(tomorrow).getAllByRole('img', { name: 'upcoming' }).length).toBeGreaterThan(1))
  // A schedule that runs every ten minutes has one row instead of a thousand entries.
  expect(screen.getByRole('link', { name: 'reuters live' })).toBeTruthy()
})

it('lists an hour beside the week, with a link to each schedule and its local time of day', async () => {
  open()
  fireEvent.click(await screen.findByRole('button', { name: /^Thu 26 Nov 02:00/ }))
  const pane = within(await screen.findByRole('complementary', { name: 'Runs in this hour' }))
  expect(pane.getByRole('heading').textContent).toBe('Thu 26 Nov, 02:00 to 03:00')
  expect(pane.getByRole('link', { name: 'nightly prices' }).getAttribute('href')).toMatch(/schedules\?schedule=/)
  expect(pane.getAllByText(/03:00 in Europe\/Berlin/).length).toBeGreaterThan(0)
  expect(pane.getByText(/starts 48 s later \(jitter\)/)).toBeTruthy()
  // On a busy machine, a pane's keys become active shortly after its text appears.
  await waitFor(() => {
    fireEvent.keyDown(document.body, { key: 'Escape' })
    expect(screen.queryByRole('complementary', { name: 'Runs in this hour' })).toBeNull()
  })
})

it('switches weeks by keys, with all of it in the address', async () => {
  open()
  await screen.findByRole('button', { name: /^Thu 26 Nov 02:00/ })
  fireEvent.keyDown(document.body, { key: 'n' })
  expect(await screen.findByRole('columnheader', { name: /Mon 30 Nov/ })).toBeTruthy()
  expect(app.router.state.location.search).toMatchObject({ week: '2026-11-30' })
  fireEvent.keyDown(document.body, { key: 't' })
  expect(await screen.findByRole('columnheader', { name: /Mon 23 Nov/ })).toBeTruthy()
})

it('shows missed runs', async () => {
  open('/schedules/calendar?utc=true&week=2026-11-16')
  // 01:30 on Sunday in Tokyo.
  const hour = await screen.findByRole('button', { name: /^Sat 21 Nov 16:00/ })
  expect(within(hour).getByRole('img', { name: 'missed' })).toBeTruthy()
  fireEvent.click(hour)
  const pane = await screen.findByRole('complementary', { name: 'Runs in this hour' })
  expect(pane.textContent).toContain('Missed while Scrapdeck was not running')
})

it('explains the calendar before there is a schedule', async () => {
  open('/schedules/calendar', { firstRun: true })
  expect(await screen.findByText('No schedules yet')).toBeTruthy()
})

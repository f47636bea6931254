import { configure, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createFakeEngine, type FakeEngine } from '../../../testing/fake-engine.ts'
import { renderApp } from '../../../testing/render-app.tsx'

configure({ asyncUtilTimeout: 8000 })

let engine: FakeEngine
let app: ReturnType<typeof renderApp>

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-11-25T12:00:00Z') }))
afterEach(() => {
  app.stop()
  vi.useRealTimers()
})

// No other schedule of the fake engine fires at seven minutes past the hour.
const crowd = async (count: number, everyMinute: boolean) => {
  for (let number = 1; number <= count; number++)
    await engine.client.schedules.create({
      name: `shop ${number}`,
      zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      rules: [{ kind: 'cron', expression: everyMinute && number === 1 ? '* 4 * * *' : '7 4 * * *' }],
      jobs: [{ project: 'prices', spiders: ['otto'] }]
    })
}
const expressions = async () =>
  (await engine.client.schedules.list({ text: 'shop' })).schedules.map(({ rules }) =>
    rules[0]?.kind === 'cron' ? rules[0].expression : null
  )

it('finds the fullest minute, previews the moves, applies them, and undoes them', async () => {
  engine = createFakeEngine({ jobCount: 10 })
  await crowd(8, true)
  app = renderApp(engine, '/schedules/load')
  fireEvent.click(await screen.findByRole('button', { name: /04:07.*8 jobs/ }))
  const pane = within(await screen.findByRole('complementary', { name: 'Minute' }))
  await waitFor(() => expect(pane.getAllByRole('link', { name: /^shop/ })).toHaveLength(8))
  fireEvent.click(pane.getByRole('button', { name: 'Spread…' }))
  const dialog = within(await screen.findByRole('dialog', { name: /^Spread/ }))
  // At most two jobs start per minute. The schedule that runs every minute cannot be moved.
  expect(dialog.getByText(/6 schedules of 8 are moved; then up to 2 jobs/)).toBeTruthy()
  expect(dialog.getByText('runs every minute')).toBeTruthy()
  expect(await expressions()).not.toContain('8 4 * * *')
  fireEvent.click(dialog.getByRole('button', { name: 'Move 6 schedules' }))
  await waitFor(async () => {
    const now = await expressions()
    expect(now.filter((each) => each === '7 4 * * *')).toHaveLength(1)
    expect(now).toContain('8 4 * * *')
  })
  fireEvent.click(await screen.findByRole('button', { name: 'Undo' }))
  await waitFor(async () => expect((await expressions()).filter((each) => each === '7 4 * * *')).toHaveLength(7))
})

it('counts only upcoming runs', async () => {
  vi.setSystemTime(Date.parse('2026-11-25T12:30:30Z'))
  engine = createFakeEngine({ firstRun: true })
  for (const minute of [29, 30, 31])
    await engine.client.schedules.create({
      name: `at ${minute}`,
      zone: 'UTC',
      rules: [{ kind: 'once', atMs: Date.parse(`2026-11-25T12:${minute}:00Z`) }],
      jobs: [{ project: 'prices', spiders: ['otto'] }]
    })
  app = renderApp(engine, '/schedules/load')
  // The current minute counts; the previous one does not.
  expect(await screen.findByText('2 jobs in the next 24 h')).toBeTruthy()
})

it('says which schedule someone else has changed meanwhile, and moves the others', async () => {
  engine = createFakeEngine({ jobCount: 10 })
  await crowd(4, false)
  app = renderApp(engine, '/schedules/load')
  fireEvent.click(await screen.findByRole('button', { name: /04:07.*4 jobs/ }))
  fireEvent.click(await screen.findByRole('button', { name: 'Spread…' }))
  const dialog = within(await screen.findByRole('dialog', { name: /^Spread/ }))
  engine.failures.set('schedules.update', new Error('Somebody was quicker.'))
  fireEvent.click(dialog.getByRole('button', { name: /^Move 3 schedules/ }))
  expect((await dialog.findByRole('alert')).textContent).toContain('3 schedules could not be moved')
})

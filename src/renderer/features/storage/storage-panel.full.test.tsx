import { configure, fireEvent, screen, within } from '@testing-library/react'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createFakeEngine, type FakeEngine } from '../../testing/fake-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'

configure({ asyncUtilTimeout: 8000 })

let app: ReturnType<typeof renderApp>
let engine: FakeEngine
beforeEach(() => {
  engine = createFakeEngine({ jobCount: 10 })
  app = renderApp(engine, '/settings')
})
afterEach(() => app.stop())

it('shows the disk usage, and deletes nothing before the preview of a policy is confirmed', async () => {
  expect(await screen.findByText('not set: nothing is deleted')).toBeTruthy()
  expect(screen.queryByText('Run now')).toBeNull()
  fireEvent.change(await screen.findByLabelText('All projects, Logs: days'), { target: { value: '30' } })
  fireEvent.click(screen.getByText('Preview and save'))
  const dialog = within(await screen.findByRole('dialog', { name: 'Retention preview' }))
  expect(await dialog.findByText(/^Frees /)).toBeTruthy()
  expect(dialog.getAllByText('newest of its spider and outcome').length).toBeGreaterThan(0)
  expect((await engine.client.storage.policy()).revision).toBe(0)
  fireEvent.click(dialog.getByText('Save policy and delete'))
  expect(await screen.findByText('Run now')).toBeTruthy()
  const { revision, policy } = await engine.client.storage.policy()
  expect([revision, policy.defaults.logs.days]).toEqual([1, 30])
  fireEvent.click(screen.getByText('Pause'))
  expect(await screen.findByText('paused: nothing is deleted')).toBeTruthy()
})

it('a project can have a policy of its own for one kind of data', async () => {
  const field = await screen.findByPlaceholderText('Project')
  fireEvent.change(field, { target: { value: 'prices' } })
  fireEvent.click(screen.getByText('Add project policy'))
  fireEvent.change(await screen.findByLabelText('prices, Logs: gigabytes'), { target: { value: '2' } })
  fireEvent.click(screen.getByText('Preview and save'))
  expect(await screen.findByText(/^Frees /)).toBeTruthy()
  fireEvent.click(screen.getByText('Save policy and delete'))
  await screen.findByText('Run now')
  expect((await engine.client.storage.policy()).policy.projects).toEqual({
    prices: { logs: { days: 90, perSpider: null, bytes: 2_000_000_000 } }
  })
})

it('shows the progress of the encryption with the newest key', async () => {
  expect(await screen.findByText('3f9a1c52d07b8e64')).toBeTruthy()
  expect(screen.getByText(/69 % encrypted · 17,700 files left/)).toBeTruthy()
})

import { configure, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createFakeEngine, type FakeEngine } from '../../testing/fake-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'

configure({ asyncUtilTimeout: 8000 })

let engine: FakeEngine
let app: ReturnType<typeof renderApp>
beforeEach(() => {
  engine = createFakeEngine({ jobCount: 10 })
  app = renderApp(engine, '/settings')
})
afterEach(() => app.stop())

const webhooks = async () => (await engine.client.webhooks.list()).webhooks
const row = async (name: string) => within(await screen.findByRole('listitem', { name: `Webhook ${name}` }))

it('adds a webhook and shows its secret once', async () => {
  fireEvent.click(await screen.findByRole('button', { name: 'Add webhook' }))
  const dialog = within(await screen.findByRole('dialog', { name: 'Add webhook' }))
  const address = dialog.getByLabelText('URL')
  fireEvent.change(address, { target: { value: 'http://127.0.0.1/in' } })
  fireEvent.click(dialog.getByRole('checkbox', { name: 'missed run' }))
  fireEvent.click(dialog.getByRole('button', { name: 'Add webhook' }))
  const refused = await dialog.findByText(/inside this network/)
  expect(address.getAttribute('aria-describedby')).toContain(refused.id)
  fireEvent.change(address, { target: { value: 'https://hooks.example.net/in' } })
  fireEvent.click(dialog.getByRole('button', { name: 'Add webhook' }))
  const secret = within(await screen.findByRole('dialog', { name: 'hooks.example.net was added' }))
  expect(secret.getByText(/^whsec_/)).toBeTruthy()
  fireEvent.click(secret.getByRole('button', { name: 'I have saved it' }))
  await waitFor(() => expect(screen.queryByText(/^whsec_/)).toBeNull())
  expect((await webhooks()).at(-1)).toMatchObject({ events: ['job.ended', 'schedule.missed'], project: null })
})

it('tests a webhook, shows the response, and switches the webhook off', async () => {
  const hook = await row('price warehouse')
  fireEvent.click(hook.getByRole('button', { name: 'Test' }))
  expect((await hook.findByRole('status')).textContent).toContain('503 Service Unavailable')
  fireEvent.click(hook.getByRole('switch'))
  await waitFor(async () => expect((await webhooks())[1]?.enabled).toBe(false))
})

it('sends abandoned deliveries again, one or all', async () => {
  fireEvent.click((await row('price warehouse')).getByRole('button', { name: 'Deliveries' }))
  const dialog = within(await screen.findByRole('dialog', { name: 'Deliveries to price warehouse' }))
  const dead = await dialog.findAllByText('given up')
  expect(dead).toHaveLength(14)
  fireEvent.click(dialog.getAllByRole('button', { name: /^Send job.ended/ })[0]!)
  fireEvent.click(await dialog.findByRole('button', { name: 'Send all 13 again' }))
  await waitFor(async () => expect((await webhooks())[1]).toMatchObject({ dead: 0, waiting: 16 }))
})

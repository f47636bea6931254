import { fireEvent, screen, within } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createFakeEngine } from '../../testing/fake-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'

let app: ReturnType<typeof renderApp>
beforeEach(() => {
  app = renderApp(createFakeEngine({ jobCount: 10 }), '/settings')
})
afterEach(() => {
  app.stop()
  vi.unstubAllGlobals()
})

it('Scrapyd clients need a token, and no password is shown', async () => {
  expect(await screen.findByText(/password = TOKEN/)).toBeTruthy()
  expect(screen.queryByLabelText('Password')).toBeNull()
})

it('asks before it logs out everywhere; the desktop itself stays logged in', async () => {
  expect(await screen.findByRole('button', { name: 'Log out' })).toBeTruthy()
  expect(screen.getByRole('button', { name: 'Log out everywhere' })).toBeTruthy()
  app.stop()
  vi.stubGlobal('scrapdeck', {})
  app = renderApp(createFakeEngine({ jobCount: 10 }), '/settings')
  fireEvent.click(await screen.findByRole('button', { name: 'Log out all browsers' }))
  expect(screen.queryByRole('button', { name: 'Log out' })).toBeNull()
  const dialog = within(await screen.findByRole('dialog', { name: 'Log out all browsers?' }))
  expect(screen.queryByText('No browser was logged in.')).toBeNull()
  fireEvent.click(dialog.getByRole('button', { name: 'Log out all browsers' }))
  expect(await screen.findByText('No browser was logged in.')).toBeTruthy()
})

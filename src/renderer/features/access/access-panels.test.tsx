import { fireEvent, screen, within } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createFakeEngine } from '../../testing/fake-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'

let app: ReturnType<typeof renderApp>
const answers = vi.fn<(path: string, init: RequestInit) => { status: number }>()
beforeEach(() => {
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    const { status } = answers(new URL(url).pathname, init)
    return new Response(status === 204 ? null : '', { status })
  })
  app = renderApp(createFakeEngine({ jobCount: 10 }), '/settings')
})
afterEach(() => {
  app.stop()
  vi.unstubAllGlobals()
  answers.mockReset()
})

it('a browser shows the password only after it was entered again', async () => {
  answers.mockReturnValueOnce({ status: 403 }).mockReturnValueOnce({ status: 204 })
  const field = await screen.findByLabelText('Password')
  expect(screen.getByRole('button', { name: 'Copy without the password' })).toBeTruthy()
  const enter = (text: string) => {
    fireEvent.change(field, { target: { value: text } })
    fireEvent.click(screen.getByRole('button', { name: 'Show password' }))
  }
  enter('guess')
  expect(await screen.findByText('This is not the password.')).toBeTruthy()
  enter('kestrel-amber')
  expect(await screen.findByText(/password = kestrel-amber/)).toBeTruthy()
  expect(String(answers.mock.calls[1]?.[1].body)).toBe('password=kestrel-amber')
})

it('asks before it logs out everywhere; the desktop itself stays open', async () => {
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

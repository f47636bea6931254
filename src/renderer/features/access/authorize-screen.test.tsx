import { fireEvent, screen, waitFor } from '@testing-library/react'
import { afterEach, expect, it, vi } from 'vitest'
import { createFakeEngine, type FakeEngine } from '../../testing/fake-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'
import { readAuthorize } from './authorize-form.ts'

let engine: FakeEngine
let app: ReturnType<typeof renderApp>
const open = (address: string) => {
  engine = createFakeEngine({ jobCount: 10, isInBrowser: true, role: 'operator' })
  app = renderApp(engine, address)
}
afterEach(() => {
  app?.stop()
  vi.restoreAllMocks()
})

const SEARCH = {
  client: 'cli',
  host: 'laptop',
  user: 'ann',
  redirect_uri: 'http://127.0.0.1:50123/callback',
  state: 's-1',
  code_challenge: 'c'.repeat(43),
  code_challenge_method: 'S256'
}

it("asks with the names of the computer and the user, and offers no more than the user's own role", async () => {
  open(`/authorize?${new URLSearchParams(SEARCH)}`)
  expect(await screen.findByText('Allow the command line on laptop to act as you?')).toBeTruthy()
  expect(screen.getByText('(account ann)', { exact: false })).toBeTruthy()
  expect((screen.getByRole('combobox', { name: 'Role' }) as HTMLInputElement).value).toBe('operator')
  expect(screen.getByRole('button', { name: 'Allow' })).toBeTruthy()
  expect(engine.calls).not.toContain('signIns.approve')
})

it('a typed code shows which computer at which address asks; Deny tells the program', async () => {
  open('/authorize')
  const code = await screen.findByRole('textbox', { name: 'Code' })
  fireEvent.change(code, { target: { value: 'BBBB-BBBB' } })
  fireEvent.click(screen.getByRole('button', { name: 'Continue' }))
  expect(await screen.findByText(/No pending sign-in has this code/)).toBeTruthy()
  fireEvent.change(code, { target: { value: 'wdjb mjht' } })
  fireEvent.click(screen.getByRole('button', { name: 'Continue' }))
  expect(await screen.findByText('Allow the command line on build-7 to act as you?')).toBeTruthy()
  expect(screen.getByText('10.0.0.7')).toBeTruthy()
  fireEvent.click(screen.getByRole('button', { name: 'Deny' }))
  expect(await screen.findByText('Command line on build-7 was not signed in')).toBeTruthy()
  await waitFor(() => expect(engine.calls).toContain('signIns.deny'))
})

it('an address that would send the code elsewhere is refused before the user can allow it', async () => {
  for (const redirectUri of ['https://evil.example/callback', 'http://localhost:1/callback', 'javascript:alert(1)']) {
    expect(readAuthorize({ ...SEARCH, redirect_uri: redirectUri })).toMatchObject({
      is: 'unusable',
      why: expect.stringContaining('somewhere other than')
    })
  }
  for (const missing of ['state', 'client', 'host', 'code_challenge', 'code_challenge_method'] as const) {
    expect(readAuthorize({ ...SEARCH, [missing]: undefined }).is).toBe('unusable')
  }
  expect(readAuthorize({}).is).toBe('code')
  open(`/authorize?${new URLSearchParams({ ...SEARCH, redirect_uri: 'https://evil.example/callback' })}`)
  expect(await screen.findByText('This sign-in cannot be used')).toBeTruthy()
  expect(screen.queryByRole('button', { name: 'Allow' })).toBeNull()
})

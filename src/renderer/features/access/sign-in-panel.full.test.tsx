import { fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, expect, it, onTestFinished, vi } from 'vitest'
import { createFakeEngine, type FakeEngine } from '../../testing/fake-engine.ts'
import { FAKE_CODE, FAKE_CURRENT } from '../../testing/fake-second-factors.ts'
import { renderApp } from '../../testing/render-app.tsx'
import { dialog, enter } from '../../testing/use-page.ts'

let engine: FakeEngine
let app: ReturnType<typeof renderApp>
const open = (role: 'viewer' | 'owner' = 'viewer') => {
  engine = createFakeEngine({ jobCount: 10, role })
  app = renderApp(engine, '/access')
}
afterEach(() => {
  app.stop()
  vi.unstubAllGlobals()
})

const press = async (name: string | RegExp) => fireEvent.click(await screen.findByRole('button', { name }))
const stateOf = async (name: string) => {
  const table = within(await screen.findByRole('table', { name: 'Sign-in' }))
  return (await table.findByRole('rowheader', { name })).closest('tr')!.textContent
}
async function confirm(title: string, act: string, current = FAKE_CURRENT) {
  const form = await dialog(title)
  enter(form.getByLabelText('Current password'), current)
  fireEvent.click(form.getByRole('button', { name: act }))
  return form
}

it('sets up an authenticator app with the password and a first code, and shows the recovery codes once', async () => {
  open()
  expect(await stateOf('Authenticator app')).toContain('Off')
  await press('Set up an authenticator app…')
  const asked = await confirm('Set up an authenticator app', 'Continue', 'wrong')
  await asked.findByText('The current password is wrong')
  await confirm('Set up an authenticator app', 'Continue')
  await screen.findByRole('img', { name: /^QR code/ })
  const form = await dialog('Set up an authenticator app')
  enter(form.getByLabelText('Code from the app'), '12 34')
  fireEvent.click(form.getByRole('button', { name: 'Turn on' }))
  await form.findByText('Enter the six digits that the app shows')
  enter(form.getByLabelText('Code from the app'), `${FAKE_CODE.slice(0, 3)} ${FAKE_CODE.slice(3)}`)
  fireEvent.click(form.getByRole('button', { name: 'Turn on' }))
  const codes = await dialog('Save your recovery codes')
  expect(codes.getAllByRole('listitem')).toHaveLength(10)
  fireEvent.click(codes.getByRole('button', { name: 'I have saved them' }))
  await waitFor(async () => expect(await stateOf('Recovery codes')).toContain('10 left'))
  expect(await stateOf('Password')).toContain('Needs a code as well')
  await press('Turn off the authenticator app…')
  await confirm('Turn off the authenticator app?', 'Turn off')
  await waitFor(async () => expect(await stateOf('Authenticator app')).toContain('Off'))
})

it('adds a passkey that the browser has created, and removes it', async () => {
  const made = {
    toJSON: () => ({ id: 'a', rawId: 'a', type: 'public-key', response: { clientDataJSON: '', attestationObject: '' } })
  }
  const create = vi.fn().mockRejectedValueOnce(new DOMException('', 'NotAllowedError')).mockResolvedValue(made)
  const Kind = Object.assign(() => {}, {
    parseCreationOptionsFromJSON: (options: object) => options
  })
  Object.defineProperty(Kind, Symbol.hasInstance, { value: (value: unknown) => value === made })
  vi.stubGlobal('PublicKeyCredential', Kind)
  Object.defineProperty(navigator, 'credentials', { value: { create }, configurable: true })
  onTestFinished(() => void Reflect.deleteProperty(navigator, 'credentials'))
  open()
  await press('Add a passkey…')
  enter((await dialog('Add a passkey')).getByLabelText('Name'), 'YubiKey')
  const form = await confirm('Add a passkey', 'Add passkey')
  await form.findByText(/No passkey was created: the request was cancelled/)
  fireEvent.click(form.getByRole('button', { name: 'Add passkey' }))
  expect(await stateOf('Passkey YubiKey')).toContain('For deck.example.org · not used yet')
  await press('Remove the passkey YubiKey…')
  await confirm('Remove the passkey YubiKey?', 'Remove')
  await waitFor(() => expect(screen.queryByText('Passkey YubiKey')).toBeNull())
})

it('says why passkeys cannot be added, if they cannot', async () => {
  open()
  expect(await stateOf('Passkeys')).toContain('This browser is too old for passkeys')
  expect(screen.queryByRole('button', { name: 'Add a passkey…' })).toBeNull()
})

it('an owner sees who has a second factor, and resets that of a user who has lost it', async () => {
  open('owner')
  const table = within(await screen.findByRole('table', { name: 'Users' }))
  const row = within((await table.findByRole('rowheader', { name: 'anna' })).closest('tr')!)
  row.getByText('app, 1 passkey')
  fireEvent.click(row.getByRole('button', { name: 'More actions for anna' }))
  fireEvent.click(await screen.findByRole('menuitem', { name: 'Reset sign-in…' }))
  fireEvent.click((await dialog('Reset the sign-in of anna?')).getByRole('button', { name: 'Reset sign-in' }))
  await row.findByText('none')
  expect(screen.queryByRole('table', { name: 'Sign-in' })).toBeNull()
})

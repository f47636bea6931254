import { act, fireEvent, screen, waitFor } from '@testing-library/react'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { SystemStatus } from '../../../shared/contract/index.ts'
import type { RemoteEngine } from '../../../shared/desktop/contract.ts'
import { createApi } from '../../api/api.tsx'
import { followEngines } from '../../api/desktop.ts'
import type { DesktopClient } from '../../api/wire.ts'
import { useRemoteEngines } from '../../state/remote-engines.ts'
import { createFakeEngine, type FakeEngine } from '../../testing/fake-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'

const EMPTY = useRemoteEngines.getInitialState()
const FRANKFURT: RemoteEngine = {
  id: '0193a3c2-0000-4000-8000-000000000001',
  name: 'Frankfurt',
  url: 'https://eu.example.org',
  colour: 'orange',
  readOnly: false,
  signsInWith: 'token',
  username: null,
  pinned: null,
  state: 'live',
  sinceMs: 0,
  problem: null,
  asOfMs: new Date(2026, 10, 2, 14, 2).getTime(),
  version: '0.1.0',
  age: 'same',
  lacks: []
}

let engine: FakeEngine
let app: ReturnType<typeof renderApp>
beforeEach(() => {
  engine = createFakeEngine({ jobCount: 10 })
})
afterEach(() => {
  app.stop()
  useRemoteEngines.setState(EMPTY, true)
})

function showEngine(changes: Partial<RemoteEngine>, address = '/') {
  const current = { ...FRANKFURT, ...changes }
  useRemoteEngines.setState({ engines: [current], appVersion: '0.1.0', current })
  app = renderApp(engine, address)
}

const find = (name: string | RegExp) => screen.queryByRole('button', { name })

it('lists this computer and every engine with its state', async () => {
  showEngine({ state: 'offline', problem: { code: 'ENGINE_UNREACHABLE', message: 'Frankfurt does not respond.' } })
  fireEvent.click(await screen.findByRole('button', { name: 'Engine: Frankfurt' }))
  expect(await screen.findByRole('menuitem', { name: 'This computer' })).toBeTruthy()
  expect((await screen.findByRole('menuitem', { name: /^Frankfurt/ })).textContent).toContain('Offline')
  expect(screen.getByRole('menuitem', { name: 'Add engine…' })).toBeTruthy()
})

it('an engine that does not respond shows its last state in grey, with the time and the reason, until it responds', async () => {
  showEngine({ state: 'offline', problem: { code: 'ENGINE_UNREACHABLE', message: 'It does not respond.' } }, '/jobs')
  expect(await screen.findByText('It does not respond.', { exact: false })).toBeTruthy()
  await screen.findByRole('grid', { name: 'Jobs' })
  expect(document.querySelector('[data-outdated]')).not.toBeNull()
  expect(screen.getByText(/last known state, as of 2 Nov, 14:02\./)).toBeTruthy()
  const run = await screen.findByRole('button', { name: /^Run/ })
  expect(run.getAttribute('aria-disabled')).toBe('true')
  fireEvent.click(run)
  expect(screen.queryByRole('dialog')).toBeNull()
  act(() => useRemoteEngines.setState({ current: FRANKFURT }))
  await waitFor(() => expect(document.querySelector('[data-outdated]')).toBeNull())
  expect(screen.queryByText('It does not respond.', { exact: false })).toBeNull()
})

it('read-only hides all controls that change something, even from an owner', async () => {
  showEngine({ readOnly: true }, '/nodes')
  expect(await screen.findByRole('button', { name: 'Engine: Frankfurt, read-only' })).toBeTruthy()
  await screen.findByRole('grid', { name: 'Nodes' })
  await waitFor(() => expect(find(/^Run/)).toBeNull())
  expect(find('Add nodes')).toBeNull()
})

it('hides the screens that an older engine does not support, and names its version', async () => {
  showEngine({ age: 'older', version: '0.0.9', lacks: ['errors.list', 'errors.get'] })
  expect(await screen.findByRole('link', { name: /Jobs/ })).toBeTruthy()
  expect(screen.queryByRole('link', { name: 'Errors' })).toBeNull()
  expect(screen.getByText(/runs an older Scrapdeck \(0\.0\.9; this app is 0\.1\.0\)/)).toBeTruthy()
})

it('offers a link to the UI of a newer engine', async () => {
  showEngine({ age: 'newer', version: '9.0.0' })
  expect(await screen.findByRole('button', { name: 'Open its own UI' })).toBeTruthy()
})

it('asks for missing fields before it adds an engine', async () => {
  showEngine({})
  fireEvent.click(await screen.findByRole('button', { name: 'Engine: Frankfurt' }))
  fireEvent.click(await screen.findByRole('menuitem', { name: 'Add engine…' }))
  const dialog = await screen.findByRole('dialog', { name: 'Add engine' })
  const fill = (name: string, value: string) =>
    fireEvent.change(screen.getByRole('textbox', { name }), { target: { value } })
  const submit = () => fireEvent.submit(dialog.querySelector('form')!)
  fill('Name', 'EU')
  fill('Address', 'ftp://x')
  submit()
  expect(await screen.findByText(/must be http:\/\/HOST:PORT, https:\/\/HOST or ssh/)).toBeTruthy()
  fill('Address', 'https://eu.example.org')
  fireEvent.click(screen.getByText('Token'))
  submit()
  expect(await screen.findByText('Required')).toBeTruthy()
})

it('warns that a token is sent unencrypted', async () => {
  showEngine({})
  fireEvent.click(await screen.findByRole('button', { name: 'Engine: Frankfurt' }))
  fireEvent.click(await screen.findByRole('menuitem', { name: 'Add engine…' }))
  const address = await screen.findByRole('textbox', { name: 'Address' })
  fireEvent.change(address, { target: { value: 'http://10.0.0.5:6800' } })
  expect(await screen.findByText(/^Without TLS/)).toBeTruthy()
  fireEvent.change(address, { target: { value: 'http://127.0.0.1:6800' } })
  await waitFor(() => expect(screen.queryByText(/^Without TLS/)).toBeNull())
})

it('finds engines in the palette', async () => {
  showEngine({})
  fireEvent.click(await screen.findByRole('button', { name: 'Search or run a command' }))
  const search = await screen.findByRole('textbox', { name: 'Search or run a command' })
  fireEvent.change(search, { target: { value: 'engine' } })
  expect(await screen.findByRole('button', { name: 'Engine: This computer' })).toBeTruthy()
  expect(screen.getByRole('button', { name: 'Add engine…' })).toBeTruthy()
})

it('a browser links to the engines that its engine names, at their own addresses', async () => {
  app = renderApp(engine)
  await screen.findByText('This computer')
  const status = createApi(engine.client).query.system.status.queryKey()
  const trustedEngines = [{ name: 'US', url: 'https://us.example.org' }]
  act(() => {
    app.queryClient.setQueryData<SystemStatus>(status, (known) => known && { ...known, trustedEngines })
  })
  fireEvent.click(await screen.findByRole('button', { name: /^Engine: / }))
  const link = await screen.findByRole('menuitem', { name: /^US/ })
  expect(link.getAttribute('href')).toBe('https://us.example.org/ui/')
})

it('signs in with the browser, or behind an SSH host with a code for another browser', async () => {
  const asked: unknown[] = []
  const signedIn = Promise.withResolvers<{ is: 'signedIn'; ticket: string }>()
  const engines = {
    watch: () => new Promise(() => {}),
    async *signInWithCode(input: object) {
      asked.push(input)
      yield { is: 'waiting', page: 'http://127.0.0.1:6800/ui/#/authorize', userCode: 'WDJB-MJHT' }
      yield await signedIn.promise
    },
    async add(input: object) {
      asked.push(input)
      throw new Error('It does not respond.')
    }
  }
  void followEngines({ engines } as unknown as DesktopClient)
  showEngine({})
  fireEvent.click(await screen.findByRole('button', { name: 'Engine: Frankfurt' }))
  fireEvent.click(await screen.findByRole('menuitem', { name: 'Add engine…' }))
  expect(await screen.findByRole('button', { name: 'Log in…' })).toBeTruthy()
  const change = (name: string, value: string) =>
    fireEvent.change(screen.getByRole('textbox', { name }), { target: { value } })
  change('Name', 'EU')
  change('Address', 'ssh://ops@bastion/http://127.0.0.1:6800')
  expect(screen.getByText(/with your own ssh/)).toBeTruthy()
  expect(screen.getByText(/reaches the engine through SSH until you are logged in/)).toBeTruthy()
  fireEvent.click(screen.getByRole('checkbox', { name: 'Use a code in another browser' }))
  fireEvent.click(screen.getByRole('button', { name: 'Log in…' }))
  expect(await screen.findByText('WDJB-MJHT')).toBeTruthy()
  expect(screen.getByText('http://127.0.0.1:6800/ui/#/authorize')).toBeTruthy()
  await act(async () => signedIn.resolve({ is: 'signedIn', ticket: FRANKFURT.id }))
  const to = { name: 'EU', url: 'ssh://ops@bastion/http://127.0.0.1:6800', trusted: null }
  const credentials = { kind: 'browser', ticket: FRANKFURT.id }
  await waitFor(() => expect(asked).toEqual([to, { ...to, colour: 'blue', readOnly: false, credentials }]))
})

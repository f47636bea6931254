import { fireEvent, screen, waitFor } from '@testing-library/react'
import { afterEach, expect, it, vi } from 'vitest'
import type { SceneName } from '../../../shared/testing/screens.ts'
import { openRealEngine, type RealEngine } from '../../testing/real-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'
import { act, choose, dialog, enter, rowOf } from '../../testing/use-page.ts'

let engine: RealEngine
let app: ReturnType<typeof renderApp>
const open = async (
  options: Parameters<typeof openRealEngine>[1] = {},
  address = '/access',
  scene: SceneName = 'fleet'
) => {
  engine = await openRealEngine(scene, options)
  app = renderApp(engine, address)
}
afterEach(() => {
  app.stop()
  vi.unstubAllGlobals()
})

const PASSWORD = 'kestrel amber window'
const NEW_PASSWORD = 'heron copper ladder'
const usersOf = async () => (await engine.client.users.list()).users
const tokensOf = async () => (await engine.client.tokens.list()).tokens

it('an owner adds a user; a name in use and a short password are marked at their fields', async () => {
  await open()
  fireEvent.click(await screen.findByRole('button', { name: 'Add user' }))
  const form = await dialog('Add user')
  const [name, password] = [form.getByLabelText('Name'), form.getByLabelText('Password')]
  enter(name, 'anna')
  enter(password, 'too short')
  await choose(form.getByRole('combobox', { name: 'Role' }), /^operator/)
  fireEvent.click(form.getByRole('button', { name: 'Add user' }))
  const short = await form.findByText(/^Use at least 15 characters/)
  expect(password.getAttribute('aria-describedby')).toContain(short.id)
  enter(password, PASSWORD)
  fireEvent.click(form.getByRole('button', { name: 'Add user' }))
  const taken = await form.findByText(/already a user anna/)
  expect(name.getAttribute('aria-describedby')).toContain(taken.id)
  enter(name, 'dora')
  fireEvent.click(form.getByRole('button', { name: 'Add user' }))
  await rowOf('Users', 'dora')
  expect(await usersOf()).toContainEqual(
    expect.objectContaining({ name: 'dora', kind: 'person', role: 'operator', hasPassword: true })
  )
})

it('a service account is added without a password', async () => {
  await open()
  fireEvent.click(await screen.findByRole('button', { name: 'Add user' }))
  const form = await dialog('Add user')
  enter(form.getByLabelText('Name'), 'airflow')
  enter(form.getByLabelText('Password'), 'typed before')
  fireEvent.click(form.getByRole('radio', { name: 'Service' }))
  expect(form.queryByLabelText('Password')).toBeNull()
  fireEvent.click(form.getByRole('button', { name: 'Add user' }))
  await rowOf('Users', /^airflow/)
  expect((await usersOf()).at(-1)).toMatchObject({ name: 'airflow', kind: 'service', hasPassword: false })
})

it('says when users are useful while there are none', async () => {
  await open({}, '/access', 'empty')
  expect(await screen.findByText('You do not need users if you work alone on this computer')).toBeTruthy()
  expect(await screen.findByText('No tokens')).toBeTruthy()
})

it('a role takes effect at once and can be changed back', async () => {
  await open()
  const row = await rowOf('Users', 'anna')
  await choose(row.getByRole('combobox', { name: 'Role of anna' }), /^deployer/)
  await waitFor(async () => expect((await usersOf())[0]?.role).toBe('deployer'))
  expect(engine.calls).toContain('users.update')
  fireEvent.click(await screen.findByRole('button', { name: 'Undo' }))
  await waitFor(async () => expect((await usersOf())[0]?.role).toBe('operator'))
})

it('disables a user, and sets a new password', async () => {
  await open()
  const row = await rowOf('Users', 'anna')
  await act(row, 'anna', 'Disable')
  expect(await row.findByText('disabled')).toBeTruthy()
  await act(row, 'anna', 'Set password…')
  const form = await dialog('Set a password for anna')
  enter(form.getByLabelText('New password'), NEW_PASSWORD)
  fireEvent.click(form.getByRole('button', { name: 'Set password' }))
  expect(await screen.findByText('anna has a new password.')).toBeTruthy()
})

it('removes a user only after it has said how many tokens stop working', async () => {
  await open()
  await act(await rowOf('Users', 'anna'), 'anna', 'Remove…')
  const question = await dialog('Remove anna?')
  expect(question.getByText(/1 token stops working/)).toBeTruthy()
  expect(engine.calls).not.toContain('users.remove')
  fireEvent.click(question.getByRole('button', { name: 'Remove' }))
  await waitFor(() => expect(screen.queryByRole('rowheader', { name: 'anna' })).toBeNull())
  expect(await usersOf()).toHaveLength(3)
})

it('shows a new token once, with its user and how a program sends it', async () => {
  await open()
  fireEvent.click(await screen.findByRole('button', { name: 'Create token' }))
  const form = await dialog('Create token')
  enter(form.getByLabelText('Name'), 'nightly deploys')
  await choose(await form.findByRole('combobox', { name: 'User' }), /^ci$/)
  expect(form.getByRole<HTMLInputElement>('combobox', { name: 'Role' }).value).toBe('deployer')
  await choose(form.getByRole('combobox', { name: 'Expires after' }), /^30 days/)
  fireEvent.click(form.getByRole('button', { name: 'Create token' }))
  const shown = await dialog('Token nightly deploys was created')
  expect(shown.getByText(/^sdk_[\w-]+$/)).toBeTruthy()
  expect(shown.getByText(/Authorization: Bearer sdk_/)).toBeTruthy()
  fireEvent.click(shown.getByRole('tab', { name: 'scrapy.cfg' }))
  expect(await shown.findByText(/username = ci\s+password = sdk_/)).toBeTruthy()
  fireEvent.click(shown.getByRole('button', { name: 'I have saved it' }))
  await waitFor(() => expect(screen.queryByText(/sdk_/)).toBeNull())
  const row = await rowOf('Tokens', 'nightly deploys')
  expect(row.getByText(/^…\w{8}$/)).toBeTruthy()
  expect(row.getByText('in 30 d')).toBeTruthy()
})

it('lists all tokens for an owner, marks the expired one, and asks before it revokes', async () => {
  await open()
  const row = await rowOf('Tokens', 'dashboard')
  expect(await row.findByText('ben')).toBeTruthy()
  expect(row.getByText('expired 1 d ago')).toBeTruthy()
  fireEvent.click(row.getByRole('button', { name: 'Revoke dashboard' }))
  const question = await dialog('Revoke dashboard?')
  expect(engine.calls).not.toContain('tokens.revoke')
  fireEvent.click(question.getByRole('button', { name: 'Revoke' }))
  await waitFor(() => expect(screen.queryByRole('rowheader', { name: 'dashboard' })).toBeNull())
  expect(await tokensOf()).toHaveLength(2)
})

it('a viewer can create tokens of at most that role, and sees no users', async () => {
  await open({ role: 'viewer' })
  expect(await screen.findByText('Your account')).toBeTruthy()
  fireEvent.click(await screen.findByRole('button', { name: 'Create token' }))
  const form = await dialog('Create token')
  expect(form.queryByRole('combobox', { name: 'User' })).toBeNull()
  fireEvent.click(form.getByRole('combobox', { name: 'Role' }))
  expect((await screen.findAllByRole('option')).map(({ textContent }) => textContent)).toEqual([
    expect.stringMatching(/^viewer/)
  ])
  expect(screen.queryByRole('table', { name: 'Users' })).toBeNull()
  expect(engine.calls).not.toContain('users.list')
})

it("changes the user's own password, and goes to the login because the session has ended", async () => {
  const assign = vi.fn<(url: string) => void>()
  vi.stubGlobal('location', { assign, hostname: 'localhost' })
  await open({ role: 'operator' })
  fireEvent.click(await screen.findByRole('button', { name: 'Change password…' }))
  const form = await dialog('Change password')
  enter(form.getByLabelText('Current password'), PASSWORD)
  enter(form.getByLabelText('New password'), NEW_PASSWORD)
  fireEvent.click(form.getByRole('button', { name: 'Change password' }))
  await waitFor(() => expect(assign).toHaveBeenCalledWith(expect.stringMatching(/login$/)))
})

it('gives roles in single projects, refuses an empty selection, and takes the roles back', async () => {
  await open()
  await act(await rowOf('Users', 'anna'), 'anna', 'Roles…')
  const form = await dialog('Roles of anna')
  await choose(form.getByRole('combobox', { name: 'In all projects' }), /^none/)
  fireEvent.click(form.getByRole('button', { name: 'Save' }))
  await form.findByText('Add a project or a node group, or choose a role in all projects')
  fireEvent.click(form.getByRole('button', { name: 'Add project' }))
  enter(form.getByRole('combobox', { name: 'Project 1' }), 'shop')
  await choose(form.getByRole('combobox', { name: 'Role in shop' }), /^operator/)
  fireEvent.click(form.getByRole('button', { name: 'Save' }))
  await waitFor(async () => {
    expect((await usersOf()).find(({ name }) => name === 'anna')).toMatchObject({
      role: null,
      projects: { shop: 'operator' }
    })
  })
  await (await rowOf('Users', 'anna')).findByRole('button', { name: 'operator in shop' })
  fireEvent.click(await screen.findByRole('button', { name: 'Undo' }))
  await waitFor(async () =>
    expect((await usersOf()).find(({ name }) => name === 'anna')).toMatchObject({ role: 'operator', projects: {} })
  )
})

it('an owner views the pages with another role, and returns', async () => {
  await open()
  fireEvent.click(await screen.findByRole('button', { name: 'View as…' }))
  fireEvent.click(await screen.findByRole('menuitem', { name: 'viewer' }))
  await screen.findByText(/You see what a user with the role/)
  expect(screen.queryByRole('table', { name: 'Users' })).toBeNull()
  fireEvent.click(screen.getByRole('button', { name: 'Stop' }))
  await screen.findByRole('table', { name: 'Users' })
})

it('an owner logs out the browsers of others; the current browser is marked', async () => {
  await open()
  const own = await rowOf('Browser sessions', /^Firefox on Linux this browser/)
  expect(own.getByText('login link')).toBeTruthy()
  const other = await rowOf('Browser sessions', 'Safari on macOS')
  expect(other.getByText('anna')).toBeTruthy()
  fireEvent.click(other.getByRole('button', { name: 'Log out Safari on macOS of anna' }))
  expect(await screen.findByText('Safari on macOS of anna is logged out.')).toBeTruthy()
  expect((await engine.client.sessions.list()).sessions).toHaveLength(1)
  await waitFor(() => expect(screen.queryByText('Safari on macOS')).toBeNull())
})

it('an external user has no role and no password to change here', async () => {
  await open()
  const row = await rowOf('Users', /^carla oidc/)
  expect(row.getByRole('combobox', { name: 'Role of carla' })).toHaveProperty('disabled', true)
  expect(row.getByText('enabled')).toBeTruthy()
  fireEvent.click(row.getByRole('button', { name: 'More actions for carla' }))
  await screen.findByRole('menuitem', { name: 'Disable' })
  expect(screen.queryByRole('menuitem', { name: 'Set password…' })).toBeNull()
})

it('an owner creates a role with permissions, sees its scope, and gives it to a user in one project', async () => {
  await open()
  fireEvent.click(await screen.findByRole('button', { name: 'Add role' }))
  const form = await dialog('Add role')
  const check = (name: RegExp) => form.getByRole<HTMLInputElement>('checkbox', { name })
  expect([check(/^Read$/).checked, check(/^Read$/).disabled]).toEqual([true, true])
  const owners = check(/^Manage users and roles/)
  expect([owners.disabled, owners.title]).toEqual([true, 'Only the built-in role owner has it'])
  enter(form.getByLabelText('Name'), 'Night shift')
  fireEvent.click(check(/^Cancel jobs/))
  fireEvent.click(check(/^Read the audit log/))
  expect(form.getByText('This role can only be assigned in all projects, because of: read the audit log.')).toBeTruthy()
  fireEvent.click(check(/^Read the audit log/))
  expect(form.getByText('This role can be assigned in all projects or in individual ones.')).toBeTruthy()
  fireEvent.click(form.getByRole('button', { name: 'Add role' }))
  expect(await form.findByText('Write the name in plain small letters')).toBeTruthy()
  enter(form.getByLabelText('Name'), 'night shift')
  fireEvent.click(form.getByRole('button', { name: 'Add role' }))
  await rowOf('Roles', 'night shift')
  const made = (await engine.client.roles.list()).roles.find(({ name }) => name === 'night shift')
  expect(made).toMatchObject({ permissions: ['read', 'jobs.cancel'], isForProjects: true })

  await act(await rowOf('Users', 'anna'), 'anna', 'Roles…')
  const rights = await dialog('Roles of anna')
  fireEvent.click(rights.getByRole('button', { name: 'Add project' }))
  enter(rights.getByRole('combobox', { name: 'Project 1' }), 'shop')
  await choose(rights.getByRole('combobox', { name: 'Role in shop' }), /^night shift/)
  fireEvent.click(rights.getByRole('button', { name: 'Save' }))
  await waitFor(async () =>
    expect(await usersOf()).toContainEqual(expect.objectContaining({ name: 'anna', projects: { shop: 'night shift' } }))
  )
  await act(await rowOf('Roles', 'night shift'), 'the role night shift', 'Remove…')
  const removing = await dialog('Remove the role night shift?')
  fireEvent.click(removing.getByRole('button', { name: 'Remove' }))
  expect(await removing.findByText(/is in use: the user anna/)).toBeTruthy()
})

it('a built-in role is shown read-only; a copy of it starts with its permissions', async () => {
  await open()
  await act(await rowOf('Roles', /^operator/), 'the role operator', 'Show permissions')
  const shown = await dialog('Role operator')
  const boxes = shown.getAllByRole<HTMLInputElement>('checkbox')
  expect(boxes.every(({ disabled }) => disabled)).toBe(true)
  expect(shown.queryByRole('button', { name: 'Save' })).toBeNull()
  fireEvent.keyDown(document.body, { key: 'Escape' })
  await act(await rowOf('Roles', /^owner/), 'the role owner', 'Duplicate…')
  const copy = await dialog('Add role')
  enter(copy.getByLabelText('Name'), 'almost owner')
  fireEvent.click(copy.getByRole('button', { name: 'Add role' }))
  await rowOf('Roles', 'almost owner')
  const { roles } = await engine.client.roles.list()
  const [owner, made] = ['owner', 'almost owner'].map((name) => roles.find((role) => role.name === name)!)
  expect(made!.permissions).toEqual(owner!.permissions.filter((name) => name !== 'users.change'))
})

it('shows the pages with a custom role', async () => {
  await open({}, '/access')
  fireEvent.click(await screen.findByRole('button', { name: 'View as…' }))
  fireEvent.click(await screen.findByRole('menuitem', { name: 'auditor' }))
  expect((await screen.findByText('auditor')).closest('[role="status"]')).toBeTruthy()
  expect(screen.queryByRole('button', { name: 'Run' })).toBeNull()
  fireEvent.click(screen.getByRole('button', { name: 'Stop' }))
  expect(await screen.findByRole('button', { name: 'Add user' })).toBeTruthy()
})

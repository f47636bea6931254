import { fireEvent, screen, waitFor } from '@testing-library/react'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createFakeEngine, type FakeEngine } from '../../testing/fake-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'
import { act, choose, dialog, enter, rowOf } from '../../testing/use-page.ts'

let engine: FakeEngine
let app: ReturnType<typeof renderApp>
beforeEach(() => {
  engine = createFakeEngine({ jobCount: 10 })
  app = renderApp(engine, '/access')
})
afterEach(() => app.stop())

const groupNamed = async (name: string) =>
  (await engine.client.groups.list()).groups.find((group) => group.name === name)

it('an owner adds a group with members and roles; a name in use is marked', async () => {
  await rowOf('Groups', /^Crawl team/)
  fireEvent.click(await screen.findByRole('button', { name: 'Add group' }))
  const form = await dialog('Add group')
  const name = form.getByLabelText('Name')
  enter(name, 'On call')
  await choose(form.getByRole('combobox', { name: 'Members' }), /^carla/)
  await choose(form.getByRole('combobox', { name: 'In all projects' }), /^operator/)
  fireEvent.click(form.getByRole('button', { name: 'Add tag' }))
  enter(form.getByRole('combobox', { name: 'Tag 1' }), 'eu')
  await choose(form.getByRole('combobox', { name: 'Role in eu' }), /^admin/)
  fireEvent.click(form.getByRole('button', { name: 'Add group' }))
  const taken = await form.findByText(/already a group On call/)
  expect(name.getAttribute('aria-describedby')).toContain(taken.id)
  enter(name, 'Night watch')
  fireEvent.click(form.getByRole('button', { name: 'Add group' }))
  const row = await rowOf('Groups', /^Night watch/)
  expect(row.getByText('admin of nodes eu')).toBeTruthy()
  expect(row.getByText('carla')).toBeTruthy()
  expect(await groupNamed('Night watch')).toMatchObject({ role: 'operator', projects: {}, nodeGroups: { eu: 'admin' } })
})

it('a user’s row says which rights come from which group', async () => {
  const row = await rowOf('Users', 'ben')
  expect(await row.findByText('operator, deployer in shop, from Crawl team')).toBeTruthy()
  expect(row.getByText('operator of nodes eu, operator of nodes us, from On call')).toBeTruthy()
  expect((await rowOf('Users', /^ci/)).queryByText(/, from /)).toBeNull()
})

it('says whom a removal affects before it removes the group, and the roles are gone afterwards', async () => {
  await act(await rowOf('Groups', /^Crawl team/), 'Crawl team', 'Remove…')
  const question = await dialog('Remove Crawl team?')
  expect(question.getByText(/ben and carla lose these roles: operator, deployer in shop/)).toBeTruthy()
  expect(engine.calls).not.toContain('groups.remove')
  fireEvent.click(question.getByRole('button', { name: 'Remove' }))
  await waitFor(async () => expect((await rowOf('Users', 'ben')).queryByText(/from Crawl team/)).toBeNull())
})

it('sends only the members that were added or removed, so that no concurrent change is lost', async () => {
  await act(await rowOf('Groups', /^On call/), 'On call', 'Edit…')
  const form = await dialog('Edit On call')
  const { users } = await engine.client.users.list()
  const [, ben, , ci] = users
  const { id } = (await groupNamed('On call'))!
  await engine.client.groups.update({ id, removeMembers: [ben!.id] })
  await choose(form.getByRole('combobox', { name: 'Members' }), /^ci/)
  fireEvent.click(form.getByRole('button', { name: 'Save' }))
  await waitFor(async () => expect((await groupNamed('On call'))!.members).toContain(ci!.id))
  expect((await groupNamed('On call'))!.members).not.toContain(ben!.id)
})

it('a user in a group needs no role of their own', async () => {
  fireEvent.click(await screen.findByRole('button', { name: 'Add user' }))
  const form = await dialog('Add user')
  enter(form.getByLabelText('Name'), 'kim')
  enter(form.getByLabelText('Password'), 'kestrel amber window')
  await choose(form.getByRole('combobox', { name: 'Role' }), /^none/)
  fireEvent.click(form.getByRole('button', { name: 'Add user' }))
  await form.findByText('Add a project or a node group, or choose a role in all projects')
  await choose(form.getByRole('combobox', { name: 'Groups' }), /^Crawl team/)
  fireEvent.click(form.getByRole('button', { name: 'Add user' }))
  expect(await (await rowOf('Users', 'kim')).findByText('operator, deployer in shop, from Crawl team')).toBeTruthy()
})

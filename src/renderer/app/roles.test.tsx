import { fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, expect, it } from 'vitest'
import type { Role } from '../../shared/roles.ts'
import { createFakeEngine, type FakeEngine } from '../testing/fake-engine.ts'
import { renderApp } from '../testing/render-app.tsx'

let engine: FakeEngine
let app: ReturnType<typeof renderApp>
const open = (role: Role, address: string) => {
  engine = createFakeEngine({ jobCount: 10, role })
  app = renderApp(engine, address)
}
afterEach(() => app.stop())

const button = (name: string | RegExp) => screen.queryByRole('button', { name })
/** The role is known. */
const account = (role: Role) => screen.findByRole('button', { name: `Account of anna, ${role}` })

it('a viewer sees no Run and no Add nodes, and a paused queue says which role resumes it', async () => {
  open('viewer', '/nodes')
  await account('viewer')
  await screen.findByRole('grid', { name: 'Nodes' })
  expect(button(/^Run/)).toBeNull()
  expect(button('Add nodes')).toBeNull()
  fireEvent.keyDown(document.body, { key: 'r' })
  expect(screen.queryByRole('dialog')).toBeNull()
  expect(button('Pause queue')).toBeNull()
  await engine.client.system.setPaused({ paused: true })
  const resume = await screen.findByRole('button', { name: 'Paused' })
  fireEvent.click(resume)
  fireEvent.mouseEnter(resume)
  expect(
    await screen.findByText(
      'Needs the permission “pause the queue” in all projects, which the role operator has. Your role is viewer.'
    )
  ).toBeTruthy()
  expect(engine.calls.filter((call) => call === 'system.setPaused')).toHaveLength(1)
})

it('the palette offers a viewer only places, not actions that would be refused', async () => {
  open('viewer', '/')
  await account('viewer')
  fireEvent.click(screen.getByRole('button', { name: 'Search or run a command' }))
  const search = await screen.findByRole('textbox', { name: 'Search or run a command' })
  expect(await screen.findByRole('button', { name: 'Show keyboard shortcuts' })).toBeTruthy()
  expect(button('Run spiders…')).toBeNull()
  expect(button('Add nodes…')).toBeNull()
  fireEvent.change(search, { target: { value: 'access' } })
  expect(await screen.findByRole('button', { name: 'Users & access' })).toBeTruthy()
})

it('an operator runs spiders, but does not upload', async () => {
  open('operator', '/projects')
  await account('operator')
  await screen.findByRole('grid', { name: 'Projects' })
  expect(button('Upload…')).toBeNull()
  expect(button(/^Run/)).toBeTruthy()
})

it('a viewer selects jobs to download their logs, and reads why they cannot be cancelled or retried', async () => {
  open('viewer', '/jobs')
  await account('viewer')
  const jobs = within(await screen.findByRole('grid', { name: 'Jobs' }))
  fireEvent.click((await jobs.findAllByRole('checkbox', { name: 'Select row' }))[0]!)
  const bar = within(await screen.findByRole('toolbar', { name: 'Selected jobs' }))
  for (const [name, label] of [
    [/^Cancel/, 'cancel jobs'],
    [/^Retry/, 'run jobs']
  ] as const) {
    const act = bar.getByRole<HTMLButtonElement>('button', { name })
    expect(act.disabled).toBe(true)
    expect(act.title).toBe(`Needs the permission “${label}”, which the role operator has. Your role is viewer.`)
  }
  expect(bar.queryByRole('button', { name: 'Priority' })).toBeNull()
  expect(jobs.queryByRole('button', { name: /^Cancel/ })).toBeNull()
  fireEvent.click((await jobs.findAllByRole('row'))[1]!)
  const pane = within(await screen.findByRole('complementary', { name: 'Job' }))
  await pane.findByRole('tab', { name: 'Log' })
  for (const name of ['Cancel', 'Retry', 'Keep', 'Run again…']) {
    expect(pane.queryByRole('button', { name })).toBeNull()
  }
})

it('settings read nothing that would be refused', async () => {
  open('operator', '/settings')
  await screen.findByText('Storage')
  await account('operator')
  expect(screen.queryByText('Webhooks')).toBeNull()
  expect(screen.getByText('Scrapyd clients')).toBeTruthy()
  expect(screen.queryByText('Retention')).toBeNull()
  expect(button('Log out everywhere')).toBeNull()
  expect(button('Log out')).toBeTruthy()
  expect(engine.calls).not.toContain('webhooks.list')
})

it('leads from the name in the top bar to the own tokens', async () => {
  open('deployer', '/')
  fireEvent.click(await account('deployer'))
  fireEvent.click(await screen.findByRole('menuitem', { name: 'Users & access' }))
  expect(await screen.findByText('Your tokens')).toBeTruthy()
})

it('the top bar of the owner names nobody', async () => {
  open('owner', '/settings')
  await waitFor(() => expect(engine.calls).toContain('users.me'))
  expect(await screen.findByText('Webhooks')).toBeTruthy()
  expect(button(/^Account of/)).toBeNull()
})

import { act, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, describe, expect, it } from 'vitest'
import type { Role } from '../../shared/roles.ts'
import { openRunDialog, useRunDialog } from '../state/open-dialogs.ts'
import { createFakeEngine, type FakeEngine } from '../testing/fake-engine.ts'
import { renderApp } from '../testing/render-app.tsx'

let engine: FakeEngine
let app: ReturnType<typeof renderApp>
const open = (role: Role, address: string) => {
  engine = createFakeEngine({ jobCount: 10, role })
  app = renderApp(engine, address)
}
afterEach(() => {
  app.stop()
  useRunDialog.setState({ prefill: null })
})

const button = (name: string | RegExp) => screen.queryByRole('button', { name })
const account = (role: Role) => screen.findByRole('button', { name: `Account of anna, ${role}` })

it('a viewer sees no Run and no Add nodes, and a paused queue says which role can resume it', async () => {
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

it('the palette offers a viewer only places, and no actions that would be refused', async () => {
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

it('an operator runs spiders, but cannot upload', async () => {
  open('operator', '/projects')
  await account('operator')
  await screen.findByRole('grid', { name: 'Projects' })
  expect(button('Upload…')).toBeNull()
  expect(button(/^Run/)).toBeTruthy()
})

it('a viewer selects jobs to download their logs, and sees why they cannot be cancelled or retried', async () => {
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

it('settings request nothing that would be refused', async () => {
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

it("the name in the top bar leads to the user's own tokens", async () => {
  open('deployer', '/')
  fireEvent.click(await account('deployer'))
  fireEvent.click(await screen.findByRole('menuitem', { name: 'Users & access' }))
  expect(await screen.findByText('Your tokens')).toBeTruthy()
})

it("the top bar of the service's owner shows no user name", async () => {
  open('owner', '/settings')
  await waitFor(() => expect(engine.calls).toContain('users.me'))
  expect(await screen.findByText('Webhooks')).toBeTruthy()
  expect(button(/^Account of/)).toBeNull()
})

describe('a user who has roles in single projects only', () => {
  const WHY = /^Needs the permission “.*” in all projects, which the role .* has\. Your role is deployer\.$/
  const openAs = async (address: string, prepare = async () => {}) => {
    engine = createFakeEngine({
      jobCount: 30,
      role: 'deployer',
      projectRoles: { prices: 'deployer', news: 'deployer' }
    })
    await prepare()
    app = renderApp(engine, address)
    return account('deployer')
  }
  const describedBy = (input: HTMLElement) =>
    (input.getAttribute('aria-describedby') ?? '')
      .split(' ')
      .map((id) => document.getElementById(id)?.textContent ?? '')
      .join('')
  /** On blur, a priority above 0 is reset, and the reason appears below the field. */
  const expectAtMost0 = (field: HTMLElement) => {
    expect(field.title).toMatch(WHY)
    expect(describedBy(field)).toMatch(/^Above 0 needs “.*” in all projects\.$/)
    fireEvent.change(field, { target: { value: '-3' } })
    expect([field.ariaInvalid, (field as HTMLInputElement).value]).toEqual([null, '-3'])
    fireEvent.change(field, { target: { value: '7' } })
    expect(describedBy(field)).toContain('Above 0 needs')
    fireEvent.blur(field)
    expect((field as HTMLInputElement).value).toBe('0')
  }

  it('sees why the weight of a project cannot be changed: in the queue and in the settings', async () => {
    await openAs('/queue')
    const weight = await screen.findByLabelText<HTMLInputElement>('Weight of prices')
    await waitFor(() => expect(weight.disabled).toBe(true))
    expect(weight.title).toMatch(WHY)
    app.stop()
    await openAs('/projects?project=prices')
    const detail = within(await screen.findByRole('region', { name: 'Project prices' }))
    fireEvent.click(await detail.findByRole('button', { name: 'Settings…' }))
    const inDialog = (await screen.findByLabelText('Weight')) as HTMLInputElement
    expect(inDialog.disabled).toBe(true)
    expect(describedBy(inDialog)).toMatch(WHY)
  })

  it('can give runs and schedules priorities up to 0', async () => {
    await openAs('/nodes')
    act(() => openRunDialog({ project: 'prices' as never }))
    const run = within(await screen.findByRole('dialog', { name: 'Run spiders' }))
    expectAtMost0(await run.findByLabelText('Priority'))
    app.stop()
    act(() => useRunDialog.setState({ prefill: null }))
    await openAs('/schedules?edit=new')
    expectAtMost0(await screen.findByLabelText('Priority'))
  })

  it('sees at once that a job with a higher priority cannot be run again with it', async () => {
    await openAs('/nodes')
    act(() => openRunDialog({ project: 'prices' as never, priority: 5 }))
    const run = within(await screen.findByRole('dialog', { name: 'Run spiders' }))
    const field = await run.findByLabelText('Priority')
    expect([field.ariaInvalid ?? field.getAttribute('aria-invalid'), describedBy(field)]).toEqual([
      ...['true', 'Above 0 needs “order the queue” in all projects.']
    ])
  })

  it('keeps a higher priority from the defaults of a project, and cannot give a higher one', async () => {
    await openAs('/projects?project=prices')
    const { settings } = await engine.client.projects.get({ project: 'prices' as never })
    const defaults = { ...settings.defaults, priority: 4 }
    await engine.client.projects.configure({ project: 'prices' as never, settings: { ...settings, defaults } })
    const detail = within(await screen.findByRole('region', { name: 'Project prices' }))
    await detail.findByText(/priority.4/)
    fireEvent.click(await detail.findByRole('button', { name: 'Edit defaults…' }))
    const field = (await screen.findByLabelText('Priority')) as HTMLInputElement
    expect([field.value, field.getAttribute('aria-invalid')]).toEqual(['4', null])
    expect(describedBy(field)).toBe('Above 4 needs “change projects” in all projects.')
    fireEvent.change(field, { target: { value: '5' } })
    fireEvent.blur(field)
    expect(field.value).toBe('4')
  })

  it('cannot move a job before one of a higher priority, and sees why', async () => {
    await openAs('/jobs?status=queued', async () => {
      const queued = [...engine.jobs.values()].filter(({ state }) => state === 'queued').map(({ id }) => id)
      await engine.client.jobs.setPriority({ ids: queued, priority: 0 })
      await engine.client.jobs.setPriority({ ids: queued.slice(0, 1), priority: 6 })
    })
    await screen.findByText(/Queue order/)
    const jobs = await screen.findByRole('grid', { name: 'Jobs' })
    await waitFor(() => expect(within(jobs).getAllByRole('row').length).toBeGreaterThan(3))
    fireEvent.keyDown(jobs, { key: 'j' })
    fireEvent.keyDown(jobs, { key: 'j' })
    fireEvent.keyDown(jobs, { key: 'ArrowUp', altKey: true })
    expect(await screen.findByText('1 job cannot be moved before jobs with priority 6')).toBeTruthy()
    expect(screen.getByText(WHY)).toBeTruthy()
    expect(engine.calls).not.toContain('jobs.reorder')
  })

  it('can lower the priority of queued jobs, without an Undo that would be refused', async () => {
    await openAs('/jobs?status=queued')
    const queued = [...engine.jobs.values()].filter(({ state }) => state === 'queued')
    await engine.client.jobs.setPriority({ ids: queued.map(({ id }) => id), priority: 6 })
    const jobs = within(await screen.findByRole('grid', { name: 'Jobs' }))
    fireEvent.click((await jobs.findAllByRole('checkbox', { name: 'Select row' }))[0]!)
    const bar = within(await screen.findByRole('toolbar', { name: 'Selected jobs' }))
    fireEvent.click(bar.getByRole('button', { name: 'Priority' }))
    const field = (await screen.findByLabelText('Priority of 1 queued job')) as HTMLInputElement
    expect([field.value, field.title, describedBy(field)]).toEqual([
      ...['0', expect.stringMatching(WHY), 'Above 0 needs “order the queue” in all projects.']
    ])
    fireEvent.change(field, { target: { value: '7' } })
    expect(field.value).toBe('0')
    fireEvent.click(screen.getByRole('button', { name: 'Set priority' }))
    expect(await screen.findByText('Priority 0 for 1 job')).toBeTruthy()
    expect(button('Undo')).toBeNull()
  })
})

import { act, configure, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, expect, it } from 'vitest'
import { DEFAULT_PROJECT_SETTINGS, NO_DEFAULTS, SECRET_MASK, type Version } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { aProjectName } from '../../../shared/testing/ids.ts'
import { offerFiles, useDroppedFiles } from '../../state/dropped-files.ts'
import { useRunDialog } from '../../state/open-dialogs.ts'
import { createFakeEngine, type FakeEngine } from '../../testing/fake-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'

configure({ asyncUtilTimeout: 8000 })

let engine: FakeEngine
let app: ReturnType<typeof renderApp>

function open(address: string, options: Parameters<typeof createFakeEngine>[0] = {}) {
  engine = createFakeEngine({ jobCount: 40, ...options })
  app = renderApp(engine, address)
}
afterEach(() => {
  app.stop()
  useRunDialog.setState({ prefill: null })
})

const egg = (name = 'shop-1.4.0-py3.12.egg') => new File(['PK'], name)
const dialogNamed = async (name: string) => within(await screen.findByRole('dialog', { name }))

it('lists the projects with their drift, and opens one', async () => {
  open('/projects')
  const grid = within(await screen.findByRole('grid', { name: 'Projects' }))
  const row = (await grid.findByText('prices')).closest('[role=row]') as HTMLElement
  expect(row.textContent).toMatch(/^.*11 of 12 nodes.*1 failed/)
  fireEvent.click(row)
  const detail = within(await screen.findByRole('region', { name: 'Project prices' }))
  expect(await detail.findByRole('button', { name: 'Run amazon_de' })).toBeTruthy()
  expect(app.router.state.location.search).toEqual({ project: 'prices' })
})

it('shows what changed in a version, and runs one of its spiders', async () => {
  open('/projects?project=prices')
  const detail = within(await screen.findByRole('region', { name: 'Project prices' }))
  fireEvent.click(
    (await detail.findAllByRole('button', { expanded: false, name: /20261119T181000/ }))[0] as HTMLElement
  )
  expect(detail.getByText('New spiders').parentElement?.textContent).toContain('cdiscount')
  expect(detail.getByText('eu-4').parentElement?.textContent).toContain('did not answer')
})

it('runs a spider at once with the arguments of its newest job; Shift or the button beside it opens the dialog', async () => {
  open('/projects?project=prices')
  const project = aProjectName('prices')
  const before = { project, args: { page: '7' }, settings: { CLOSESPIDER_ITEMCOUNT: '3' } }
  await engine.client.jobs.run({ ...before, spiders: ['otto'] })
  const detail = within(await screen.findByRole('region', { name: 'Project prices' }))
  const button = await detail.findByRole('button', { name: 'Run otto' })
  fireEvent.click(button)
  expect(await screen.findByText('prices/otto is queued with page=7.')).toBeTruthy()
  const [made] = (await engine.client.jobs.list({ project, spider: 'otto', limit: 1 })).jobs
  expect(made).toMatchObject({ ...before, version: null })
  expect(useRunDialog.getState().prefill).toBe(null)

  const dialog = { project: 'prices', spiders: ['otto'] }
  fireEvent.click(button, { shiftKey: true })
  expect(useRunDialog.getState().prefill).toEqual(dialog)
  act(() => useRunDialog.setState({ prefill: null }))
  fireEvent.click(detail.getByRole('button', { name: 'Run otto with…' }))
  expect(useRunDialog.getState().prefill).toEqual(dialog)
})

it('runs a spider at once with the current defaults, except those that its newest job left out', async () => {
  open('/projects?project=prices')
  const project = aProjectName('prices')
  const { settings } = await engine.client.projects.get({ project })
  const configure = (country: string) => {
    const values = { args: { country, token: SECRET_MASK, page: '1' }, env: { PROXY: country } }
    const defaults = { ...NO_DEFAULTS, ...values, secretNames: ['token'] }
    return engine.client.projects.configure({ project, settings: { ...settings, defaults } })
  }
  await configure('de')
  const own = { args: { day: 'today' }, env: { TZ: 'UTC' } }
  await engine.client.jobs.run({ project, spiders: ['otto'], ...own, withoutDefaults: ['page'] })
  await configure('fr')
  const detail = within(await screen.findByRole('region', { name: 'Project prices' }))
  fireEvent.click(await detail.findByRole('button', { name: 'Run otto' }))
  expect(await screen.findByText(/^prices\/otto is queued with/)).toBeTruthy()
  const [made] = (await engine.client.jobs.list({ project, spider: 'otto', limit: 1 })).jobs
  expect(made).toMatchObject({ env: { PROXY: 'fr', TZ: 'UTC' }, secretNames: ['token'] })
  expect(made?.args).toEqual({ country: 'fr', token: SECRET_MASK, day: 'today' })
})

it('asks for the secrets of the newest job before it runs a spider again', async () => {
  open('/projects?project=prices')
  const project = aProjectName('prices')
  await engine.client.jobs.run({ project, spiders: ['otto'], args: { key: 'hush' }, secretNames: ['key'] })
  const detail = within(await screen.findByRole('region', { name: 'Project prices' }))
  fireEvent.click(await detail.findByRole('button', { name: 'Run otto' }))
  await waitFor(() => expect(useRunDialog.getState().prefill).toMatchObject({ secretNames: ['key'] }))
  expect(engine.calls.filter((call) => call === 'jobs.run')).toHaveLength(1)
})

it('accepts an egg that is dropped anywhere: edited, uploaded, sent to all nodes, sent again after a failure, then run', async () => {
  open('/projects')
  await screen.findByRole('grid', { name: 'Projects' })
  act(() => offerFiles([egg()]))
  const dialog = await dialogNamed('Deploy project')
  const project = dialog.getByLabelText('Project') as HTMLInputElement
  expect(project.value).toBe('shop')
  fireEvent.change(project, { target: { value: 'webshop' } })
  fireEvent.click(dialog.getByRole('button', { name: 'Upload' }))
  expect(await dialog.findByText(/was uploaded with 1 spider/)).toBeTruthy()
  expect(engine.projects.has('webshop')).toBe(true)

  fireEvent.click(dialog.getByRole('button', { name: 'Deploy to all 12 nodes' }))
  expect(await dialog.findByText('On 11 of 12 nodes.', {}, { timeout: 10_000 })).toBeTruthy()
  const down = engine.nodes.get('eu-4')
  if (down === undefined) throw new Error('the fake fleet has no eu-4')
  engine.nodes.set('eu-4', { ...down, health: 'up' })
  fireEvent.click(dialog.getByRole('button', { name: 'Retry eu-4' }))
  expect(await dialog.findByText('On 12 nodes.', {}, { timeout: 10_000 })).toBeTruthy()

  fireEvent.click(dialog.getByRole('button', { name: 'Run…' }))
  expect(useRunDialog.getState().prefill).toMatchObject({ project: 'webshop', spiders: ['demo'] })
})

it('explains why an upload was refused, and lets the user try again', async () => {
  open('/projects')
  await screen.findByRole('grid', { name: 'Projects' })
  engine.failures.set(
    'projects.upload',
    new ScrapdeckError(
      'EGG_NO_METADATA',
      'shop.egg has no EGG-INFO/PKG-INFO. Build it with scrapyd-deploy --build-egg.'
    )
  )
  act(() => offerFiles([egg()]))
  const dialog = await dialogNamed('Deploy project')
  fireEvent.click(dialog.getByRole('button', { name: 'Upload' }))
  const alert = await dialog.findByRole('alert')
  expect(alert.textContent).toContain('has no EGG-INFO/PKG-INFO. Build it')
  engine.failures.clear()
  fireEvent.click(dialog.getByRole('button', { name: 'Retry upload' }))
  expect(await dialog.findByText(/was uploaded with/)).toBeTruthy()
})

it('says which files can be dropped when another one was', async () => {
  open('/projects')
  await screen.findByRole('grid', { name: 'Projects' })
  act(() => offerFiles([new File(['x'], 'notes.txt')]))
  const dialog = await dialogNamed('Deploy project')
  expect(dialog.getByRole('alert').textContent).toContain('notes.txt is not an .egg, .whl or .zip file')
})

it('offers the nodes without the version first if some are selected', async () => {
  open('/projects?project=prices')
  fireEvent.click(await screen.findByRole('button', { name: 'Deploy…' }))
  const dialog = await dialogNamed('Deploy prices 20261119T181000')
  expect((dialog.getByRole('checkbox', { name: /eu-4/ }) as HTMLInputElement).checked).toBe(true)
  expect((dialog.getByRole('checkbox', { name: /eu-1/ }) as HTMLInputElement).checked).toBe(false)
  fireEvent.click(dialog.getByRole('button', { name: 'Deploy to 1 node' }))
  expect(await dialog.findByText('On 0 of 1 node.', {}, { timeout: 5000 })).toBeTruthy()
})

it('deletes a version only after it has said what is deleted and what stays', async () => {
  open('/projects?project=prices')
  fireEvent.click(await screen.findByRole('button', { name: 'More actions for 20261119T181000' }))
  fireEvent.click(await screen.findByRole('menuitem', { name: 'Delete…' }))
  const dialog = await dialogNamed('Delete prices 20261119T181000?')
  expect(dialog.getByText(/on 11 nodes/).textContent).toContain('Jobs without a version then use 20261112T090412')
  expect(engine.calls).not.toContain('projects.deleteVersion')
  fireEvent.click(dialog.getByRole('button', { name: 'Delete' }))
  await waitFor(() => expect(engine.projects.get('prices')?.latestVersion).toBe('20261112T090412'))
})

it('pins a version, rolls back, and undoes both', async () => {
  open('/projects?project=prices')
  const detail = within(await screen.findByRole('region', { name: 'Project prices' }))
  const choose = async (version: string, act: string) => {
    fireEvent.click(await detail.findByRole('button', { name: `More actions for ${version}` }))
    fireEvent.click(await screen.findByRole('menuitem', { name: act }))
  }
  await choose('20261112T090412', 'Roll back to this')
  expect(await detail.findByText(/^Pinned to 20261112T090412: new jobs run it/)).toBeTruthy()
  expect(detail.getByText('active 20261112T090412')).toBeTruthy()
  expect(await screen.findByText('prices is pinned: new jobs run 20261112T090412.')).toBeTruthy()

  fireEvent.click(await detail.findByRole('button', { name: 'More actions for 20261112T090412' }))
  const remove = await screen.findByRole('menuitem', { name: 'Delete…' })
  expect(remove.getAttribute('title')).toBe('Unpin it first, or pin another version')
  fireEvent.click(screen.getByRole('menuitem', { name: 'Unpin' }))
  expect(await detail.findByText('active 20261119T181000')).toBeTruthy()
  fireEvent.click(await screen.findByRole('button', { name: 'Undo' }))
  expect(await detail.findByText('active 20261112T090412')).toBeTruthy()

  fireEvent.click(detail.getByRole('button', { name: 'Unpin' }))
  await choose('20261119T181000', 'Pin this version')
  await waitFor(() => expect(engine.projects.get('prices')?.settings.pinnedVersion).toBe('20261119T181000'))
})

it('pins in the settings, too, and saving them keeps what others changed while the dialog was open', async () => {
  open('/projects?project=prices')
  const openSettings = async () => {
    fireEvent.click(await screen.findByRole('button', { name: 'Settings…' }))
    return dialogNamed('Settings of prices')
  }
  const dialog = await openSettings()
  fireEvent.click(dialog.getByRole('combobox', { name: 'Active version' }))
  fireEvent.click(await screen.findByRole('option', { name: 'pinned (20261112T090412)', hidden: true }))
  fireEvent.click(dialog.getByRole('button', { name: 'Save settings' }))
  const detail = within(await screen.findByRole('region', { name: 'Project prices' }))
  expect(await detail.findByText(/^Pinned to 20261112T090412/)).toBeTruthy()

  const again = await openSettings()
  await engine.client.projects.pinVersion({ project: 'prices', version: '20261119T181000' })
  await engine.client.projects.setPaused({ project: 'prices', paused: true })
  expect(await detail.findByText(/^Pinned to 20261119T181000/)).toBeTruthy()
  fireEvent.change(again.getByLabelText('Weight'), { target: { value: '2' } })
  fireEvent.click(again.getByRole('button', { name: 'Save settings' }))
  const others = { pinnedVersion: '20261119T181000', paused: true }
  await waitFor(() => expect(engine.projects.get('prices')?.settings).toMatchObject({ weight: 2, ...others }))
})

it('says after an upload that the project stays pinned, and offers to pin the new version', async () => {
  open('/projects?project=prices')
  await screen.findByRole('region', { name: 'Project prices' })
  await engine.client.projects.pinVersion({ project: 'prices', version: '20261112T090412' })
  act(() => offerFiles([egg('prices-9-py3.12.egg')]))
  const dialog = await dialogNamed('Deploy project')
  fireEvent.click(dialog.getByRole('button', { name: 'Upload' }))
  expect(await dialog.findByText(/stays pinned to 20261112T090412/)).toBeTruthy()
  fireEvent.click(dialog.getByRole('button', { name: /^Pin / }))
  await waitFor(() => expect(engine.projects.get('prices')?.settings.pinnedVersion).not.toBe('20261112T090412'))
})

it('edits the defaults of a project and of a spider, keeps an unchanged secret, and shows them', async () => {
  open('/projects?project=prices')
  const project = await engine.client.projects.get({ project: 'prices' })
  const secret = { ...NO_DEFAULTS, args: { token: SECRET_MASK }, secretNames: ['token'] }
  await engine.client.projects.configure({ project: 'prices', settings: { ...project.settings, defaults: secret } })
  const detail = within(await screen.findByRole('region', { name: 'Project prices' }))
  expect(await detail.findByText('argument token')).toBeTruthy()
  fireEvent.click(detail.getByRole('button', { name: 'Edit defaults…' }))
  const dialog = await dialogNamed('Defaults of prices')
  fireEvent.click(dialog.getByRole('button', { name: 'Add variable' }))
  fireEvent.change(dialog.getByLabelText('Name of variable 1', { selector: 'input' }), {
    target: { value: 'HTTP PROXY' }
  })
  fireEvent.change(dialog.getByLabelText('Value of variable 1'), { target: { value: 'http://proxy' } })
  expect(await dialog.findByText('Use letters, digits and _')).toBeTruthy()
  fireEvent.change(dialog.getByLabelText('Name of variable 1', { selector: 'input' }), {
    target: { value: 'HTTP_PROXY' }
  })
  fireEvent.change(dialog.getByLabelText('Priority'), { target: { value: '5' } })
  fireEvent.click(dialog.getByRole('button', { name: 'Save defaults' }))
  expect(await detail.findByText('argument token · variable HTTP_PROXY · priority 5')).toBeTruthy()
  expect(engine.projects.get('prices')?.settings.defaults).toEqual({
    ...secret,
    env: { HTTP_PROXY: 'http://proxy' },
    priority: 5
  })
})

it('shows the outcome rule that new projects have, and turns it off for one spider and for all', async () => {
  open('/projects?project=prices')
  await engine.client.projects.changeSettings({ project: 'prices', settings: { outcome: { requireResponse: true } } })
  const detail = within(await screen.findByRole('region', { name: 'Project prices' }))
  expect(await detail.findByText('no response at all')).toBeTruthy()
  fireEvent.click(detail.getByRole('button', { name: 'Edit rules for a spider…' }))
  const rules = await dialogNamed('Outcome rules for individual spiders in prices')
  fireEvent.click(rules.getByRole('combobox', { name: 'No response at all' }))
  fireEvent.click(await screen.findByRole('option', { name: 'no rule', hidden: true }))
  fireEvent.click(rules.getByRole('button', { name: 'Save rules' }))
  await waitFor(() =>
    expect(Object.values(engine.projects.get('prices')!.settings.spiderOutcomes)).toEqual([{ requireResponse: null }])
  )
  fireEvent.click(screen.getByRole('button', { name: 'Settings…' }))
  const settings = await dialogNamed('Settings of prices')
  fireEvent.click(settings.getByRole('checkbox', { name: 'No response at all' }))
  fireEvent.click(settings.getByRole('button', { name: 'Save settings' }))
  await waitFor(() => expect(engine.projects.get('prices')!.settings.outcome).toBeNull())
})

it('gives one spider outcome rules of its own, which override those of its project', async () => {
  open('/projects?project=prices')
  await engine.client.projects.changeSettings({ project: 'prices', settings: { outcome: { minItems: 5 } } })
  const detail = within(await screen.findByRole('region', { name: 'Project prices' }))
  expect(await detail.findByText('fewer than 5 items')).toBeTruthy()
  fireEvent.click(detail.getByRole('button', { name: 'Edit rules for a spider…' }))
  const dialog = await dialogNamed('Outcome rules for individual spiders in prices')
  fireEvent.change(dialog.getByLabelText('More errors than'), { target: { value: '7' } })
  fireEvent.change(dialog.getByLabelText('Fewer items than'), { target: { value: 'none' } })
  fireEvent.click(dialog.getByRole('button', { name: 'Save rules' }))
  expect(await detail.findByText('more than 7 errors')).toBeTruthy()
  expect(Object.values(engine.projects.get('prices')!.settings.spiderOutcomes)).toEqual([
    { maxErrors: 7, minItems: null }
  ])
})

it('keeps the changed defaults of one spider until they are saved, and offers only placements that defaults can have', async () => {
  open('/projects?project=prices')
  const { settings } = await engine.client.projects.get({ project: 'prices' })
  const defaults = { ...NO_DEFAULTS, args: { country: 'de' }, tags: ['eu'] }
  await engine.client.projects.configure({ project: 'prices', settings: { ...settings, defaults } })
  const detail = within(await screen.findByRole('region', { name: 'Project prices' }))
  expect(await detail.findByText('argument country · #eu')).toBeTruthy()
  fireEvent.click(detail.getByRole('button', { name: 'Edit defaults…' }))
  const dialog = await dialogNamed('Defaults of prices')
  const spider = dialog.getByRole('combobox', { name: 'For' }) as HTMLInputElement
  fireEvent.click(spider)
  fireEvent.click(await screen.findByRole('option', { name: 'Spider otto', hidden: true }))
  expect(dialog.getByRole('radio', { name: 'Default: #eu' })).toBeTruthy()
  expect(dialog.queryByRole('radio', { name: 'Any node' })).toBeNull()
  expect(dialog.getByText('country').parentElement?.textContent).toBe('countryde' + 'project default')
  fireEvent.click(dialog.getByRole('button', { name: 'Override argument country' }))
  fireEvent.change(dialog.getByLabelText('Value of argument 1'), { target: { value: 'fr' } })
  fireEvent.click(dialog.getByRole('button', { name: 'Remove argument country' }))
  expect(dialog.getByText('country')).toBeTruthy()

  expect(spider.disabled).toBe(false)
  fireEvent.change(dialog.getByLabelText('Priority'), { target: { value: '5' } })
  expect(spider.disabled).toBe(true)
  expect(dialog.getByText(/^Save or undo the changes below/)).toBeTruthy()
  fireEvent.change(dialog.getByLabelText('Priority'), { target: { value: '' } })
  expect(spider.disabled).toBe(false)
  fireEvent.change(dialog.getByLabelText('Priority'), { target: { value: '7' } })
  await engine.client.projects.setPaused({ project: 'prices', paused: true })
  fireEvent.click(dialog.getByRole('button', { name: 'Save defaults' }))
  await waitFor(() =>
    expect(engine.projects.get('prices')?.settings).toMatchObject({
      paused: true,
      defaults,
      spiderDefaults: { otto: { ...NO_DEFAULTS, priority: 7 } }
    })
  )
})

it('shows the name of the node in the defaults', async () => {
  open('/projects?project=prices')
  const { settings } = await engine.client.projects.get({ project: 'prices' })
  const [node] = (await engine.client.nodes.list()).nodes
  const defaults = { ...NO_DEFAULTS, nodeId: node!.id }
  await engine.client.projects.configure({ project: 'prices', settings: { ...settings, defaults } })
  const detail = within(await screen.findByRole('region', { name: 'Project prices' }))
  expect(await detail.findByText(`node ${node!.name}`)).toBeTruthy()
})

it('explains projects while there are none', async () => {
  open('/projects', { firstRun: true })
  expect(await screen.findByText('No projects yet')).toBeTruthy()
})

it('builds an environment from dropped requirements, with its progress and its log, and saves the limits', async () => {
  open('/projects?project=prices', { stepMs: 150 })
  fireEvent.click(await screen.findByRole('button', { name: 'Python and limits…' }))
  const dialog = await dialogNamed('Settings of prices')
  fireEvent.click(dialog.getByRole('radio', { name: 'Requirements' }))
  fireEvent.click(dialog.getByRole('button', { name: 'Save settings' }))
  expect(await dialog.findByText('Enter at least one package')).toBeTruthy()
  await waitFor(() => expect(useDroppedFiles.getState().target).not.toBeNull())
  act(() => useDroppedFiles.getState().target?.onFiles([new File(['scrapy==2.13.3\nlxml\n'], 'requirements.txt')]))
  expect(await dialog.findByText('2 requirements')).toBeTruthy()
  fireEvent.change(dialog.getByLabelText('Memory'), { target: { value: '1.5 gb' } })
  fireEvent.click(dialog.getByRole('button', { name: 'Save and build' }))

  const detail = within(await screen.findByRole('region', { name: 'Project prices' }))
  expect(await detail.findByText('building')).toBeTruthy()
  expect(engine.projects.get('prices')?.settings).toEqual({
    ...DEFAULT_PROJECT_SETTINGS,
    python: { kind: 'requirements', text: 'scrapy==2.13.3\nlxml\n' },
    limits: { memoryMegabytes: 1536 }
  })
  expect(useDroppedFiles.getState().target).toBeNull()
  fireEvent.click(await detail.findByRole('button', { name: 'Build log' }))
  const log = within(await screen.findByRole('dialog', { name: /build log/ }))
  await waitFor(() => expect(log.getByRole('log').textContent).toContain('Scrapy 2.13.3 on Python 3.13.2'))
  await log.findByText('ready')
  expect(app.router.state.location.href).toContain('log=true')
})

it('says why an environment could not be built, beside the project', async () => {
  open('/projects?project=maps')
  const detail = within(await screen.findByRole('region', { name: 'Project maps' }))
  await engine.client.projects.configure({
    project: 'maps',
    settings: { python: { kind: 'interpreter', path: '/opt/py' }, limits: null }
  })
  const environment = await waitFor(() => {
    const found = [...engine.environments.values()].find(({ projects }) => projects.includes(aProjectName('maps')))
    if (found === undefined) throw new Error('none yet')
    return found
  })
  const problem = 'There is no Python at /opt/py. Correct the path.'
  act(() => engine.emit({ kind: 'environments', environments: [{ ...environment, state: 'failed', problem }] }))
  expect((await detail.findByRole('alert')).textContent).toBe(problem)
})

it('keeps the dialog open with the reason if the settings are refused', async () => {
  open('/projects?project=prices')
  fireEvent.click(await screen.findByRole('button', { name: 'Python and limits…' }))
  const dialog = await dialogNamed('Settings of prices')
  engine.failures.set('projects.changeSettings', new ScrapdeckError('BAD_INPUT', 'There is no Python at /opt/py.'))
  fireEvent.click(dialog.getByRole('button', { name: 'Save settings' }))
  expect((await dialog.findByRole('alert')).textContent).toContain('There is no Python at /opt/py.')
})

it('says what each node lost or has instead, and fixes first one of them and then all', async () => {
  open('/projects?project=prices')
  const project = engine.projects.get('prices')!
  const [latest, ...older] = project.versions
  const drift: Record<string, Partial<Version['deployments'][number]>> = {
    'eu-1': { state: 'missing' },
    'eu-2': { state: 'foreign', sha256: null },
    'eu-3': { sha256: 'c'.repeat(64) }
  }
  const deployments = latest!.deployments.map((one) => ({ ...one, ...drift[one.nodeId] }))
  engine.projects.set('prices', { ...project, versions: [{ ...latest!, deployments }, ...older] })
  const detail = within(await screen.findByRole('region', { name: 'Project prices' }))
  fireEvent.click(
    (await detail.findAllByRole('button', { expanded: false, name: /20261119T181000/ }))[0] as HTMLElement
  )
  const places = within(detail.getByRole('list', { name: 'Problems of 20261119T181000' }))
  const words = (node: string) => places.getByText(node).parentElement?.textContent
  expect(words('eu-1')).toContain('was deployed, but the node no longer lists it')
  expect(words('eu-2')).toContain('it may contain different code')
  expect(words('eu-3')).toContain('has an older egg of this version')
  expect(detail.getByText('4 nodes', { exact: false }).textContent).toBe('Repair 4 nodes')
  fireEvent.click(places.getByRole('button', { name: 'Send 20261119T181000 to eu-1' }))
  expect(await detail.findByText('On 1 node.')).toBeTruthy()
  await waitFor(() => expect(places.queryByText('eu-1')).toBeNull())
})

it('pauses a project and says so until it is resumed', async () => {
  open('/projects?project=prices')
  const detail = within(await screen.findByRole('region', { name: 'Project prices' }))
  fireEvent.click(await detail.findByRole('button', { name: 'Pause' }))
  const notice = /queued jobs wait until you resume/
  expect(await detail.findByText(notice)).toBeTruthy()
  expect(engine.projects.get('prices')?.settings.paused).toBe(true)
  fireEvent.click(detail.getByRole('button', { name: 'Resume' }))
  await waitFor(() => expect(detail.queryByText(notice)).toBeNull())
})

it('sets weight, retry, overlap and the distribution of eggs, and shows what differs from the default', async () => {
  open('/projects?project=prices')
  fireEvent.click(await screen.findByRole('button', { name: 'Settings…' }))
  const dialog = await dialogNamed('Settings of prices')
  fireEvent.change(dialog.getByLabelText('Weight'), { target: { value: 'much' } })
  expect(dialog.getByText('Enter a number')).toBeTruthy()
  fireEvent.change(dialog.getByLabelText('Weight'), { target: { value: '2' } })
  fireEvent.change(dialog.getByLabelText('Attempts'), { target: { value: '3' } })
  expect(dialog.getByText('up to 3 attempts if failed or lost, after 30 s, 1 min')).toBeTruthy()
  fireEvent.click(dialog.getByRole('checkbox', { name: /No overlap/ }))
  fireEvent.click(dialog.getByRole('radio', { name: 'Immediately' }))
  fireEvent.click(dialog.getByRole('button', { name: 'Save settings' }))
  await waitFor(() =>
    expect(engine.projects.get('prices')?.settings).toMatchObject({
      weight: 2,
      noOverlap: true,
      distribution: 'at_once',
      retry: { attempts: 3 }
    })
  )
  const detail = within(await screen.findByRole('region', { name: 'Project prices' }))
  expect(await detail.findByText('the active version goes to all active nodes immediately')).toBeTruthy()
})

it('warns if nodes disagree on the latest version', async () => {
  open('/projects?project=prices')
  const project = engine.projects.get('prices')!
  const versions = project.versions.map((one, index) => (index === 0 ? { ...one, orderWarning: 'Scrapyd 1.2 …' } : one))
  engine.projects.set('prices', { ...project, versions })
  const detail = within(await screen.findByRole('region', { name: 'Project prices' }))
  expect((await detail.findByRole('note')).textContent).toBe('Scrapyd 1.2 …')
  expect(detail.getByRole('img', { name: 'Nodes disagree on the latest version' })).toBeTruthy()
})

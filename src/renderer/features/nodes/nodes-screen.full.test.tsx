import { configure, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, expect, it } from 'vitest'
import type { Node } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { createFakeEngine, type FakeEngine } from '../../testing/fake-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'

configure({ asyncUtilTimeout: 8000 })

let engine: FakeEngine
let app: ReturnType<typeof renderApp>

function open(address: string, options: Parameters<typeof createFakeEngine>[0] = {}) {
  engine = createFakeEngine({ jobCount: 40, ...options })
  app = renderApp(engine, address)
}
afterEach(() => app.stop())

const rowOf = async (url: string) => within((await screen.findByTitle(url)).closest('li') as HTMLElement)

it('tests each pasted address and adds the valid ones, while the others stay visible for correction', async () => {
  open('/nodes?add=true')
  const dialog = within(await screen.findByRole('dialog', { name: 'Add nodes' }))
  fireEvent.change(dialog.getByLabelText('Addresses of Scrapyd servers', { exact: false }), {
    target: {
      value: 'https://a:b@good-1.example.net:6800/\ngood-2.example.net\ndown.example.net\neu-1.example.net:6800'
    }
  })
  await (await rowOf('https://good-1.example.net:6800/')).findByRole('img', { name: 'OK' })
  await (await rowOf('http://good-2.example.net:6800/')).findByText('The connection is not encrypted.')
  await (await rowOf('http://down.example.net:6800/')).findByText(/Nothing answers at down/)
  await (await rowOf('http://eu-1.example.net:6800/')).findByText('already in the fleet')
  expect(dialog.getByRole('status').textContent).toBe('2 OK · 1 already in the fleet · 1 cannot be added')

  fireEvent.change(dialog.getByLabelText('Name of http://good-2.example.net:6800/'), { target: { value: 'second' } })
  fireEvent.change(dialog.getByLabelText('Slots of http://good-2.example.net:6800/'), { target: { value: '3' } })
  fireEvent.click(dialog.getByRole('button', { name: 'Add 2 nodes' }))
  await waitFor(() => expect(screen.queryByTitle('https://good-1.example.net:6800/')).toBeNull())
  expect(
    [...engine.nodes.values()]
      .filter(({ name }) => ['good-1', 'second'].includes(name))
      .map(({ name, slots, username }) => ({ name, slots, username }))
  ).toEqual([
    { name: 'good-1', slots: 4, username: 'a' },
    { name: 'second', slots: 3, username: null }
  ])
  expect(screen.getByTitle('http://down.example.net:6800/')).toBeTruthy()
})

it('tests again with the missing password', async () => {
  open('/nodes?add=true')
  fireEvent.change(await screen.findByLabelText('Addresses of Scrapyd servers', { exact: false }), {
    target: { value: 'https://locked.example.net' }
  })
  await (await rowOf('https://locked.example.net/')).findByText(/The node requires a user name and a password/)
  fireEvent.click(screen.getByRole('button', { name: 'Credentials of https://locked.example.net/' }))
  fireEvent.change(await screen.findByLabelText('User name'), { target: { value: 'deploy' } })
  fireEvent.change(screen.getByLabelText('Password', { selector: 'input' }), { target: { value: 'secret' } })
  fireEvent.click(screen.getByRole('button', { name: 'Retry with these credentials' }))
  await (await rowOf('https://locked.example.net/')).findByRole('img', { name: 'OK' })
})

it('shows a change of a node without a reload', async () => {
  open('/nodes?node=eu-1')
  const detail = within(await screen.findByRole('complementary', { name: 'Node eu-1' }))
  fireEvent.click(detail.getByRole('button', { name: 'Cordon' }))
  await detail.findByText('Accepts no new jobs. Running jobs continue.')
  expect(engine.nodes.get('eu-1')?.mode).toBe('cordoned')
  engine.emit({
    kind: 'node',
    node: { ...engine.nodes.get('eu-1')!, health: 'down', problem: 'The node did not answer.' }
  })
  expect((await detail.findByRole('alert')).textContent).toContain('The node did not answer.')
})

it('shows the SSH tunnel of a node, and why it is down', async () => {
  open('/nodes?node=eu-1')
  const detail = within(await screen.findByRole('complementary', { name: 'Node eu-1' }))
  const url = 'ssh://ops@bastion:2222/http://10.0.0.5:6800/'
  const up = {
    host: 'ops@bastion:2222',
    state: 'up',
    sinceMs: Date.now() - 180_000,
    problem: null,
    retryAtMs: null
  } as const
  engine.emit({ kind: 'node', node: { ...engine.nodes.get('eu-1')!, url, tunnel: up } })
  const row = () => detail.getByText('ops@bastion:2222').closest('dd, div')!.textContent
  await detail.findByText('ops@bastion:2222')
  expect(row()).toMatch(/up · ops@bastion:2222 · for \d min/)
  const down = { ...up, state: 'down', problem: 'no SSH server listens there.', retryAtMs: Date.now() + 5_000 } as const
  engine.emit({ kind: 'node', node: { ...engine.nodes.get('eu-1')!, url, tunnel: down } })
  await detail.findByText('No SSH server listens there.')
  expect(row()).toContain('reconnects automatically')
})

it('says what will be lost before it removes a node that runs our jobs', async () => {
  open('/nodes?node=us-1')
  const ours = engine.nodes.get('us-1')!.runs.length
  expect(ours).toBeGreaterThan(0)
  fireEvent.click(await screen.findByRole('button', { name: 'More actions' }))
  fireEvent.click(await screen.findByRole('menuitem', { name: 'Remove node' }))
  const dialog = within(await screen.findByRole('dialog', { name: 'Remove us-1?' }))
  expect(dialog.getByText(/still running on this node will be marked as lost/)).toBeTruthy()
  expect(engine.calls).not.toContain('nodes.remove')
  fireEvent.click(dialog.getByRole('button', { name: 'Remove' }))
  await waitFor(() => expect(engine.nodes.has('us-1')).toBe(false))
})

/** Opens lab-a with these facts, and clicks "Remove node" after `shown` appears. */
async function removeLab(facts: Partial<Node>, shown: RegExp): Promise<void> {
  open('/nodes?node=lab-a')
  const detail = within(await screen.findByRole('complementary', { name: 'Node lab-a' }))
  engine.emit({ kind: 'node', node: { ...engine.nodes.get('lab-a')!, ...facts } })
  await detail.findByText(shown)
  fireEvent.click(screen.getByRole('button', { name: 'More actions' }))
  fireEvent.click(await screen.findByRole('menuitem', { name: 'Remove node' }))
}

it('removes a free node at once and restores it with all its settings on Undo', async () => {
  const settings: Partial<Node> = {
    queueAhead: 3,
    giveUpAfterSeconds: 600,
    group: 'lab',
    tags: ['eu'],
    mode: 'cordoned',
    proxyUrl: 'direct',
    slots: 7,
    slotsSource: 'set'
  }
  await removeLab(settings, /up to 3 queued ahead/)
  await waitFor(() => expect(engine.nodes.has('lab-a')).toBe(false))
  fireEvent.click(await screen.findByRole('button', { name: 'Undo' }))
  const restored = () => [...engine.nodes.values()].find(({ name }) => name === 'lab-a')
  await waitFor(() => expect(restored()).toMatchObject(settings))
})

it.each([
  ['client certificate', { hasClientCertificate: true }, /client certificate/],
  ['proxy', { proxyUrl: 'http://proxy:3128' }, /proxy:3128/]
])('asks before it removes a node whose %s it could not restore', async (what, facts, shown) => {
  await removeLab(facts, shown)
  const dialog = within(await screen.findByRole('dialog', { name: 'Remove lab-a?' }))
  expect(dialog.getByText(new RegExp(what))).toBeTruthy()
  expect(engine.nodes.has('lab-a')).toBe(true)
})

it('says why the nodes could not be loaded, and Retry loads them', async () => {
  engine = createFakeEngine()
  engine.failures.set('nodes.list', new ScrapdeckError('STOPPING', 'Scrapdeck is stopping. Start it again.'))
  app = renderApp(engine, '/nodes')
  const alert = within(await screen.findByRole('alert', {}, { timeout: 3000 }))
  expect(alert.getByText(/Could not load the nodes: scrapdeck is stopping/i)).toBeTruthy()
  engine.failures.clear()
  fireEvent.click(alert.getByRole('button', { name: 'Retry' }))
  await screen.findByText('eu-1')
})

it('shows which Python the local node uses, and the live usage of each run', async () => {
  open('/nodes?node=local')
  const detail = within(await screen.findByRole('complementary', { name: 'Node this computer' }))
  expect(detail.getByText('Python 3.13.2, Scrapy 2.13.3', { selector: 'span' })).toBeTruthy()
  expect(detail.getByText('warm').parentElement?.textContent).toContain('already loaded')
  const local = engine.nodes.get('local')!
  const [run] = local.runs
  const usage = { atMs: Date.now(), memoryBytes: 200 * 1_048_576, cpuShare: 1.5, processes: 3 }
  engine.emit({ kind: 'node', node: { ...local, runs: [{ ...run!, usage }] } })
  const row = within((await detail.findByText('200 MB')).closest('tr') as HTMLElement)
  expect(row.getByText('150 %').title).toBe('Share of one core, 3 processes')
  engine.emit({
    kind: 'node',
    node: { ...local, python: { ...local.python!, start: { mode: 'cold', text: 'Windows has no fork.' } } }
  })
  expect((await detail.findByText('Windows has no fork.')).parentElement?.textContent).toContain('cold')
})

it('lists the environments with their users, shows a build log, rebuilds, and removes only unused ones', async () => {
  open('/nodes?node=local', { stepMs: 100 })
  const environments = within(await screen.findByRole('region', { name: 'Environments' }))
  const failed = within(await environments.findByRole('listitem', { name: /c05d2e88/ }))
  expect(failed.getByRole('alert').textContent).toContain('found for shapely')
  fireEvent.click(failed.getByRole('button', { name: 'Build log' }))
  const log = within(await screen.findByRole('dialog', { name: /c05d2e88: build log/ }))
  await waitFor(() => expect(log.getByRole('log').textContent).toContain('ERROR: The packages could not be installed'))
  expect(app.router.state.location.search).toMatchObject({ node: 'local', log: 'c05d2e8817ab' })
  fireEvent.click(log.getByRole('button', { name: 'Close' }))

  expect(failed.getByRole('button', { name: 'Rebuild' })).toBeTruthy()
  fireEvent.click(failed.getByRole('button', { name: /^More actions for/ }))
  expect((await screen.findByRole('menuitem', { name: 'Remove…' })).hasAttribute('disabled')).toBe(true)
  fireEvent.click(screen.getByRole('menuitem', { name: 'Rebuild' }))
  await failed.findByText('building')
  await failed.findByText('ready')

  fireEvent.click(environments.getByRole('button', { name: 'More actions for Interpreter' }))
  fireEvent.click(await screen.findByRole('menuitem', { name: 'Remove…' }))
  const dialog = within(await screen.findByRole('dialog', { name: 'Remove Interpreter?' }))
  fireEvent.click(dialog.getByRole('button', { name: 'Remove' }))
  await waitFor(() => expect(engine.environments.has('19ac44de0b73')).toBe(false))
  await waitFor(() => expect(environments.getAllByRole('listitem')).toHaveLength(3))
})

it('creates a missing Python from the local node itself', async () => {
  engine = createFakeEngine({ firstRun: true, python: 'missing' })
  engine.nodes.set('local', { ...engine.nodes.get('local')!, python: null })
  app = renderApp(engine, '/nodes?node=local')
  const detail = within(await screen.findByRole('complementary', { name: 'Node this computer' }))
  expect(await detail.findByText(/Spiders cannot run on this node/)).toBeTruthy()
  fireEvent.click(detail.getByRole('button', { name: 'Create environment' }))
  await waitFor(() => expect(engine.calls).toContain('system.createEnvironment'))
})

it("sets a node's policies: jobs queued ahead, give up after, group and proxy", async () => {
  open('/nodes?node=eu-1')
  const detail = within(await screen.findByRole('complementary', { name: 'Node eu-1' }))
  expect(detail.getByText(/never \(jobs stay “unknown”/)).toBeTruthy()
  fireEvent.click(detail.getByRole('button', { name: 'Change' }))
  fireEvent.change(detail.getByLabelText('Queue ahead'), { target: { value: '3' } })
  fireEvent.change(detail.getByLabelText('Give up after'), { target: { value: '15' } })
  expect(detail.getByText('Add a unit: 15 s or 15 min')).toBeTruthy()
  fireEvent.change(detail.getByLabelText('Give up after'), { target: { value: '15 min' } })
  fireEvent.change(detail.getByLabelText('Group', { selector: 'input' }), { target: { value: 'Frankfurt' } })
  fireEvent.change(detail.getByLabelText('Proxy'), { target: { value: 'direct' } })
  fireEvent.change(detail.getByLabelText('Client certificate'), { target: { value: 'PEM' } })
  fireEvent.click(detail.getByRole('button', { name: 'Save node' }))
  expect(await detail.findByText('A client certificate and its key belong together')).toBeTruthy()
  fireEvent.change(detail.getByLabelText('Client key'), { target: { value: 'KEY' } })
  fireEvent.click(detail.getByRole('button', { name: 'Save node' }))
  await waitFor(() =>
    expect(engine.nodes.get('eu-1')).toMatchObject({
      queueAhead: 3,
      giveUpAfterSeconds: 900,
      group: 'Frankfurt',
      proxyUrl: 'direct',
      hasClientCertificate: true
    })
  )
  expect(await detail.findByText(/15 min \(its jobs then run on other nodes\)/)).toBeTruthy()
})

it('shows since when a node is silent or stuck, and how its number of slots was determined', async () => {
  open('/nodes')
  const table = within(await screen.findByRole('grid', { name: 'Nodes' }))
  const rowOf = async (name: string) => (await table.findByText(name)).closest('[role=row]')!.textContent
  expect(await rowOf('eu-4')).toMatch(/down 4 min/)
  expect(await rowOf('us-2')).toMatch(/stuck 4 min/)
})

it('marks a stuck node as a problem although it responds, and says what happens to its jobs and what to do', async () => {
  open('/nodes')
  fireEvent.click(await within(await screen.findByRole('grid', { name: 'Nodes' })).findByText('us-2'))
  const detail = within(await screen.findByRole('complementary', { name: 'Node us-2' }))
  expect(detail.getByRole('img', { name: 'stuck' })).toBeTruthy()
  expect(detail.getByRole('alert').textContent).toMatch(/has not started any for 4 min.*withdrawn.*Restart Scrapyd/)
})

it('narrows the table to a group, with the group in the address', async () => {
  open('/nodes')
  const groups = within(await screen.findByRole('toolbar', { name: 'Groups' }))
  fireEvent.click(groups.getByRole('button', { name: /Asia/ }))
  const table = within(await screen.findByRole('grid', { name: 'Nodes' }))
  await waitFor(() => expect(table.queryByText('eu-1')).toBeNull())
  expect(table.getByText('ap-1')).toBeTruthy()
  expect(app.router.state.location.search).toMatchObject({ group: 'Asia' })
})

it('says what keeps the slot of a run whose spider has ended', async () => {
  engine = createFakeEngine({ jobCount: 40 })
  const [job] = engine.jobs.values()
  const node = [...engine.nodes.values()].find(({ name }) => name === 'eu-1')!
  const { id: jobId, jobid, project, spider } = job!
  const held = { jobId, jobid, project, spider, state: 'running', isHeldOpen: true } as const
  engine.nodes.set(node.id, { ...node, runs: [{ ...held, sinceMs: 0, pid: 1, usage: null }] })
  app = renderApp(engine, '/nodes?node=eu-1')
  const words = await screen.findByText('ended, held open')
  expect(words.title).toContain('something that it started keeps its process on the node open')
  expect(words.closest('li')!.querySelector('a')!.textContent).toBe(`${project}/${spider}`)
})

it('adopts an external job, and cancels one', async () => {
  open('/nodes?node=ap-1')
  const detail = within(await screen.findByRole('complementary', { name: 'Node ap-1' }))
  const menus = await detail.findAllByRole('button', { name: 'More actions for legacy/catalogue, external' })
  expect(menus).toHaveLength(2)
  fireEvent.click(menus[0]!)
  fireEvent.click(await screen.findByRole('menuitem', { name: 'Cancel' }))
  await waitFor(() => expect(engine.nodes.get('ap-1')?.runs.filter(({ jobId }) => jobId === null)).toHaveLength(1))
  fireEvent.click(await detail.findByRole('button', { name: 'More actions for legacy/catalogue, external' }))
  fireEvent.click(await screen.findByRole('menuitem', { name: 'Adopt job' }))
  await waitFor(() => expect([...engine.jobs.values()].some(({ source }) => source === 'adopted')).toBe(true))
  expect(app.router.state.location.pathname).toBe('/jobs')
})

it('Esc closes only an open menu, not the node below it', async () => {
  open('/nodes?node=ap-1')
  const detail = within(await screen.findByRole('complementary', { name: 'Node ap-1' }))
  fireEvent.click(detail.getByRole('button', { name: 'More actions' }))
  fireEvent.keyDown(await screen.findByRole('menuitem', { name: 'Edit' }), { key: 'Escape' })
  await waitFor(() => expect(screen.queryByRole('menu')).toBeNull())
  expect(app.router.state.location.search).toMatchObject({ node: 'ap-1' })
  fireEvent.keyDown(document.body, { key: 'Escape' })
  await waitFor(() => expect(app.router.state.location.search).not.toHaveProperty('node'))
})

it('shows when an open node last responded, even if the response brings no change', async () => {
  open('/nodes?node=ap-1')
  const detail = within(await screen.findByRole('complementary', { name: 'Node ap-1' }))
  const node = engine.nodes.get('ap-1')!
  engine.nodes.set('ap-1', { ...node, lastSeenAtMs: (node.lastSeenAtMs ?? 0) + 1000, latencyMs: 777 })
  expect(await detail.findByText(/latency 777 ms/)).toBeTruthy()
})

it('shows on the node that it is cordoned because its source no longer lists it', async () => {
  open('/nodes?node=us-2')
  engine.nodes.set('us-2', { ...engine.nodes.get('us-2')!, sourceId: 'kubernetes', mode: 'cordoned' })
  const pane = within(await screen.findByRole('complementary', { name: 'Node us-2' }))
  const note = await pane.findByRole('note', { name: 'No longer listed' })
  expect(note.textContent).toMatch(/^kubernetes has not listed this node for 1 h.*, so it is cordoned\./)
  const [source] = engine.sources.values()
  const vanishedNodes = source!.vanishedNodes.map((vanished) => ({ ...vanished, isCordonedForIt: false }))
  engine.sources.set(source!.id, { ...source!, vanishedNodes })
  engine.emit({ kind: 'discovery' })
  await waitFor(() => expect(note.textContent).toContain('The mode that you set is kept'))
  engine.sources.set(source!.id, { ...source!, vanishedNodes: [] })
  engine.emit({ kind: 'discovery' })
  await waitFor(() => expect(pane.queryByRole('note')).toBeNull())
})

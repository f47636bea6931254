import { configure, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, expect, it, onTestFinished } from 'vitest'
import type { SceneName } from '../../../shared/testing/screens.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { useRemoteEngines } from '../../state/remote-engines.ts'
import { openRealEngine, type RealEngine } from '../../testing/real-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'

configure({ asyncUtilTimeout: 8000 })

let engine: RealEngine
let app: ReturnType<typeof renderApp>
async function open(
  address = '/alerts',
  scene: SceneName = 'fleet',
  options: Parameters<typeof openRealEngine>[1] = {}
) {
  engine = await openRealEngine(scene, options)
  app = renderApp(engine, address)
}
afterEach(() => app.stop())

const table = async () => within(await screen.findByRole('grid', { name: 'Alerts' }))
const pane = async () => within(await screen.findByRole('complementary', { name: 'Alert' }))
const alerts = async () => (await engine.client.alerts.list({})).alerts
const alertOf = async (subject: string) => (await alerts()).find((one) => one.subject === subject)!
const openAlert = async (subject: string) =>
  fireEvent.click((await (await table()).findAllByText(subject)).find((one) => one.tagName === 'STRONG')!)

it('lists firing alerts first, the worst on top, with who acknowledged them and why no message is sent, then ended ones', async () => {
  await open()
  const rows = (await (await table()).findAllByRole('row')).slice(1)
  const texts = rows.map(({ textContent }) => textContent ?? '')
  expect(texts[0]).toMatch(/critical.*us-2.*is down.*A node does not respond/)
  expect(texts.findIndex((text) => text.includes('ended'))).toBe(6)
  expect(texts.filter((text) => text.includes('acknowledged by ben'))).toHaveLength(1)
  expect(texts.some((text) => text.includes('node cordoned'))).toBe(true)
  expect(texts.some((text) => text.includes('flapping'))).toBe(true)
  expect(texts.at(-1)).toMatch(/ap-2.*lasted \d min/)
  expect(await screen.findByText('6 firing · 3 not acknowledged')).toBeTruthy()
})

it('acknowledges one alert in its row, and several that are marked', async () => {
  await open()
  fireEvent.click(await screen.findByRole('button', { name: 'Acknowledge us-2' }))
  await waitFor(async () => expect((await alertOf('us-2')).acknowledged?.by).toBe('the owner'))
  expect(await screen.findByText('6 firing · 2 not acknowledged')).toBeTruthy()
  const boxes = (await table()).getAllByRole('checkbox')
  fireEvent.click(boxes[0]!)
  const bar = within(await screen.findByRole('toolbar', { name: 'Selected alerts' }))
  fireEvent.click(bar.getByRole('button', { name: 'Acknowledge 4' }))
  expect(await screen.findByText('4 alerts acknowledged')).toBeTruthy()
  expect((await alerts()).every(({ state, acknowledged }) => state !== 'firing' || acknowledged !== null)).toBe(true)
})

it('takes an acknowledgement back, by Undo or in its details', async () => {
  await open()
  fireEvent.click(await screen.findByRole('button', { name: 'Acknowledge us-2' }))
  expect(await screen.findByText('us-2 acknowledged')).toBeTruthy()
  fireEvent.click(screen.getByRole('button', { name: 'Undo' }))
  await waitFor(async () => expect((await alertOf('us-2')).acknowledged).toBeNull())
  const taken = (await alerts()).find(({ acknowledged }) => acknowledged?.by === 'ben')!
  await app.router.navigate({ to: '/alerts', search: { alert: taken.id } })
  fireEvent.click((await pane()).getByRole('button', { name: 'Unacknowledge' }))
  expect(await (await pane()).findByText('not yet')).toBeTruthy()
  expect((await pane()).getByRole('button', { name: 'Acknowledge' })).toBeTruthy()
})

it('silences the node of an alert for some time, and Undo ends the silence', async () => {
  await open()
  await openAlert('us-2')
  fireEvent.click((await pane()).getByRole('button', { name: 'Silence…' }))
  const dialog = within(await screen.findByRole('dialog', { name: 'Silence us-2' }))
  await waitFor(() => expect(dialog.getByRole('combobox', { name: 'Node' })).toHaveProperty('value', 'us-2'))
  fireEvent.click(dialog.getByRole('radio', { name: '4 h' }))
  fireEvent.change(dialog.getByLabelText('Comment'), { target: { value: 'new disks' } })
  fireEvent.click(dialog.getByRole('button', { name: 'Silence' }))
  await waitFor(async () => expect((await alertOf('us-2')).muted).toBe('silenced'))
  const made = (await engine.client.alertSilences.list()).silences.find(({ nodeId }) => nodeId !== null)!
  expect(made).toMatchObject({
    nodeId: (await alertOf('us-2')).labels.nodeId,
    project: null,
    ruleId: null,
    comment: 'new disks'
  })
  expect(made.untilMs - made.fromMs).toBeGreaterThan(3.9 * 3_600_000)
  fireEvent.click(await screen.findByRole('button', { name: 'Undo' }))
  await waitFor(async () => expect((await alertOf('us-2')).muted).toBeNull())
})

it('links to the subject, says why no message is sent, and opens its rule', async () => {
  await open()
  const waits = (await alerts()).find(({ watch }) => watch === 'job_waits_long')!
  await app.router.navigate({ to: '/alerts', search: { alert: waits.id } })
  const shown = await pane()
  expect(shown.getByText(/A silence matches this alert/)).toBeTruthy()
  expect(shown.getByRole('link', { name: 'Open job' }).getAttribute('href')).toBe(`/jobs?job=${waits.labels.jobId}`)
  fireEvent.click(await shown.findByRole('button', { name: 'Edit rule…' }))
  expect(await screen.findByRole('dialog', { name: 'Edit A job waits longer than an hour' })).toBeTruthy()
})

it('shows what to do, the chart of the figure and the end of the log, and links to the log', async () => {
  await open()
  const failing = (await alerts()).find(({ watch }) => watch === 'spider_fails')!
  await app.router.navigate({ to: '/alerts', search: { alert: failing.id } })
  const shown = await pane()
  expect(shown.getByText(/^Open the job: the end of its log usually says why it failed/)).toBeTruthy()
  const chart = within(await shown.findByRole('figure'))
  expect(chart.getByText(`Outcomes of the last 8 runs of ${failing.subject}`)).toBeTruthy()
  expect(chart.getByText('Tall bars are failed runs: 4 of 8, the last 4 in a row.')).toBeTruthy()
  const log = shown.getByLabelText(`Last log lines of ${failing.subject}`)
  // Terminal colors are removed.
  expect(log.textContent).toContain('] ERROR: Spider error processing <GET')
  expect(log.textContent).toMatch(/INFO: Spider closed \(shutdown\)$/)
  const { jobId } = failing.labels
  expect(shown.getByRole('link', { name: 'Open log' }).getAttribute('href')).toContain(jobId)
})

it('shows no evidence if there is none, and says why it could not be loaded', async () => {
  await open()
  await openAlert('us-2')
  await waitFor(() => expect(engine.calls).toContain('alerts.evidence'))
  const shown = await pane()
  expect(shown.getByText(/^Check that the node runs/)).toBeTruthy()
  expect(shown.queryByRole('figure')).toBeNull()
  expect(shown.queryByRole('link', { name: 'Open log' })).toBeNull()
  engine.failures.set('alerts.evidence', new ScrapdeckError('TOO_MANY_REQUESTS', 'Try again in a moment.'))
  const failing = (await alerts()).find(({ watch }) => watch === 'spider_fails')!
  await app.router.navigate({ to: '/alerts', search: { alert: failing.id } })
  expect(await (await pane()).findByText(/Try again in a moment/)).toBeTruthy()
  engine.failures.clear()
  fireEvent.click((await pane()).getByRole('button', { name: 'Retry' }))
  expect(await (await pane()).findByRole('figure')).toBeTruthy()
})

it('gives no advice for an ended alert, and requests no evidence from an engine without it', async () => {
  engine = await openRealEngine('fleet')
  useRemoteEngines.setState({ current: { lacks: ['alerts.evidence'] } as never })
  onTestFinished(() => useRemoteEngines.setState({ current: null }))
  app = renderApp(engine, '/alerts')
  const over = (await alerts()).find(({ watch, state }) => watch === 'spider_items' && state === 'resolved')!
  await table()
  await app.router.navigate({ to: '/alerts', search: { alert: over.id } })
  expect((await pane()).getByRole('heading', { name: over.subject })).toBeTruthy()
  expect((await pane()).queryByText('What to do')).toBeNull()
  expect(engine.calls).not.toContain('alerts.evidence')
})

it('keeps the filter in the address', async () => {
  await open()
  await table()
  fireEvent.click(screen.getByRole('radio', { name: 'Ended' }))
  await waitFor(() => expect(app.router.state.location.search).toEqual({ state: 'resolved' }))
  await waitFor(async () => expect((await (await table()).findAllByRole('row')).length).toBe(6))
  const quiet = (await engine.client.alertRules.list()).rules.find(({ watch }) => watch === 'disk_free')!
  await app.router.navigate({ to: '/alerts', search: { rule: quiet.id } })
  expect(await screen.findByText('No matching alerts')).toBeTruthy()
  fireEvent.click(screen.getAllByRole('button', { name: 'Clear filter' })[0]!)
  expect(await (await table()).findAllByText('us-2')).toBeTruthy()
})

it('explains alerts while there are no rules, and adds the usual ones', async () => {
  await open('/alerts', 'empty')
  fireEvent.click(await screen.findByRole('button', { name: 'Add recommended rules' }))
  const dialog = within(await screen.findByRole('dialog', { name: 'Add recommended rules' }))
  expect(await dialog.findByText(/There is no channel yet/)).toBeTruthy()
  fireEvent.click(dialog.getByRole('checkbox', { name: /At least 1,000 jobs are waiting/ }))
  fireEvent.click(dialog.getByRole('button', { name: 'Add 9 rules' }))
  await waitFor(async () => expect((await engine.client.alertRules.list()).rules).toHaveLength(9))
  expect((await engine.client.alertRules.list()).rules.map(({ name }) => name)).toContain(
    'A node does not respond for 2 min'
  )
  expect(await screen.findByText('No alerts')).toBeTruthy()
})

it('says why alerts could not be loaded, and tries again', async () => {
  engine = await openRealEngine('fleet')
  engine.failures.set('alerts.list', new ScrapdeckError('DATA_DIRECTORY_UNUSABLE', 'The disk is full.'))
  app = renderApp(engine, '/alerts')
  expect(await screen.findByText(/Could not load the alerts/)).toBeTruthy()
  engine.failures.clear()
  fireEvent.click(screen.getByRole('button', { name: 'Retry' }))
  expect(await (await table()).findAllByText('us-2')).toBeTruthy()
})

it('a viewer reads alerts and rules, but cannot acknowledge or change them', async () => {
  await open('/alerts', 'fleet', { role: 'viewer' })
  await screen.findByRole('button', { name: 'Account of anna, viewer' })
  await openAlert('us-2')
  const shown = await pane()
  expect(shown.queryByRole('button', { name: 'Acknowledge' })).toBeNull()
  expect(shown.queryByRole('button', { name: 'Silence…' })).toBeNull()
  const taken = (await alerts()).find(({ acknowledged }) => acknowledged?.by === 'ben')!
  await app.router.navigate({ to: '/alerts', search: { alert: taken.id } })
  expect((await pane()).queryByRole('button', { name: 'Unacknowledge' })).toBeNull()
  await openAlert('us-2')
  expect(shown.getByRole('link', { name: 'Open node' })).toBeTruthy()
  expect((await table()).queryByRole('checkbox')).toBeNull()
  expect(screen.queryByRole('button', { name: 'New rule' })).toBeNull()
  await app.router.navigate({ to: '/alerts/rules' })
  const rule = within(await screen.findByRole('listitem', { name: 'Rule New errors' }))
  expect(rule.getByRole('switch')).toHaveProperty('disabled', true)
  expect(rule.getByRole('switch').getAttribute('title')).toMatch(/Needs the permission “change alert rules”/)
  expect(rule.queryByRole('button')).toBeNull()
  await app.router.navigate({ to: '/alerts/channels' })
  expect(await screen.findByText('You do not have permission to see the channels')).toBeTruthy()
  expect(engine.calls).not.toContain('alertChannels.list')
})

it('the bell counts alerts that need attention, and lists them', async () => {
  await open('/')
  const bell = await screen.findByRole('button', { name: 'Alerts: 3 to acknowledge, highest severity: critical' })
  fireEvent.click(bell)
  expect(await screen.findByText('3 others acknowledged or muted')).toBeTruthy()
  fireEvent.click(screen.getByRole('link', { name: /critical us-2/ }))
  expect(await (await pane()).findByRole('heading', { name: 'us-2' })).toBeTruthy()
  await engine.client.alerts.acknowledge({ ids: (await alerts()).map(({ id }) => id) })
  expect(await screen.findByRole('button', { name: 'Alerts: none to acknowledge' })).toBeTruthy()
})

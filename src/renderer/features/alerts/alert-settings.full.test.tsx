import { configure, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, expect, it } from 'vitest'
import { openRealEngine, type RealEngine } from '../../testing/real-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'

configure({ asyncUtilTimeout: 8000 })

let engine: RealEngine
let app: ReturnType<typeof renderApp>
async function open(address: string) {
  engine = await openRealEngine()
  app = renderApp(engine, address)
}
afterEach(() => app.stop())

const rules = async () => (await engine.client.alertRules.list()).rules
const ruleOf = async (name: string) => (await rules()).find((one) => one.name === name)
const channels = async () => (await engine.client.alertChannels.list()).channels
const channelOf = async (name: string) => (await channels()).find((one) => one.name === name)
const row = async (name: string) => within(await screen.findByRole('listitem', { name }))
const dialog = async (name: string) => within(await screen.findByRole('dialog', { name }))
const choose = async (field: HTMLElement, option: string) => {
  fireEvent.click(field)
  fireEvent.click(await screen.findByRole('option', { name: option }))
}

it('shows each rule as a sentence with its noise, turns it off, and finds it by its watch', async () => {
  await open('/alerts/rules')
  const news = await row('Rule news: fewer than 20 items')
  expect(news.getByText('When a run of any spider of news has at most 20 items')).toBeTruthy()
  expect(await news.findByText('notifies #crawl-alerts')).toBeTruthy()
  expect(news.getByText(/^Fired 5 times, acted on none/i)).toBeTruthy()
  fireEvent.click(news.getByRole('switch'))
  await waitFor(async () => expect((await ruleOf('news: fewer than 20 items'))?.enabled).toBe(false))
  fireEvent.change(screen.getByRole('textbox', { name: 'Filter rules' }), { target: { value: 'osm_poi' } })
  await waitFor(() => expect(screen.getAllByRole('listitem', { name: /^Rule / })).toHaveLength(1))
})

it('creates a rule: its watch sets usual values, errors are at their fields, and a name is suggested', async () => {
  await open('/alerts/rules')
  fireEvent.click(await screen.findByRole('button', { name: 'New rule' }))
  const editor = await dialog('New alert rule')
  await choose(editor.getByRole('combobox', { name: 'Notify when' }), 'a job waits too long')
  const lasting = editor.getByLabelText('For at least')
  expect(lasting).toHaveProperty('value', '1 h')
  expect(editor.queryByLabelText(/^(At least|Threshold)/)).toBeNull()
  fireEvent.change(lasting, { target: { value: '5' } })
  fireEvent.click(editor.getByRole('button', { name: 'Add rule' }))
  expect(await editor.findByText('Add a unit: 5 s or 5 min')).toBeTruthy()
  fireEvent.change(lasting, { target: { value: '90 min' } })
  await choose(editor.getByRole('combobox', { name: 'Project' }), 'prices')
  await choose(editor.getByRole('combobox', { name: 'Channels' }), 'on-call')
  expect(editor.getByText('Fires when a job of any spider of prices waits for longer than 1 h 30 min.')).toBeTruthy()
  fireEvent.click(editor.getByRole('button', { name: 'Add rule' }))
  const name = 'A job of any spider of prices waits for longer than 1 h 30 min'
  await waitFor(async () =>
    expect(await ruleOf(name)).toMatchObject({ project: 'prices', forSeconds: 5_400, severity: 'warning' })
  )
  const onCall = (await channelOf('on-call'))!
  expect((await ruleOf(name))?.channels).toEqual([onCall.id])
})

it('edits a rule with escalation, reports a concurrent change, duplicates and removes the rule', async () => {
  await open('/alerts/rules')
  fireEvent.click(await screen.findByRole('button', { name: 'Edit New errors' }))
  const editor = await dialog('Edit New errors')
  fireEvent.click(editor.getByRole('button', { name: /Grouping, repeats, escalation/ }))
  fireEvent.change(editor.getByLabelText('Escalate after'), { target: { value: '30 min' } })
  await choose(editor.getByRole('combobox', { name: 'Escalate to' }), 'on-call')
  const before = (await ruleOf('New errors'))!
  await engine.client.alertRules.update({ ...before, owner: 'somebody' })
  fireEvent.click(editor.getByRole('button', { name: 'Save rule' }))
  expect(await editor.findByText(/was changed in the meantime/)).toBeTruthy()
  fireEvent.click(editor.getByRole('button', { name: 'Cancel' }))
  await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull())

  fireEvent.click(screen.getByRole('button', { name: 'More actions for New errors' }))
  fireEvent.click(await screen.findByRole('menuitem', { name: 'Duplicate…' }))
  fireEvent.click((await dialog('New alert rule')).getByRole('button', { name: 'Add rule' }))
  await waitFor(async () => expect(await ruleOf('New errors (copy)')).toMatchObject({ watch: 'error_appears' }))

  fireEvent.click(screen.getByRole('button', { name: 'More actions for New errors' }))
  fireEvent.click(await screen.findByRole('menuitem', { name: 'Remove…' }))
  fireEvent.click((await dialog('Remove New errors?')).getByRole('button', { name: 'Remove' }))
  await waitFor(async () => expect(await ruleOf('New errors')).toBeUndefined())
})

it('opens the editor for the spider of a job and for a node, with two clicks', async () => {
  await open('/jobs')
  const { jobs } = await engine.client.jobs.list({ limit: 1 })
  const { id, project, spider } = jobs[0]!
  await app.router.navigate({ to: '/jobs', search: { job: id } })
  const job = within(await screen.findByRole('complementary', { name: 'Job' }))
  fireEvent.click(await job.findByRole('button', { name: 'Notify me when…' }))
  fireEvent.click(await screen.findByRole('menuitem', { name: 'this spider fails 3 times in a row' }))
  const editor = await dialog('New alert rule')
  expect(await editor.findByText(`Fires when the last 3 runs of ${project}/${spider} fail or are lost.`)).toBeTruthy()
  fireEvent.click(editor.getByRole('button', { name: 'Add rule' }))
  await waitFor(async () => expect((await rules()).at(-1)).toMatchObject({ project, spider, threshold: 3 }))

  const eu1 = (await engine.client.nodes.list()).nodes.find(({ name }) => name === 'eu-1')
  await app.router.navigate({ to: '/nodes', search: { node: eu1!.id } })
  fireEvent.click(await screen.findByRole('button', { name: 'Notify me when…' }))
  fireEvent.click(await screen.findByRole('menuitem', { name: 'this node is down' }))
  expect(await (await dialog('New alert rule')).findByText('Fires when eu-1 does not respond for 2 min.')).toBeTruthy()
})

it('adds a maintenance window from the palette, shows when it is next, and removes it, with Undo', async () => {
  const silences = async () => (await engine.client.alertSilences.list()).silences
  await open('/')
  fireEvent.click(await screen.findByRole('button', { name: 'Search or run a command' }))
  const search = await screen.findByRole('textbox', { name: 'Search or run a command' })
  fireEvent.change(search, { target: { value: 'maintenance window' } })
  fireEvent.click(await screen.findByText('Add maintenance window…'))
  const form = await dialog('Add maintenance window')
  await choose(form.getByRole('combobox', { name: 'Project' }), 'maps')
  await choose(form.getByRole('combobox', { name: 'On' }), 'Saturday')
  fireEvent.change(form.getByLabelText('From'), { target: { value: '22:00' } })
  fireEvent.change(form.getByLabelText(/^Until/), { target: { value: '06:00' } })
  expect(form.getByLabelText('Until (next day)')).toBeTruthy()
  fireEvent.change(form.getByRole('combobox', { name: 'Time zone' }), { target: { value: 'Asia/Tokyo' } })
  fireEvent.click(form.getByRole('button', { name: 'Add maintenance window' }))
  const words = 'every Saturday 22:00–06:00 (Asia/Tokyo)'
  expect(await screen.findByText(`project maps silenced ${words}`)).toBeTruthy()
  const shown = await row('Silence of project maps')
  expect(shown.getByText(words)).toBeTruthy()
  expect(shown.getByText(/^(next in|until) /)).toBeTruthy()
  const ofMaps = async () => (await silences()).find(({ project }) => project === 'maps')
  const made = (await ofMaps())!
  expect(made).toMatchObject({ project: 'maps', repeats: { every: 'week', zone: 'Asia/Tokyo', endsMs: null } })
  expect(made.untilMs - made.fromMs).toBe(8 * 3_600_000)
  fireEvent.click(shown.getByRole('button', { name: /^Remove the silence/ }))
  await waitFor(async () => expect(await silences()).toHaveLength(2))
  fireEvent.click(screen.getAllByRole('button', { name: 'Undo' })[0]!)
  await waitFor(async () => expect(await ofMaps()).toMatchObject({ fromMs: made.fromMs }))
})

it('ends a silence, with Undo, and adds a future one before a maintenance', async () => {
  const silences = async () => (await engine.client.alertSilences.list()).silences
  await open('/alerts/silences')
  const gpu = await row('Silence of the rule A job waits longer than an hour')
  expect(gpu.getByText('by ben')).toBeTruthy()
  fireEvent.click(gpu.getByRole('button', { name: /^End the silence/ }))
  await waitFor(async () => expect(await silences()).toHaveLength(1))
  fireEvent.click(await screen.findByRole('button', { name: 'Undo' }))
  await waitFor(async () => expect(await silences()).toHaveLength(2))
  fireEvent.click(screen.getByRole('button', { name: 'Add silence' }))
  const form = await dialog('Add silence')
  expect(form.getByText('If you choose nothing, all alerts are silenced.')).toBeTruthy()
  await choose(form.getByRole('combobox', { name: 'Project' }), 'maps')
  fireEvent.click(form.getByRole('radio', { name: 'Until…' }))
  fireEvent.click(form.getByRole('button', { name: 'Silence' }))
  expect(await form.findByText('Enter a date and time')).toBeTruthy()
  fireEvent.click(form.getByRole('radio', { name: 'Tomorrow 9:00' }))
  fireEvent.click(form.getByRole('button', { name: 'Silence' }))
  await waitFor(async () => expect((await silences()).map(({ project }) => project)).toContain('maps'))
})

it('adds a channel with its secret, keeps it when edited, and removes it', async () => {
  await open('/alerts/channels')
  fireEvent.click(await screen.findByRole('button', { name: 'Add channel' }))
  const form = await dialog('Add channel')
  await choose(form.getByRole('combobox', { name: 'Kind' }), 'Telegram')
  fireEvent.click(form.getByRole('button', { name: 'Add channel' }))
  expect(await form.findAllByText('Required')).toHaveLength(2)
  fireEvent.change(form.getByLabelText('Chat'), { target: { value: '-100123' } })
  fireEvent.change(form.getByLabelText('Bot token'), { target: { value: '123:ABC' } })
  fireEvent.click(form.getByRole('button', { name: 'Add channel' }))
  await waitFor(async () =>
    expect(await channelOf('-100123')).toMatchObject({
      hasSecret: true,
      target: { kind: 'telegram' },
      messagesPerHour: 60
    })
  )
  fireEvent.click(await screen.findByRole('button', { name: 'More actions for -100123' }))
  fireEvent.click(await screen.findByRole('menuitem', { name: 'Edit…' }))
  const editor = await dialog('Edit -100123')
  expect(editor.getByPlaceholderText('stored; type to replace')).toHaveProperty('value', '')
  fireEvent.change(editor.getByLabelText('Name'), { target: { value: 'ops chat' } })
  fireEvent.click(editor.getByRole('checkbox', { name: /^Quiet hours/ }))
  fireEvent.click(editor.getByRole('button', { name: 'Save channel' }))
  await waitFor(async () =>
    expect(await channelOf('ops chat')).toMatchObject({ hasSecret: true, quiet: { from: '22:00' } })
  )
  fireEvent.click(await screen.findByRole('button', { name: 'More actions for ops chat' }))
  fireEvent.click(await screen.findByRole('menuitem', { name: 'Edit…' }))
  const again = await dialog('Edit ops chat')
  fireEvent.click(again.getByRole('radio', { name: 'each week' }))
  await choose(again.getByRole('combobox', { name: 'On' }), 'Friday')
  fireEvent.change(again.getByLabelText('At'), { target: { value: '08:30' } })
  fireEvent.change(again.getByRole('combobox', { name: 'Time zone of the report' }), {
    target: { value: 'Europe/Berlin' }
  })
  fireEvent.click(again.getByRole('button', { name: 'Save channel' }))
  expect(await (await row('Channel ops chat')).findByText('Report each Friday at 08:30 (Europe/Berlin)')).toBeTruthy()
  fireEvent.click(await screen.findByRole('button', { name: 'More actions for ops chat' }))
  fireEvent.click(await screen.findByRole('menuitem', { name: 'Remove…' }))
  fireEvent.click((await dialog('Remove ops chat?')).getByRole('button', { name: 'Remove' }))
  await waitFor(async () => expect((await channels()).map(({ name }) => name)).not.toContain('ops chat'))
})

it('shows the limit of a channel and its held messages, and removes the limit', async () => {
  await open('/alerts/channels')
  const slack = await row('Channel #crawl-alerts')
  expect(slack.getByText('Slack · up to 2 messages an hour')).toBeTruthy()
  expect(slack.getByRole('status').textContent).toMatch(
    /^\d messages? (is|are) held by the limit, the next until \d\d:\d\d\. See all alerts$/
  )
  fireEvent.click(slack.getByRole('button', { name: 'More actions for #crawl-alerts' }))
  fireEvent.click(await screen.findByRole('menuitem', { name: 'Edit…' }))
  const editor = await dialog('Edit #crawl-alerts')
  const limit = editor.getByLabelText('Messages per hour')
  fireEvent.change(limit, { target: { value: '0' } })
  fireEvent.click(editor.getByRole('button', { name: 'Save channel' }))
  expect(await editor.findByText('At least 1')).toBeTruthy()
  fireEvent.change(limit, { target: { value: '' } })
  fireEvent.click(editor.getByRole('button', { name: 'Save channel' }))
  await waitFor(async () => expect((await channelOf('#crawl-alerts'))?.messagesPerHour).toBeNull())
})

it('tests a channel and shows what both sides sent; a webhook shows its secret once', async () => {
  await open('/alerts/channels')
  const conversation = ['> STARTTLS', '< 220 Ready to start TLS', '< 535 5.7.8 Authentication credentials invalid']
  engine.answers.set('alertChannels.test', { ok: false, answer: conversation[2], conversation })
  const mail = await row('Channel pricing team')
  fireEvent.click(mail.getByRole('button', { name: 'Test pricing team' }))
  expect((await mail.findByLabelText('Request to pricing team and its response')).textContent).toMatch(
    /STARTTLS[^]*535/
  )
  fireEvent.click(screen.getByRole('button', { name: 'Add channel' }))
  const form = await dialog('Add channel')
  await choose(form.getByRole('combobox', { name: 'Kind' }), 'Webhook')
  const address = form.getByLabelText('URL')
  fireEvent.change(address, { target: { value: 'http://127.0.0.1/in' } })
  fireEvent.click(form.getByRole('button', { name: 'Add channel' }))
  const refused = await form.findByText(/^127\.0\.0\.1 is on this machine/)
  expect(address.getAttribute('aria-describedby')).toContain(refused.id)
  fireEvent.change(address, { target: { value: 'https://in.example.net/alerts' } })
  fireEvent.click(form.getByRole('button', { name: 'Add channel' }))
  const made = await dialog('in.example.net was added')
  expect(made.getByText(/^whsec_/)).toBeTruthy()
})

it('removes all rules, and ends all silences, that match the filter', async () => {
  await open('/alerts/rules')
  await row('Rule New errors')
  const all = await rules()
  fireEvent.change(screen.getByRole('textbox', { name: 'Filter rules' }), { target: { value: 'osm_poi' } })
  fireEvent.click(await screen.findByRole('button', { name: 'Remove 1 rule…' }))
  fireEvent.click((await dialog('Remove 1 rule?')).getByRole('button', { name: 'Remove' }))
  await waitFor(async () => expect(await rules()).toHaveLength(all.length - 1))
  app.stop()
  await open('/alerts/silences')
  const { silences } = await engine.client.alertSilences.list()
  const [first] = silences.filter(({ comment }) => comment !== '')
  const fitting = silences.filter(({ comment }) => comment.includes(first!.comment))
  fireEvent.change(await screen.findByRole('textbox', { name: 'Filter silences' }), {
    target: { value: first!.comment }
  })
  fireEvent.click(await screen.findByRole('button', { name: new RegExp(`^End ${fitting.length} silence`) }))
  fireEvent.click(within(await screen.findByRole('dialog')).getByRole('button', { name: 'End' }))
  await waitFor(async () =>
    expect((await engine.client.alertSilences.list()).silences).toHaveLength(silences.length - fitting.length)
  )
})

it('lets only some projects use a channel', async () => {
  await open('/alerts/channels')
  const slack = await row('Channel #crawl-alerts')
  fireEvent.click(slack.getByRole('button', { name: 'More actions for #crawl-alerts' }))
  fireEvent.click(await screen.findByRole('menuitem', { name: 'Edit…' }))
  const editor = await dialog('Edit #crawl-alerts')
  await choose(editor.getByRole('combobox', { name: 'Projects' }), 'prices')
  fireEvent.click(editor.getByRole('button', { name: 'Save channel' }))
  await waitFor(async () => expect(await channelOf('#crawl-alerts')).toMatchObject({ projects: ['prices'] }))
  expect(await slack.findByText('Only for prices')).toBeTruthy()
})

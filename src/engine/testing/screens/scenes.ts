import type { ContractRouterClient } from '@orpc/contract'
import { ALERT_WATCHES, type AlertWatch } from '../../../shared/alert-watches.ts'
import type { AlertChannel, AlertRule, Contract, RunItem } from '../../../shared/contract/index.ts'
import { branded, type Plain } from '../../../shared/testing/ids.ts'
import type { SceneName } from '../../../shared/testing/screens.ts'
import { buildEgg } from '../../projects/egg-builder.ts'
import type { FakeClock } from '../fake-clock.ts'
import type { FakeNode } from '../fake-node.ts'
import { advanceUntil } from '../until.ts'
import { FAILED_LOG, logOf } from './logs.ts'

type Client = ContractRouterClient<Contract>

interface Stage {
  readonly clock: FakeClock
  /** By name. */
  readonly nodes: ReadonlyMap<string, FakeNode>
  /** The owner's. It changes when the engine restarts. */
  readonly client: Client
  as(name: string): Promise<Client>
  /** A service outside vouches for this user. */
  vouch(user: { subject: string; name: string; role: string }): Promise<void>
  /** The engine is off for this long. */
  offFor(ms: number): Promise<void>
}

export const SCENES: Record<SceneName, (stage: Stage) => Promise<void>> = {
  empty: async () => {},
  fleet: liveWithAFleet
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** When the clock of a scene starts: so that a token for a day expired more than a day ago. */
export const BEGINS_MS_AGO = 49 * HOUR_MS
const PASSWORD = 'kestrel amber window'
export const SPIDERS: Record<string, string[]> = {
  prices: ['amazon_de', 'otto', 'zalando', 'mediamarkt', 'bol_nl', 'coolblue', 'ebay_uk', 'cdiscount'],
  news: ['reuters', 'lemonde', 'nikkei', 'folha', 'hindu'],
  jobs: ['stepstone', 'indeed', 'seek'],
  maps: ['osm_poi', 'transit']
}
const SLOTS = { 'eu-1': 16, 'eu-2': 16, 'us-1': 16, 'us-2': 16, 'ap-2': 8, 'lab-b': 6 }
// On nodes that stay up: an alert about a run is muted while its node is down.
const tags = ['eu']
const OTTO = { project: 'prices', spider: 'otto', tags }
const INDEED = { project: 'jobs', spider: 'indeed', tags }
const REUTERS = { project: 'news', spider: 'reuters', tags }

/** What happened, in the order in which it happened. */
async function liveWithAFleet(stage: Stage): Promise<void> {
  const { clock, nodes } = stage
  const setDown = (name: string, isDown: boolean) => (nodes.get(name)!.isDown = isDown)
  await addPeople(stage)
  await addNodesAndProjects(stage)
  const { ruleOnWaits } = await addAlertRules(stage)
  const all = Object.entries(SPIDERS).flatMap(([project, spiders]) => spiders.map((spider) => ({ project, spider })))
  await runAll(stage, [...all, ...times(3, OTTO), ...times(3, REUTERS), ...times(5, INDEED)])
  setDown('ap-2', true)
  await clock.advanceBy(5 * MINUTE_MS)
  setDown('ap-2', false)
  await clock.advanceBy(MINUTE_MS)

  await stage.offFor(20 * HOUR_MS)
  await runAll(stage, [REUTERS], logOf({ items: 11 }))
  setDown('lab-b', true)
  await clock.advanceBy(4 * MINUTE_MS)
  await stage.client.nodes.setMode({ id: await idOf(stage, 'lab-b'), mode: 'cordoned' })
  await runAll(stage, [REUTERS])

  await stage.offFor(23 * HOUR_MS)
  for (let time = 0; time < 4; time += 1) await runAll(stage, [OTTO], FAILED_LOG)
  await runAll(stage, [{ project: 'jobs', spider: 'seek' }], '')
  const ben = await stage.as('ben')
  const { alerts } = await ben.alerts.list({})
  await ben.alerts.acknowledge({ ids: [alerts.find(({ watch }) => watch === 'spider_fails')!.id] })
  await runAll(stage, [INDEED], logOf({ items: 120 }))
  await queue(stage, [{ project: 'maps', spider: 'transit', tags: ['gpu'] }])

  await stage.offFor(Date.now() - 6 * MINUTE_MS - clock.nowMs())
  for (const items of [5, 600, 4, 600, 6, 600, 3]) await runAll(stage, [REUTERS], logOf({ items }))
  await queue(stage, [{ project: 'prices', spider: 'zalando', nodeId: await idOf(stage, 'us-2') }])
  await clock.advanceBy(20_000)
  setDown('us-2', true)
  await clock.advanceBy(4 * MINUTE_MS)
  await queue(
    stage,
    SPIDERS['news']!.map((spider) => ({ project: 'news', spider, tags: ['proxy'] }))
  )
  await queue(stage, all)
  await clock.advanceBy(20_000)
  const nowMs = clock.nowMs()
  const { alertSilences } = await stage.as('ben')
  const comment = 'GPU nodes come back this afternoon'
  await alertSilences.create({ ruleId: ruleOnWaits.id, untilMs: nowMs + 3 * HOUR_MS, comment })
  await alertSilences.create({ nodeTag: 'ap', fromMs: nowMs + 8 * HOUR_MS, untilMs: nowMs + 12 * HOUR_MS })
}

async function addPeople({ client, vouch }: Stage) {
  const { users, groups, roles, tokens } = client
  const description = 'Runs and cancels jobs, and leaves schedules alone'
  await roles.create({ name: 'shop keeper', description, permissions: ['read', 'jobs.run', 'jobs.cancel'] })
  await roles.create({ name: 'auditor', description: '', permissions: ['read', 'audit.read'] })
  const person = { kind: 'person', role: 'operator', password: PASSWORD } as const
  const { user: anna } = await users.create({ name: 'anna', ...person })
  const { user: ben } = await users.create({ name: 'ben', ...person, projects: { shop: 'deployer' } })
  await vouch({ subject: 'oidc https://id.example 1', name: 'carla', role: 'operator' })
  const { user: ci } = await users.create({ name: 'ci', kind: 'service', role: 'deployer' })
  const members = [ben.id]
  await groups.create({ name: 'Crawl team', role: 'operator', projects: { shop: 'deployer' }, members })
  await groups.create({ name: 'On call', role: null, nodeGroups: { eu: 'operator', us: 'operator' }, members })
  await tokens.create({ userId: anna.id, name: 'laptop', expiresInDays: 90 })
  await tokens.create({ userId: ben.id, name: 'dashboard', expiresInDays: 1 })
  await tokens.create({ userId: ci.id, name: 'GitLab', expiresInDays: null })
}

async function addNodesAndProjects({ client, clock }: Stage) {
  for (const [name, slots] of Object.entries(SLOTS))
    await client.nodes.add({ url: `https://${name}.example.net:6800/`, name, slots, tags: [name.split('-')[0]!] })
  const egg = await buildEgg([
    { path: 'scrapy.cfg', bytes: Buffer.from('[settings]\ndefault = shop.settings\n') },
    { path: 'shop/settings.py', bytes: Buffer.from('') }
  ])
  const file = new File([egg as Uint8Array<ArrayBuffer>], 'shop.egg')
  for (const project of Object.keys(SPIDERS))
    await client.projects.upload({ file, project, version: '20261119T181000' })
  await clock.advanceBy(1_000)
}

async function addAlertRules({ client }: Stage) {
  const { channel: pager } = await client.alertChannels.create({
    name: 'on-call',
    target: { kind: 'pagerduty' },
    secret: 'a'.repeat(32)
  })
  const { channel: slack } = await client.alertChannels.create({
    name: '#crawl-alerts',
    target: { kind: 'slack' },
    secret: 'https://hooks.slack.com/services/T0/B0/x',
    messagesPerHour: 2
  })
  await client.alertChannels.create({
    name: 'pricing team',
    target: { kind: 'email', to: ['pricing@example.net'], from: 'deck@example.net', host: 'mail.example.net' }
  })
  const add = (name: string, watch: AlertWatch, channels: AlertChannel[], over: Plain<Partial<AlertRule>> = {}) => {
    const { usual, compares } = ALERT_WATCHES[watch]
    const settings = { ...usual, comparison: compares[0], ...branded<Partial<AlertRule>>(over) }
    return client.alertRules.create({ ...settings, name, watch, channels: channels.map(({ id }) => id) })
  }
  const { rule: ruleOnWaits } = await add('A job waits longer than an hour', 'job_waits_long', [slack])
  const ofPlatform = { owner: 'platform', severity: 'critical', groupBy: 'rule' } as const
  await add('A node does not respond', 'node_down', [pager, slack], ofPlatform)
  const ofPricing = { owner: 'pricing', severity: 'critical', project: 'prices', threshold: 3 } as const
  await add('prices: three failures in a row', 'spider_fails', [slack], ofPricing)
  await add('news: fewer than 20 items', 'spider_items', [slack], { project: 'news', threshold: 20 })
  await add('New errors', 'error_appears', [slack], { severity: 'info', groupBy: 'project', repeatSeconds: null })
  await add('The service’s disk fills', 'disk_free', [pager], { owner: 'platform' })
  const poi = { project: 'maps', spider: 'osm_poi', enabled: false }
  await add('maps/osm_poi has not succeeded for a day', 'spider_overdue', [slack], poi)
  return { ruleOnWaits }
}

const queue = ({ client }: Stage, jobs: Plain<RunItem>[]) => client.jobs.runMany({ jobs: branded<RunItem[]>(jobs) })

/** Runs the spiders at the same time, until all have ended. */
async function runAll(stage: Stage, runs: Plain<RunItem>[], log = logOf({ items: 600 })): Promise<void> {
  const { client, clock, nodes } = stage
  const { ids } = await queue(stage, runs)
  const areAll = (...expected: string[]) =>
    advanceUntil(clock, async () =>
      (await client.jobs.count({ ids })).status.every(({ value }) => expected.includes(value))
    )
  await areAll('running')
  for (const node of nodes.values()) {
    for (const { jobid } of node.running.filter((run) => ids.some((id) => id === run.jobid))) {
      node.end(jobid)
      node.logs.set(jobid, log)
    }
  }
  await areAll('succeeded', 'failed', 'unclear')
}

const times = (count: number, run: Plain<RunItem>) => Array.from({ length: count }, () => run)

async function idOf({ client }: Stage, name: string) {
  const { nodes } = await client.nodes.list()
  return nodes.find((node) => node.name === name)!.id
}

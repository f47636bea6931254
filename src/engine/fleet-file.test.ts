import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { RECOMMENDED_POLICY, RunTemplate, ScheduleSettings, SECRET_MASK } from '../shared/contract/index.ts'
import { ALERT_WATCHES } from '../shared/alert-watches.ts'
import { aProjectName } from '../shared/testing/ids.ts'
import { type EngineWithFakeNode, openEngineWithFakeNode } from './testing/engine-with-fake-node.ts'

let engine: EngineWithFakeNode
let other: EngineWithFakeNode

beforeEach(async () => {
  engine = await openEngineWithFakeNode()
  other = await openEngineWithFakeNode()
})
afterEach(async () => {
  await engine.remove()
  await other.remove()
})

async function fill(): Promise<void> {
  const { client } = engine
  const nodeId = await engine.prepare('berlin')
  await client.nodes.update({ id: nodeId, username: 'me', password: 'hush-node', tags: ['eu'] })
  await client.nodes.setMode({ id: nodeId, mode: 'cordoned' })
  await client.discovery.put({
    id: 'office',
    source: { kind: 'list', nodes: 'http://10.0.0.8:6800/' },
    refreshSeconds: 60,
    node: { tags: ['office'] }
  })
  await client.projects.configure({
    project: 'shop',
    settings: { ...(await client.projects.get({ project: 'shop' })).settings, weight: 3 }
  })
  await client.queue.setLimits({
    limits: [{ id: 'a1', project: 'shop', spider: null, tag: null, perNode: false, max: 5 }]
  })
  const run = RunTemplate.parse({
    project: 'shop',
    spiders: ['prices'],
    nodeId,
    args: { key: 'hush-args', day: '{nominal:yyyy-MM-dd}' },
    secretNames: ['key']
  })
  const { schedule } = await client.schedules.create(
    ScheduleSettings.parse({
      name: 'night',
      zone: 'Europe/Berlin',
      rules: [
        { kind: 'cron', expression: '0 3 * * *' },
        { kind: 'once', atMs: engine.clock.nowMs() + 86_400_000 }
      ],
      endMs: engine.clock.nowMs() + 10 * 86_400_000,
      jobs: [run]
    })
  )
  await client.schedules.setPaused({ ids: [schedule.id], paused: true, note: 'until it is mended' })
  await client.chains.create({ name: 'then', enabled: true, project: 'shop', spider: '*', on: 'failed', run })
  await client.webhooks.create({
    name: 'ops',
    url: 'https://ops.example/hook',
    events: ['job.ended'],
    project: null,
    enabled: true
  })
  await client.storage.setPolicy({ revision: 0, policy: { ...RECOMMENDED_POLICY, projects: { [SHOP]: SHOP_KEEPS } } })
}
const SHOP = aProjectName('shop')
const SHOP_KEEPS = { logs: { days: 30, perSpider: null, bytes: null } }

const plan = (yaml: string, prune = false, of = engine) => of.client.fleetFile.plan({ yaml, prune })
const exported = async (of = engine) => (await of.client.fleetFile.export()).yaml

describe('the fleet file of an engine', () => {
  test('contains all settings but no secrets, and changes nothing when its own fleet applies it', async () => {
    await fill()
    const yaml = await exported()
    expect(yaml).not.toContain('hush')
    expect(yaml).toContain(SECRET_MASK)
    for (const part of ['nodes', 'discovery', 'projects', 'limits', 'schedules', 'chains', 'webhooks'])
      expect(yaml).toMatch(new RegExp(`^${part}:\n  - `, 'm'))
    expect(yaml).toMatch(/^retention:\n {2}jobs:\n {4}days: 400\n/m)
    expect(await plan(yaml, true)).toEqual({ changes: [] })
    await engine.restart()
    expect(await exported()).toBe(yaml)
  })

  test('gives another engine the same fleet, once the secrets are filled in', async () => {
    await fill()
    const yaml = await exported()
    await expect(plan(yaml, true, other)).rejects.toMatchObject({
      code: 'FLEET_FILE_INVALID',
      message: expect.stringContaining('the secret value of "key" is only dots')
    })
    const whole = yaml.replaceAll(SECRET_MASK, 'hush-other')
    const { changes } = await other.client.fleetFile.apply({ yaml: whole, prune: true })
    expect(changes.map(({ act, noun }) => `${act} ${noun}`)).toEqual([
      'add node',
      'add discovery',
      'add project',
      'add limits',
      'add schedule',
      'add chain',
      'add webhook',
      'add retention'
    ])
    expect(await other.client.storage.policy()).toEqual(await engine.client.storage.policy())
    expect(JSON.stringify(changes)).not.toContain('hush')
    expect(await exported(other)).toBe(yaml)
    expect(await plan(whole, true, other)).toEqual({ changes: [] })
    const { schedules } = await other.client.schedules.list({})
    const { nodes } = await other.client.nodes.list()
    const berlin = nodes.find(({ name }) => name === 'berlin')
    expect(berlin).toMatchObject({ mode: 'cordoned', hasPassword: false })
    expect(schedules).toMatchObject([
      { paused: true, pauseNote: 'until it is mended', jobs: [{ nodeId: berlin?.id, args: { key: SECRET_MASK } }] }
    ])
  })

  test('contains the rules of alerts by name, and needs the channels that they name', async () => {
    await fill()
    const { client } = engine
    const target = { kind: 'webhook' as const, url: 'https://hooks.example/alerts' }
    const ops = (await client.alertChannels.create({ name: 'Ops', target })).channel.id
    const [node] = (await client.nodes.list()).nodes
    const [schedule] = (await client.schedules.list({})).schedules
    const rule = { ...ALERT_WATCHES.node_down.usual, comparison: 'at_least' as const, channels: [ops] }
    await client.alertRules.create({ ...rule, name: 'berlin', watch: 'node_down', nodeId: node!.id })
    const escalation = { afterSeconds: 900, channels: [ops] }
    await client.alertRules.create({
      ...rule,
      name: 'night',
      watch: 'schedule_misses',
      scheduleId: schedule!.id,
      escalation,
      owner: 'Data'
    })
    const yaml = await exported()
    const part = /^alerts:\n(?: .*\n)+/m.exec(yaml)![0]
    expect(part).toContain('name: berlin\n')
    expect(part).toMatch(/node: berlin\n[^]*schedule: night\n/)
    expect(part).not.toMatch(/[0-9a-f]{32}|hooks\.example/)
    expect(await plan(yaml, true)).toEqual({ changes: [] })
    const whole = yaml.replaceAll(SECRET_MASK, 'hush-other')
    await expect(plan(whole, true, other)).rejects.toMatchObject({
      message: expect.stringContaining('alert berlin: there is no alert channel "Ops": channels have secrets')
    })
    await other.client.alertChannels.create({ name: 'Ops', target })
    const { changes } = await other.client.fleetFile.apply({ yaml: whole, prune: true })
    expect(changes.filter(({ noun }) => noun === 'alert').map(({ act, name }) => `${act} ${name}`)).toEqual([
      'add berlin',
      'add night'
    ])
    expect(await exported(other)).toBe(yaml)
    // Omitted values are replaced by the defaults of the watch.
    const short =
      'version: 1\nalerts: [{ name: berlin, watch: node_down, node: berlin, channels: [Ops], severity: info }]'
    const done = (await engine.client.fleetFile.apply({ yaml: short, prune: true })).changes
    expect(done).toMatchObject([
      { noun: 'alert', act: 'change', fields: [{ name: 'severity', from: 'critical', to: 'info' }] },
      { noun: 'alert', act: 'remove', name: 'night' }
    ])
    const { rules } = await client.alertRules.list()
    expect(rules).toMatchObject([{ name: 'berlin', revision: 2, severity: 'info', nodeId: node!.id, channels: [ops] }])
    const wrong = (text: string) => plan(`version: 1\nalerts: [{ name: x, ${text} }]`)
    await expect(wrong('watch: node_down, node: rome')).rejects.toThrow('about the node "rome", which is neither')
    await expect(wrong('watch: node_down, comparison: at_most')).rejects.toThrow('compares with at_least only')
    await expect(wrong('watch: node_down, chanels: []')).rejects.toThrow('has no field "chanels"')
  })

  test('shows what retention would delete, and changes its policy as a whole', async () => {
    const yaml = 'version: 1\nretention: { logs: { days: 9 }, projects: { shop: { logs: { days: 90 } } } }\n'
    const { changes } = await plan(yaml)
    expect(changes).toMatchObject([{ noun: 'retention', name: 'policy', notes: ['retention deletes nothing'] }])
    expect((await engine.client.storage.policy()).revision).toBe(0)
    await engine.client.fleetFile.apply({ yaml, prune: false })
    const { revision, policy } = await engine.client.storage.policy()
    const forEver = { days: null, perSpider: null, bytes: null }
    expect([revision, policy.projects]).toEqual([1, { shop: { logs: { ...forEver, days: 90 } } }])
    expect(policy.defaults).toMatchObject({ jobs: forEver, logs: { ...forEver, days: 9 } })
    // The policy cannot be removed.
    await engine.client.fleetFile.apply({ yaml: 'version: 1\n', prune: true })
    expect(await engine.client.storage.policy()).toEqual({ revision, policy })
    await expect(plan('version: 1\nretention: { logs: { day: 9 } }\n')).rejects.toMatchObject({
      message: expect.stringContaining('line 2: retention.logs has no field "day"')
    })
  })

  test('changes only what differs, and keeps secrets that are masked with dots', async () => {
    await fill()
    const yaml = (await exported())
      .replace('0 3 * * *', '0 4 * * *')
      .replace('max: 5', 'max: 6')
      .replace('paused: true', 'paused: false')
      .replace('mode: cordoned', 'mode: active')
    const { changes } = await engine.client.fleetFile.apply({ yaml, prune: false })
    expect(changes.map(({ noun, act, fields }) => [noun, act, fields.map(({ name }) => name)])).toEqual([
      ['node', 'change', ['mode']],
      ['limits', 'change', ['max']],
      ['schedule', 'change', ['rules', 'paused']]
    ])
    const [schedule] = (await engine.client.schedules.list({})).schedules
    expect(schedule).toMatchObject({ paused: false, rules: [{ expression: '0 4 * * *' }, { kind: 'once' }] })
    await engine.client.nodes.list()
    await engine.client.schedules.runNow({ id: schedule!.id })
    await engine.until(async () => engine.node.running.length === 1)
    expect(engine.node.running[0]?.args).toMatchObject({ key: 'hush-args' })
  })

  test('removes what it does not name only on request, and only in the sections that it contains', async () => {
    await fill()
    const yaml = 'version: 1\nschedules: []\nchains: []\n'
    expect(await plan(yaml)).toEqual({ changes: [] })
    const { changes } = await engine.client.fleetFile.apply({ yaml, prune: true })
    expect(changes).toEqual([
      { noun: 'chain', name: 'then', act: 'remove', fields: [] },
      { noun: 'schedule', name: 'night', act: 'remove', fields: [] }
    ])
    expect((await engine.client.webhooks.list()).webhooks).toHaveLength(1)
    await engine.client.fleetFile.apply({
      yaml: 'version: 1\nnodes: []\nprojects: []\nwebhooks: []\nlimits: []',
      prune: true
    })
    expect((await engine.client.nodes.list()).nodes.map(({ name }) => name)).toEqual(['10.0.0.8:6800'])
    expect((await engine.client.projects.get({ project: 'shop' })).settings.weight).toBe(1)
    expect((await engine.client.queue.limits()).limits).toEqual([])
  })

  test('a proxy may be in any notation: its password is never shown, and applying it again changes nothing', async () => {
    const yaml = (proxyUrl: string) =>
      `version: 1\nnodes: [{ name: a, url: 'http://10.0.0.9:6800/', proxyUrl: '${proxyUrl}' }]`
    for (const proxyUrl of ['me:hush@proxy:3128', ' ME:hush@Proxy:3128/ ', 'http://other:hush@proxy:3128']) {
      const { changes } = await plan(yaml(proxyUrl))
      expect(changes).toHaveLength(1)
      expect(JSON.stringify(changes)).not.toContain('hush')
      expect((await engine.client.fleetFile.apply({ yaml: yaml(proxyUrl), prune: false })).changes).toEqual(changes)
      // The masked form keeps the stored credentials.
      for (const same of [proxyUrl, 'http://proxy:3128', 'proxy:3128']) {
        expect(await plan(yaml(same))).toEqual({ changes: [] })
      }
      expect((await exported()).match(/proxyUrl: .*/)![0]).toBe('proxyUrl: http://proxy:3128/')
    }
  })

  test('errors that a check can find refuse the whole file', async () => {
    await engine.prepare('berlin')
    const schedule = (text: string) => `schedules: [{ name: x, zone: UTC, rules: [{ cron: '0 3 * * *' }], ${text} }]`
    const job = 'jobs: [{ project: p, spiders: [s]'
    const cases: [string, string][] = [
      ['nodes: [{ name: a, url: ftp://x }]', 'node a'],
      ['nodes: [{ name: a, url: x }, { name: b, url: http://x:6800/ }]', 'same address'],
      ['nodes: [{ name: a, kind: local }]', 'runs without one'],
      [schedule(`${job}, node: paris }]`), '"paris"'],
      [schedule(`${job}, args: { _job: x } }]`), '"_job"'],
      [schedule(`${job}, args: { x: '{stats.items}' } }]`), '{stats.items}'],
      [schedule(`${job} }]`).replace('0 3', '0 33'), 'hour'],
      [schedule(`${job} }]`).replace('UTC', 'Mars'), 'Mars']
    ]
    for (const [text, words] of cases) {
      const yaml = `version: 1\nlimits: [{ project: p, max: 1 }]\n${text}`
      await expect(engine.client.fleetFile.apply({ yaml, prune: false })).rejects.toMatchObject({
        code: 'FLEET_FILE_INVALID',
        message: expect.stringContaining(words)
      })
    }
    expect((await engine.client.queue.limits()).limits).toEqual([])
  })

  test('all refusals of the parts of the engine appear in the difference before anything is written', async () => {
    const yaml = `version: 1
nodes: [{ name: a, url: http://10.0.0.9:6800/, proxyUrl: 'ftp://proxy' }]
discovery: [{ id: office, source: { kind: list, nodes: 'no address at all' } }]
projects: [{ name: shop, limits: { memoryMegabytes: 1 } }, { name: bare, python: { kind: requirements, text: '# none' } }]
limits: [{ project: p, max: 1 }]
webhooks: [{ name: w, url: 'http://127.0.0.1:1/', events: [job.ended] }]`
    for (const act of ['plan', 'apply'] as const) {
      const refused: unknown = await engine.client.fleetFile[act]({ yaml, prune: false }).catch(
        (error: unknown) => error
      )
      expect(refused).toMatchObject({ code: 'FLEET_FILE_INVALID' })
      const { message } = refused as Error
      for (const words of [
        'node a: ',
        'discovery office: ',
        'project shop: ',
        'project bare: ',
        'webhook w: 127.0.0.1 is on this machine'
      ])
        expect(message).toContain(words)
    }
    expect(await exported()).toBe(await exported(other))
  })

  test('a node is removed only if nothing runs there and no remaining schedule or chain needs it', async () => {
    await fill()
    const yaml = 'version: 1\nnodes: []\n'
    await expect(plan(yaml, true)).rejects.toMatchObject({
      message: expect.stringMatching(
        /schedule night runs on the node "berlin", which would be removed; chain then runs on/
      )
    })
    const without = 'version: 1\nnodes: []\nschedules: []\nchains: []\n'
    expect((await plan(without, true)).changes).toHaveLength(3)
    const { id } = await nodeOf('berlin')
    await engine.client.nodes.setMode({ id, mode: 'active' })
    await engine.client.jobs.run({ project: 'shop', spiders: ['prices'], nodeId: id })
    await engine.until(async () => engine.node.running.length === 1)
    await expect(engine.client.fleetFile.apply({ yaml: without, prune: true })).rejects.toMatchObject({
      code: 'FLEET_FILE_INVALID',
      message: expect.stringContaining('node berlin: 1 Scrapdeck job is still live')
    })
    expect((await engine.client.schedules.list({})).schedules).toHaveLength(1)
  })

  test('a version that is not deployed yet is reported, but is not an error', async () => {
    await fill()
    const job = (project: string, spider: string) =>
      `{ name: ${project}-${spider}, zone: UTC, rules: [{ cron: '0 3 * * *' }], jobs: [{ project: ${project}, spiders: [${spider}] }] }`
    const yaml = `version: 1\nschedules: [${job('shop', 'prices')}, ${job('elsewhere', 'x')}]`
    expect((await plan(yaml)).changes.map(({ notes }) => notes)).toEqual([
      undefined,
      ['the project elsewhere is not deployed here: no job can be created until it is']
    ])
  })

  test('another engine exports the same file, even with duplicate names and unsorted entries', async () => {
    const each = (names: string[], text: (name: string, at: number) => string) =>
      names.map((name, at) => `  - ${text(name, at)}\n`).join('')
    const names = ['b', 'a', 'twin', 'Z', 'twin', 'twin']
    const job = (at: number) => `{ project: p${at}, spiders: [s], node: node-${at % 3} }`
    const yaml = `version: 1
nodes:
${each(['2', '0', '1'], (name) => `{ name: node-${name}, url: http://10.0.1.${name}:6800/ }`)}projects:
${each(['b', 'a'], (name) => `{ name: ${name}, weight: 2 }`)}limits:
${each(['b', 'a'], (name) => `{ project: ${name}, max: 2 }`)}schedules:
${each(names, (name, at) => `{ name: ${name}, zone: UTC, rules: [{ cron: '${at} 3 * * *' }], jobs: [${job(at)}] }`)}chains:
${each(names, (name, at) => `{ name: ${name}, project: p, spider: s, on: failed, run: ${job(at)} }`)}webhooks:
${each(names, (name, at) => `{ name: ${name}, url: 'https://ops.example/${at}', events: [job.ended] }`)}`
    await engine.client.fleetFile.apply({ yaml, prune: false })
    expect(await plan(yaml, true)).toEqual({ changes: [] })
    const first = await exported()
    await other.client.fleetFile.apply({ yaml: first, prune: true })
    expect(await exported(other)).toBe(first)
    expect(await plan(yaml, true, other)).toEqual({ changes: [] })
    expect((await other.client.fleetFile.apply({ yaml: first, prune: true })).changes).toEqual([])
  })

  test('two nodes with one name are created as listed, and the file then needs no further change', async () => {
    const yaml =
      'version: 1\nnodes: [{ name: twin, url: http://10.0.0.5:6800/ }, { name: twin, url: http://10.0.0.6:6800/ }]'
    await engine.client.fleetFile.apply({ yaml, prune: false })
    expect(await plan(yaml, true)).toEqual({ changes: [] })
  })
})

const nodeOf = async (name: string) => (await engine.client.nodes.list()).nodes.find((node) => node.name === name)!

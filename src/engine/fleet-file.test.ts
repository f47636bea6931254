import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { RunTemplate, ScheduleSettings, SECRET_MASK } from '../shared/contract/index.ts'
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

/** One of everything that a file may speak of. */
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
}

const plan = (yaml: string, prune = false, of = engine) => of.client.fleetFile.plan({ yaml, prune })
const exported = async (of = engine) => (await of.client.fleetFile.export()).yaml

describe('the fleet file of an engine', () => {
  test('holds all that is set and no secret, and changes nothing where it comes from', async () => {
    await fill()
    const yaml = await exported()
    expect(yaml).not.toContain('hush')
    expect(yaml).toContain(SECRET_MASK)
    for (const part of ['nodes', 'discovery', 'projects', 'limits', 'schedules', 'chains', 'webhooks'])
      expect(yaml).toMatch(new RegExp(`^${part}:\n  - `, 'm'))
    expect(await plan(yaml, true)).toEqual({ changes: [] })
    await engine.restart()
    expect(await exported()).toBe(yaml)
  })

  test('makes another engine the same, once the secrets are written in', async () => {
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
      'add webhook'
    ])
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

  test('changes what differs and only that, and keeps secrets where dots stand', async () => {
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

  test('removes what it does not name only when told to, and only of the parts that it has', async () => {
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
    // The node of the discovery source is not the file's affair.
    expect((await engine.client.nodes.list()).nodes.map(({ name }) => name)).toEqual(['10.0.0.8:6800'])
    expect((await engine.client.projects.get({ project: 'shop' })).settings.weight).toBe(1)
    expect((await engine.client.queue.limits()).limits).toEqual([])
  })

  test('what can be seen beforehand is refused whole', async () => {
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

  test('what fails on the way is told with what was done, and can be applied again', async () => {
    const yaml = (url: string) =>
      `version: 1\nlimits: [{ project: p, max: 1 }]\nwebhooks: [{ name: w, url: '${url}', events: [job.ended] }]`
    const apply = (url: string) => engine.client.fleetFile.apply({ yaml: yaml(url), prune: false })
    await expect(apply('http://127.0.0.1:1/')).rejects.toMatchObject({
      code: 'WEBHOOK_URL_FORBIDDEN',
      message: expect.stringContaining('1 of 2 changes were made before it'),
      data: { done: [{ noun: 'limits', act: 'add' }] }
    })
    expect((await apply('https://ops.example/')).changes.map(({ noun }) => noun)).toEqual(['webhook'])
  })
})

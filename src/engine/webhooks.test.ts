import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createRouterClient } from '@orpc/server'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ALERT_WATCHES } from '../shared/alert-watches.ts'
import { SECRET_MASK } from '../shared/contract/index.ts'
import { createEngine, type Engine } from './index.ts'
import { buildEgg } from './projects/egg-builder.ts'
import { createFakeClock, type FakeClock } from './testing/fake-clock.ts'
import { FakeNode } from './testing/fake-node.ts'
import { makeTemporaryDirectory } from './testing/temporary-directory.ts'
import { advanceUntil } from './testing/until.ts'
import type { Answer } from './notify/deliveries/post.ts'
import { OWNER } from './access/principal.ts'
import { signedHeaders } from './notify/deliveries/signature.ts'

const SETTINGS = { name: 'ours', url: 'https://example.org/hook', events: ['job.ended' as const] }
const GOOD: Answer = { kind: 'status', status: 204, retryAfterSeconds: null }

let directory: Awaited<ReturnType<typeof makeTemporaryDirectory>>
let clock: FakeClock
let node: FakeNode
let engine: Engine
let client: Awaited<ReturnType<typeof clientOf>>
let posted: { url: string; headers: Record<string, string>; body: string }[]
let answer: Answer

const saidFile = () => join(directory.path, 'said')
const said = async () => (await readFile(saidFile(), 'utf8').catch(() => '')).split('\n').filter((line) => line !== '')

const clientOf = async (one: Engine) =>
  createRouterClient(await one.router(), { context: { principal: OWNER, source: 'api' } })

async function start(plugin?: string): Promise<void> {
  const module = join(directory.path, 'plugin.mjs')
  if (plugin !== undefined) {
    const say = `import { appendFileSync } from 'node:fs'\nconst say = (line) => appendFileSync(${JSON.stringify(saidFile())}, line + '\\n')\n`
    await writeFile(module, `${say}export default () => (${plugin})`)
  }
  // The timeout follows the fake clock, which runs much faster than the plugin's thread.
  const patient = { options: {}, timeoutMs: 86_400_000, memoryMb: 64, onFailure: 'send' as const }
  engine = await createEngine({
    dataDirectory: join(directory.path, 'data'),
    host: 'service',
    resourcesDirectory: join(import.meta.dirname, '..', '..', 'resources'),
    scrapdeckVersion: 'test',
    plugins: plugin === undefined ? [] : [{ name: 'ours', module, ...patient }],
    seams: {
      clock,
      localNode: null,
      createNodeClient: () => node,
      post: async (request) => {
        posted.push(request)
        return answer
      }
    }
  })
  client = await clientOf(engine)
  await clock.advanceBy(0)
}

const until = (isTrue: () => Promise<boolean> | boolean) => advanceUntil(clock, isTrue)

async function prepare(): Promise<void> {
  await client.nodes.add({ url: 'http://127.0.0.1:9/', slots: 2 })
  const egg = await buildEgg([
    { path: 'scrapy.cfg', bytes: Buffer.from('[settings]\ndefault = shop.settings\n') },
    { path: 'shop/settings.py', bytes: Buffer.from('') }
  ])
  const file = new File([egg as Uint8Array<ArrayBuffer>], 'shop.egg')
  await client.projects.upload({ file, project: 'shop', version: '1' })
}

async function run(over: { args?: Record<string, string>; secretNames?: string[] } = {}): Promise<string> {
  const { jobs } = await client.jobs.run({ project: 'shop', spiders: ['prices'], ...over })
  return jobs[0]!.id
}

const jobOf = async (id: string) => (await client.jobs.get({ id })).job
const isInState = (id: string, state: string) => async () => (await jobOf(id)).state === state

beforeEach(async () => {
  directory = await makeTemporaryDirectory()
  clock = createFakeClock()
  node = new FakeNode(clock, { slots: 2 })
  posted = []
  answer = GOOD
})

afterEach(async () => {
  await engine.stop()
  await directory.remove()
})

describe('webhooks', () => {
  it('receive the events that they subscribe to, signed with the secret that was shown once', async () => {
    await start()
    const { secret, webhook } = await client.webhooks.create({ ...SETTINGS, events: ['job.queued', 'job.ended'] })
    expect(webhook).toMatchObject({ enabled: true, waiting: 0, dead: 0, problem: null })
    expect(JSON.stringify(await client.webhooks.list())).not.toContain(secret)
    await prepare()
    const id = await run()
    await until(isInState(id, 'running'))
    node.endAll()
    await until(async () => posted.length === 2 && (await client.webhooks.list()).webhooks[0]!.waiting === 0)
    for (const { headers, body } of posted) {
      const message = { id: headers['webhook-id']!, atMs: Number(headers['webhook-timestamp']) * 1000, body }
      expect(headers).toEqual(signedHeaders({ ...message, secrets: [secret] }))
    }
    expect(posted.map(({ body }) => JSON.parse(body))).toMatchObject([
      { type: 'job.queued', data: { job: { id, status: 'queued' } } },
      { type: 'job.ended', data: { job: { id, status: 'succeeded', items: 3 } } }
    ])
    const { deliveries } = await client.webhooks.deliveries({ id: webhook.id })
    expect(deliveries.map(({ event, state, answer: told }) => [event, state, told])).toEqual([
      ['job.ended', 'delivered', '204'],
      ['job.queued', 'delivered', '204']
    ])
  })

  it('also sign with the old secret for a day after it was changed', async () => {
    await start()
    const { secret: old, webhook } = await client.webhooks.create(SETTINGS)
    const { secret: fresh } = await client.webhooks.rotate({ id: webhook.id })
    const signatures = async () => {
      await client.webhooks.test({ id: webhook.id })
      const { headers, body } = posted.at(-1)!
      const message = { id: headers['webhook-id']!, atMs: Number(headers['webhook-timestamp']) * 1000, body }
      const by = (secrets: string[]) => signedHeaders({ ...message, secrets })['webhook-signature']
      return { sent: headers['webhook-signature'], both: by([fresh, old]), fresh: by([fresh]) }
    }
    const now = await signatures()
    expect(now.sent).toBe(now.both)
    clock.jumpWallBy(86_400_001)
    const later = await signatures()
    expect(later.sent).toBe(later.fresh)
  })

  it('can be tested, and show the response; a test is not repeated', async () => {
    await start()
    const { webhook } = await client.webhooks.create(SETTINGS)
    expect(await client.webhooks.test({ id: webhook.id })).toEqual({ ok: true, answer: '204' })
    answer = { kind: 'failed', problem: 'nothing listens on example.org' }
    expect(await client.webhooks.test({ id: webhook.id })).toEqual({
      ok: false,
      answer: 'nothing listens on example.org'
    })
    answer = { kind: 'status', status: 302, retryAfterSeconds: null }
    expect((await client.webhooks.test({ id: webhook.id })).answer).toContain('redirects are not followed')
    expect((await client.webhooks.deliveries({ id: webhook.id })).deliveries).toEqual([])
  })

  it('list deliveries that were given up, and send them again on request', async () => {
    await start()
    const { webhook } = await client.webhooks.create(SETTINGS)
    answer = { kind: 'status', status: 410, retryAfterSeconds: null }
    const id = (await prepare(), await run())
    await client.jobs.cancel({ ids: [id] })
    node.endAll()
    await until(async () => (await client.webhooks.list()).webhooks[0]!.dead === 1)
    expect((await client.webhooks.list()).webhooks[0]).toMatchObject({ enabled: false, problem: '410' })
    answer = GOOD
    await client.webhooks.update({ ...SETTINGS, id: webhook.id })
    expect(await client.webhooks.replay({ id: webhook.id })).toEqual({ replayed: 1 })
    await until(async () => (await client.webhooks.list()).webhooks[0]!.waiting === 0)
    expect((await client.webhooks.list()).webhooks[0]).toMatchObject({ enabled: true, dead: 0, problem: null })
    expect(posted[1]!.headers['webhook-id']).toBe(posted[0]!.headers['webhook-id'])
  })

  it('receive events of nodes that go down and up', async () => {
    await start()
    await client.webhooks.create({ ...SETTINGS, events: ['node.down', 'node.up'] })
    await client.nodes.add({ url: 'http://127.0.0.1:9/', name: 'eu-1', slots: 2 })
    const isHealth = (health: string) => async () => (await client.nodes.list()).nodes[0]?.health === health
    await until(isHealth('up'))
    node.isDown = true
    await until(isHealth('down'))
    node.isDown = false
    await until(isHealth('up'))
    await until(() => posted.length === 2)
    expect(posted.map(({ body }) => [JSON.parse(body).type, JSON.parse(body).data.node.name])).toEqual([
      ['node.down', 'eu-1'],
      ['node.up', 'eu-1']
    ])
  })

  it('never reach addresses inside this network, and are not found under a wrong id', async () => {
    await start()
    const code = (call: Promise<unknown>) => expect(call).rejects
    await code(client.webhooks.create({ ...SETTINGS, url: 'http://127.0.0.1:6800/' })).toMatchObject({
      code: 'WEBHOOK_URL_FORBIDDEN'
    })
    const { webhook } = await client.webhooks.create(SETTINGS)
    await code(client.webhooks.update({ ...SETTINGS, id: webhook.id, url: 'http://[::1]/' })).toMatchObject({
      code: 'WEBHOOK_URL_FORBIDDEN'
    })
    expect(await client.webhooks.remove({ id: webhook.id })).toEqual({ removed: true })
    const id = webhook.id
    for (const call of [
      () => client.webhooks.remove({ id }),
      () => client.webhooks.rotate({ id }),
      () => client.webhooks.test({ id }),
      () => client.webhooks.replay({ id }),
      () => client.webhooks.deliveries({ id })
    ]) {
      await code(call()).toMatchObject({ code: 'WEBHOOK_NOT_FOUND' })
    }
  })
})

describe('a plugin of the engine', () => {
  it('changes what is sent, sees no secret value, and receives the job and the deployment', async () => {
    await start(`{
      beforeDispatch: ({ job, node, version }) => ({
        args: { page: '7', seen: job.args.token, where: node.name + '@' + version },
        settings: { LOG_LEVEL: 'INFO' }
      }),
      deployed({ data }) { say(data.project + '@' + data.version) },
      jobEnded({ id, data }) {
        say(data.job.status + ' ' + data.job.args.token)
        if (globalThis.first === undefined) throw new Error(globalThis.first = 'again, please')
      }
    }`)
    await prepare()
    const id = await run({ args: { page: '1', token: 'geheim' }, secretNames: ['token'] })
    await until(isInState(id, 'running'))
    expect(node.running[0]).toMatchObject({
      args: { page: '7', token: 'geheim', where: expect.stringContaining('@1') },
      settings: { LOG_LEVEL: 'INFO' }
    })
    expect(JSON.stringify(node.running[0])).not.toContain(SECRET_MASK)
    const { timeline } = await client.jobs.get({ id })
    expect(timeline.find(({ kind }) => kind === 'accepted')?.evidence).toMatchObject({
      'changed by ours': ['page', 'seen', 'where', 'LOG_LEVEL']
    })
    node.endAll()
    await until(isInState(id, 'ended'))
    // The hook failed the first time and was called again.
    await until(async () => (await said()).length === 3)
    expect(await said()).toEqual(['shop@1', `succeeded ${SECRET_MASK}`, `succeeded ${SECRET_MASK}`])
    expect((await client.webhooks.list()).webhooks).toEqual([])
  })

  it('appears in the timeline with its changes even if the node shows the run before it responds', async () => {
    await start(`{ beforeDispatch: () => ({ args: { page: '7' } }) }`)
    await prepare()
    const changed = async (id: string) => {
      const { timeline } = await client.jobs.get({ id })
      return timeline.filter(({ evidence }) => 'changed by ours' in evidence).map(({ kind }) => kind)
    }
    const schedule = node.schedule.bind(node)
    const answering = Promise.withResolvers<void>()
    node.schedule = async (request) => {
      const answer = await schedule(request)
      await answering.promise
      return answer
    }
    const id = await run()
    await until(isInState(id, 'running'))
    expect(await changed(id)).toEqual(['running'])
    answering.resolve()
    node.schedule = schedule
    node.behaviours = ['drop_reply']
    const unanswered = await run()
    await until(isInState(unanswered, 'running'))
    expect((await changed(unanswered))[0]).toBe('uncertain')
  })

  it('receives the start and end of a spider, like a plugin of a Scrapyd, and nothing of one that never started', async () => {
    await start(`{
      on_spider_start: (...all) => say('start ' + all.join(' ')),
      on_spider_complete: (...all) => say('complete ' + all.join(' ')),
      beforeDispatch: ({ job }) => job.args.page === 'none' ? { cancel: 'no' } : undefined
    }`)
    await prepare()
    const refused = await run({ args: { page: 'none' } })
    await until(isInState(refused, 'ended'))
    const id = await run()
    await until(isInState(id, 'running'))
    node.endAll()
    await until(isInState(id, 'ended'))
    const { project, spider } = await jobOf(id)
    await until(async () => (await said()).length === 2)
    expect(await said()).toEqual([`start ${project} ${spider} ${id}`, `complete ${project} ${spider} ${id} true`])
  })

  it('holds a job back until it agrees, and the job shows the reason', async () => {
    await start(
      `{ beforeDispatch: ({ attempt }) => attempt < 3 ? { veto: 'quota is used up', retryAfterSeconds: 30 } : undefined }`
    )
    await prepare()
    const id = await run()
    await until(isInState(id, 'running'))
    const { timeline, attempts } = await client.jobs.get({ id })
    expect(attempts.map(({ result, reason }) => [result, reason])).toEqual([
      ['refused', 'plugin'],
      ['refused', 'plugin'],
      [null, null]
    ])
    const vetoes = timeline.filter(({ kind }) => kind === 'refused')
    expect(vetoes.map(({ text }) => text)).toEqual(Array(2).fill('Held by the plugin ours: quota is used up'))
    const [first, second] = timeline.filter(({ kind }) => kind === 'sending')
    expect(second!.atMs - first!.atMs).toBeGreaterThanOrEqual(30_000)
    expect(node.executed.length).toBe(1)
  })

  it('ends a job that it never wants to run', async () => {
    await start(`{ beforeDispatch: () => ({ cancel: 'this customer has left' }) }`)
    await prepare()
    const id = await run()
    await until(isInState(id, 'ended'))
    expect(await jobOf(id)).toMatchObject({ status: 'cancelled', reason: 'plugin' })
    expect(node.executed).toEqual([])
  })

  it('that fails does not prevent a job from running', async () => {
    await start(`{ beforeDispatch() { process.exit(1) } }`)
    await prepare()
    const id = await run()
    await until(isInState(id, 'running'))
    expect((await client.jobs.get({ id })).timeline.find(({ kind }) => kind === 'accepted')?.evidence).toMatchObject({
      'not asked of ours': expect.stringContaining('ended itself')
    })
  })

  it('with the hook for alerts receives what rules send to its channel, and is a problem without a channel', async () => {
    await start(`{ alert({ data }) { say(data.firing.length + ' fire, ' + data.resolved.length + ' ended') } }`)
    await client.nodes.add({ url: 'http://127.0.0.1:9/', name: 'eu-1', slots: 2 })
    const isUntold = async () => (await client.system.status()).problems.some(({ id }) => id === 'alert-plugin:ours')
    await until(isUntold)
    const target = { kind: 'plugin' as const, plugin: 'ours' }
    const { channel } = await client.alertChannels.create({ name: 'Ours', target })
    await until(async () => !(await isUntold()))
    const { usual } = ALERT_WATCHES.node_down
    const rule = { ...usual, watch: 'node_down' as const, comparison: 'at_least' as const, forSeconds: 0 }
    await client.alertRules.create({ ...rule, name: 'Nodes', channels: [channel.id], gatherSeconds: 0 })
    node.isDown = true
    await until(async () => (await said()).length === 1)
    node.isDown = false
    await until(async () => (await said()).length === 2)
    expect(await said()).toEqual(['1 fire, 0 ended', '0 fire, 1 ended'])
  })

  it('that cannot be loaded prevents the start of the engine', async () => {
    await expect(start('5')).rejects.toMatchObject({ code: 'PLUGIN_UNUSABLE' })
    await start()
  })
})

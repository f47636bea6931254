import { createRouterClient } from '@orpc/server'
import { createEngine } from '../../src/engine/index.ts'
import { buildEgg } from '../../src/engine/projects/egg-builder.ts'
import type { FakeClock } from '../../src/engine/testing/fake-clock.ts'
import { FakeNode } from '../../src/engine/testing/fake-node.ts'
import { createSeededRandom } from '../../src/engine/testing/seeded-random.ts'
import { OWNER } from '../../src/engine/access/principal.ts'
import { JobDefaults } from '../../src/shared/contract/index.ts'

const HOUR_MS = 3_600_000
const RESOURCES = new URL('../../resources', import.meta.url).pathname
const shop = { project: 'shop', spiders: ['prices'] }
/** The interval of schedules, so long that they fire only when a step advances the clock. */
const LONG_SECONDS = 30 * 86_400

export async function fillThroughEngine(dataDirectory: string, clock: FakeClock): Promise<void> {
  const nodes = new Map<string, FakeNode>()
  const start = () =>
    createEngine({
      dataDirectory,
      host: 'service',
      resourcesDirectory: RESOURCES,
      scrapdeckVersion: 'fixture',
      seams: {
        clock,
        random: createSeededRandom(clock.nowMs() % 1_000_003),
        localNode: null,
        createNodeClient: ({ id }) => {
          const node = nodes.get(id) ?? new FakeNode(clock, { slots: 20 })
          nodes.set(id, node)
          return node
        },
        post: async ({ url }) =>
          url.includes('down')
            ? { kind: 'failed', problem: 'nobody answers' }
            : { kind: 'status', status: 204, retryAfterSeconds: null }
      }
    })
  let engine = await start()
  let client = createRouterClient(await engine.router(), { context: { principal: OWNER, source: 'api' } })

  async function until(isTrue: () => Promise<boolean>): Promise<void> {
    for (let turn = 0; turn < 500; turn += 1) {
      if (await isTrue()) return
      await clock.advanceBy(100)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    throw new Error('waited in vain')
  }
  async function endAll(): Promise<void> {
    await until(async () => {
      for (const node of nodes.values()) node.endAll()
      const { jobs } = await client.jobs.list({ limit: 100 })
      return jobs.every(({ state }) => state === 'ended')
    })
  }

  // --- nodes, projects, limits ------------------------------------------------------------------------------------
  const berlin = await client.nodes.add({
    url: 'http://127.0.0.1:9/',
    name: 'berlin',
    username: 'operator',
    password: 'open sesame',
    slots: 20,
    tags: ['eu'],
    group: 'europe'
  })
  const lines = ['http://10.0.0.1:6800/ name=paris tags=eu', 'http://10.0.0.2:6800/ name=lima']
  const source = { id: 'list', refreshSeconds: 86_400, node: { group: 'found' }, username: 'reader' }
  const list = (those: string[]) => ({ kind: 'list' as const, nodes: those.join('\n') })
  await client.discovery.put({ ...source, source: list(lines), password: 'of the source' })
  await client.discovery.put({ ...source, source: list(lines.slice(0, 1)) })
  await client.discovery.put({
    id: 'cluster',
    refreshSeconds: 86_400,
    node: {},
    username: 'reader',
    password: 'of the cluster',
    source: { kind: 'file', path: '/nowhere/nodes.txt' }
  })
  for (const version of ['1', '2']) {
    const egg = await buildEgg([
      { path: 'scrapy.cfg', bytes: Buffer.from('[settings]\ndefault = shop.settings\n') },
      { path: 'shop/settings.py', bytes: Buffer.from(`# ${version}\n`) }
    ])
    const file = new File([egg as Uint8Array<ArrayBuffer>], 'shop.egg')
    await client.projects.upload({ file, project: 'shop', version })
  }
  await client.projects.configure({
    project: 'shop',
    settings: {
      python: { kind: 'default' },
      limits: { wallSeconds: 3_600 },
      weight: 2,
      paused: false,
      noOverlap: false,
      retry: { attempts: 2, backoffSeconds: 30, backoffFactor: 2, backoffMaxSeconds: 3_600, on: ['lost'] },
      distribution: 'on_demand'
    }
  })
  await client.queue.setLimits({
    limits: [
      { id: 'a', project: 'shop', spider: null, tag: null, perNode: false, max: 12 },
      { id: 'b', project: null, spider: 'price*', tag: 'eu', perNode: true, max: 9 }
    ]
  })

  // --- users and tokens -------------------------------------------------------------------------------------------
  const password = 'kestrel amber drawbridge'
  await client.users.create({ name: 'anna', role: 'operator', password })
  const { user } = await client.users.create({ name: 'ci', kind: 'service', role: 'deployer' })
  await client.users
    .create({ name: 'former', role: 'viewer' })
    .then((one) => client.users.update({ id: one.user.id, enabled: false }))
  await client.tokens.create({ name: 'GitLab', userId: user.id, role: 'operator', expiresInDays: null })
  await client.tokens.create({ name: 'own', role: 'viewer' })
  await client.tokens.create({ name: 'nodes', nodeGroups: ['eu'] })
  await client.roles.create({ name: 'shop keeper', description: 'Runs jobs', permissions: ['read', 'jobs.run'] })
  const { group } = await client.groups.create({
    name: 'Crawl team',
    description: 'All crawls',
    projects: { shop: 'shop keeper' },
    members: [user.id]
  })
  await client.users.create({ name: 'eva', role: null, nodeGroups: { eu: 'admin' }, groups: [group.id] })

  // --- webhooks ---------------------------------------------------------------------------------------------------
  const hook = { events: ['job.ended' as const, 'schedule.fired' as const], project: null, enabled: true }
  const good = await client.webhooks.create({ ...hook, name: 'good', url: 'https://example.org/good' })
  await client.webhooks.rotate({ id: good.webhook.id })
  await client.webhooks.create({ ...hook, name: 'down', url: 'https://example.org/down', project: 'shop' })

  // --- jobs that ran in sequence through a chain ------------------------------------------------------------------
  await client.chains.create({
    name: 'report after prices',
    enabled: true,
    project: 'shop',
    spider: 'reports',
    on: 'succeeded',
    run: { ...shop, args: { after: '{job}', token: 'chained' }, secretNames: ['token'] }
  })
  const { chain } = await client.chains.create({
    name: 'again',
    enabled: true,
    project: 'shop',
    spider: '*',
    on: 'ended',
    run: { ...shop, args: { again: 'yes' } }
  })
  await client.jobs.run({ ...shop, args: { page: '1', token: 'a secret' }, secretNames: ['token'], nodeId: berlin.id })
  await client.jobs.run({ ...shop, settings: { DEPTH_LIMIT: '3' }, priority: 5, version: '1' })
  await endAll()
  await until(async () => (await client.chains.list()).chains.some(({ firedCount }) => firedCount === 2))
  await endAll()
  const { firedCount: _, lastFiredAtMs: __, problem: ___, ...settings } = chain
  await client.chains.update({ ...settings, enabled: false })

  // --- schedules: fired, skipped (still running), missed (engine off), failed (no such spider) --------------------
  const hourly = { rules: [{ kind: 'interval' as const, everySeconds: 3_600, anchorMs: 0 }], zone: 'Europe/Berlin' }
  const { schedule: first } = await client.schedules.create({
    ...hourly,
    name: 'hourly',
    jobs: [{ ...shop, args: { key: 'of a schedule' }, secretNames: ['key'] }],
    overlap: 'skip',
    catchUp: 'none'
  })
  await client.schedules.create({
    name: 'of a project that is gone',
    zone: 'UTC',
    jobs: [{ project: 'gone', spiders: ['none'] }],
    rules: [{ kind: 'cron', expression: '30 * * * *' }]
  })
  await clock.advanceBy(2.1 * HOUR_MS)
  await endAll()
  await engine.stop()
  await clock.advanceBy(5 * HOUR_MS)
  engine = await start()
  client = createRouterClient(await engine.router(), { context: { principal: OWNER, source: 'api' } })
  await endAll()
  await client.schedules.runNow({ id: first.id })
  await endAll()
  await client.schedules.setPaused({ ids: [first.id], paused: true, note: 'over the weekend' })

  // --- backfills: one done, one in progress -----------------------------------------------------------------------
  const anchorMs = Math.floor(clock.nowMs() / HOUR_MS) * HOUR_MS
  const past = (from: number, until: number) => ({
    fromMs: anchorMs - from * HOUR_MS,
    untilMs: anchorMs - until * HOUR_MS
  })
  const rare = {
    rules: [{ kind: 'interval' as const, everySeconds: LONG_SECONDS, anchorMs }],
    zone: 'UTC',
    jobs: [shop]
  }
  const { schedule: second } = await client.schedules.create({ ...rare, ...hourly, name: 'to be backfilled' })
  await client.schedules.backfill({ id: first.id, ...past(20, 18), order: 'newest_first', concurrency: 5 })
  await until(async () => {
    for (const node of nodes.values()) node.endAll()
    return (await client.schedules.get({ id: first.id })).backfill?.state === 'done'
  })
  await client.system.setPaused({ paused: true })
  await client.schedules.backfill({ id: second.id, ...past(30, 20), concurrency: 2 })
  await until(async () => (await client.schedules.get({ id: second.id })).backfill?.fired === 2)
  await client.schedules.setPaused({ ids: [second.id], paused: true })

  // --- crawl orders: one job, and one schedule that remembers its order (the queue is paused) ---------------------
  const order = { user_id: 'ann', project: shop.project, spider: shop.spiders[0]!, start_urls: ['https://a.example/'] }
  await client.crawl({ ...order, params: { pages: 3 } })
  await client.crawl({ ...order, params: { nested: { a: [null] } }, interval: '0 9 1 1 *', zone: 'Europe/Berlin' })

  // --- a pin, defaults with a secret, and jobs that use the defaults, omit one or override one --------------------
  const env = { REGION: 'eu', API_KEY: 'of the defaults' }
  await client.projects.changeSettings({
    project: shop.project,
    settings: {
      pinnedVersion: '1',
      cancelWaitSeconds: 900,
      defaults: JobDefaults.parse({ args: { pages: '3' }, env, secretNames: ['API_KEY'], priority: 2 }),
      spiderDefaults: { [shop.spiders[0]!]: JobDefaults.parse({ settings: { DEPTH_LIMIT: '5' }, tags: ['eu'] }) }
    }
  })
  await client.jobs.run(shop)
  await client.jobs.run({ ...shop, args: { pages: '9' }, env: { REGION: 'us', OWN: 'yes' }, nodeId: berlin.id })

  const request = { scope: 'key of a client', key: 'order-1', fingerprint: 'f1', repeatableForMs: 0 }
  await engine.answers.once(request, async () => ({ text: '{"answered":true}', isFinal: true }))
  await engine.stop()
}

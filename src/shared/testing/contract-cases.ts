/** Both the engine and the renderer's fake engine must pass these tests, so that tests of screens use real behavior. */
import { type ContractRouterClient, isContractProcedure } from '@orpc/contract'
import { describe, expect, it, onTestFinished } from 'vitest'
import { aProjectName } from './ids.ts'
import { type Contract, contract, ErrorGroupId, type JobId, type RunItem, ScheduleSettings } from '../contract/index.ts'

type Client = ContractRouterClient<Contract>

type UploadedFile = Parameters<Client['projects']['upload']>[0]['file']

export interface OpenedEngine {
  client: Client
  stop(): Promise<void> | void
}

/** Other tests cover these operations, because they need Python, a controlled spider, items, or the network. */
const NOT_COVERED = [
  'alertRules.preview',
  'alerts.report',
  'crawl',
  'crawlOrders.list',
  'crawlOrders.get',
  'crawlOrders.update',
  'crawlOrders.cancel',
  'jobs.runElsewhere',
  'nodes.adoptExternal',
  'nodes.cancelExternal',
  'projects.deploy',
  'schedules.cancelBackfill',
  'environments.log',
  'environments.rebuild',
  'items.page',
  'items.fieldStatistics',
  'items.diff',
  'items.export',
  'logs.tail',
  'system.runDemo',
  'system.createEnvironment',
  'webhooks.test'
]

const UNKNOWN = 'f'.repeat(32)
/** src/shared has neither Node's nor a browser's types, but both have File. */
const FileOf = (globalThis as unknown as { File: new (parts: string[], name: string) => UploadedFile }).File
const DAY_MS = 86_400_000
const START_MS = Date.UTC(2030, 0, 15, 3)
const shop: Omit<RunItem, 'spider'> = { project: aProjectName('shop') }
const template = { project: 'shop', spiders: ['prices'] }

/**
 * `open` returns an engine with only the node `berlin` (2 slots) and version 1 of the project `shop`.
 * `hasAlerts` false: the engine answers operations on alerts with examples.
 */
export function describeContract(name: string, open: () => Promise<OpenedEngine>, hasAlerts = true): void {
  const itHasAlerts = it.runIf(hasAlerts)
  const isMissing = (operation: string) => !hasAlerts && operation.startsWith('alert')
  const called = new Set<string>()

  async function start(): Promise<Client> {
    const { client, stop } = await open()
    onTestFinished(stop)
    const recorded = recording(client, called)
    expect(await recorded.system.setPaused({ paused: true })).toEqual({ paused: true })
    return recorded
  }
  const queueThree = async (client: Client) => {
    const { ids } = await client.jobs.runMany({
      jobs: ['prices', 'stock', 'news'].map((spider) => ({ ...shop, spider, args: { of: spider } }))
    })
    return ids as [JobId, JobId, JobId]
  }

  describe(`the contract, as ${name} fulfils it`, () => {
    it('lists jobs newest first, page by page, and by every filter', async () => {
      const client = await start()
      const ids = await queueThree(client)
      const listed = async (filter: Parameters<Client['jobs']['list']>[0]) =>
        (await client.jobs.list(filter)).jobs.map(({ spider }) => spider)
      const first = await client.jobs.list({ limit: 2 })
      expect(first.jobs.map(({ id }) => id)).toEqual([ids[2], ids[1]])
      expect(first.nextBefore).toBe(ids[1])
      const rest = await client.jobs.list({ limit: 2, before: ids[1] })
      expect([rest.jobs.map(({ id }) => id), rest.nextBefore]).toEqual([[ids[0]], null])
      expect(await listed({ spider: 's*k' })).toEqual(['stock'])
      expect(await listed({ project: 'other' })).toEqual([])
      expect(await listed({ status: ['queued'] })).toHaveLength(3)
      expect(await listed({ status: ['running', 'failed'] })).toEqual([])
      expect(await listed({ text: 'PRIC' })).toEqual(['prices'])
      expect(await listed({ nodeId: 'nowhere' })).toEqual([])
      const { jobs } = await client.jobs.run({ ...shop, spiders: ['stock'], userId: 'ann' })
      expect((await client.jobs.list({ userId: 'ann' })).jobs.map(({ id }) => id)).toEqual([jobs[0]!.id])
      expect((await client.jobs.facets({ userId: 'ann' })).status).toEqual([{ value: 'queued', count: 1 }])
      expect(await listed({ userId: 'an' })).toEqual([])
    })

    it('counts jobs by status, project and node, each without its own filter', async () => {
      const client = await start()
      const ids = await queueThree(client)
      await client.jobs.cancel({ ids: [ids[0]] })
      const counts = {
        status: [
          { value: 'queued', count: 2 },
          { value: 'cancelled', count: 1 }
        ]
      }
      const { status, project } = await client.jobs.facets({ status: ['queued'] })
      expect(status).toEqual(expect.arrayContaining(counts.status))
      expect(project).toEqual([{ value: 'shop', count: 2 }])
      const counted = await client.jobs.count({ ids: [...ids, UNKNOWN] })
      expect(counted.status).toEqual(expect.arrayContaining(counts.status))
    })

    it('describes a job, and reports one that does not exist', async () => {
      const client = await start()
      const { jobs } = await client.jobs.run({ ...template, args: { page: '2' }, priority: 3 })
      const [{ id } = { id: '' }] = jobs
      const expected = {
        id,
        jobid: id,
        spider: 'prices',
        args: { page: '2' },
        priority: 3,
        status: 'queued',
        nodeId: null
      }
      expect(jobs).toMatchObject([expected])
      const detail = await client.jobs.get({ id })
      expect(detail).toMatchObject({ job: expected, attempts: [], timeline: [{ kind: 'queued', attemptNumber: null }] })
      expect(await client.jobs.status({ id })).toMatchObject({ id, status: 'queued' })
      expect(await client.jobs.usage({ id })).toEqual({ samples: [] })
      expect(await codeOf(client.jobs.get({ id: UNKNOWN }))).toBe('JOB_NOT_FOUND')
      expect(await codeOf(client.jobs.status({ id: UNKNOWN }))).toBe('JOB_NOT_FOUND')
    })

    it('cancels a queued job at once, restores it unchanged, and runs it again as a new job', async () => {
      const client = await start()
      const [id, other] = await queueThree(client)
      expect(await client.jobs.cancel({ ids: [id] })).toEqual({ asked: [id], alreadyEnded: [] })
      expect((await client.jobs.get({ id })).job).toMatchObject({ status: 'cancelled', state: 'ended', waiting: null })
      expect(await client.jobs.cancel({ ids: [id, other] })).toEqual({ asked: [other], alreadyEnded: [id] })
      expect(await client.jobs.restore({ ids: [id] })).toEqual({ restored: [id] })
      expect((await client.jobs.get({ id })).job).toMatchObject({ status: 'queued', outcome: null, endedAtMs: null })
      const { jobs } = await client.jobs.retry({ ids: [other] })
      expect(jobs).toMatchObject([{ spider: 'stock', args: { of: 'stock' }, source: 'retry', status: 'queued' }])
      expect(jobs[0]?.id).not.toBe(other)
    })

    it('changes priority, order and placement of queued jobs only', async () => {
      const client = await start()
      const [first, second, ended] = await queueThree(client)
      await client.jobs.cancel({ ids: [ended] })
      const ids = [first, ended]
      expect(await client.jobs.setPriority({ ids, priority: 5 })).toEqual({ changed: [first] })
      expect(await client.jobs.place({ ids, nodeId: null, tags: ['eu'] })).toEqual({ changed: [first] })
      expect((await client.jobs.get({ id: first })).job).toMatchObject({ priority: 5, placement: { tags: ['eu'] } })
      expect(await client.jobs.reorder({ ids: [second], to: { before: first } })).toEqual({ changed: [second] })
      const rankOf = async (id: string) => (await client.jobs.get({ id })).job
      const [above, below] = [await rankOf(second), await rankOf(first)]
      expect([above.priority, above.rank < below.rank]).toEqual([below.priority, true])
      await client.jobs.reorder({ ids: [second], to: 'back' })
      await client.jobs.reorder({ ids: [first], to: 'front' })
      expect((await rankOf(first)).rank).toBeLessThan((await rankOf(second)).rank)
    })

    it('deduplicates by key, holds jobs that must wait, and masks secrets', async () => {
      const client = await start()
      const run = { ...shop, spider: 'prices', dedupe: { key: 'k', ttlSeconds: 3_600 } }
      const { ids, deduplicated } = await client.jobs.runMany({ jobs: [run, run] })
      expect([ids[0] === ids[1], deduplicated]).toEqual([true, 1])
      const notBeforeMs = START_MS
      const later = await client.jobs.runMany({
        jobs: [
          { ...shop, spider: 'later', notBeforeMs },
          { ...shop, spider: 'after', after: [{ jobId: ids[0] as string, on: 'succeeded' }] },
          { ...shop, spider: 'secret', args: { token: 'sesame', page: '1' }, secretNames: ['token'] }
        ]
      })
      const [held, waits, secret] = await Promise.all(later.ids.map(async (id) => (await client.jobs.get({ id })).job))
      expect(held).toMatchObject({ hold: 'not_before', notBeforeMs, waiting: { code: 'not_before' } })
      expect(waits).toMatchObject({ hold: 'dependency', waiting: { code: 'dependency' } })
      expect(JSON.stringify(secret)).not.toContain('sesame')
      expect(secret).toMatchObject({ args: { page: '1' }, secretNames: ['token'] })
    })

    it('shows the lanes and stores the limits', async () => {
      const client = await start()
      const ids = await queueThree(client)
      await client.jobs.runMany({ jobs: [{ ...shop, spider: 'prices', args: { of: 'more' } }] })
      const { lanes, total } = await client.queue.lanes({ limit: 1 })
      expect([lanes.map(({ spider, depth }) => [spider, depth]), total]).toEqual([[['prices', 2]], 3])
      const rule = { id: '1', project: 'shop', spider: null, tag: null, perNode: false, max: 4 }
      expect(await client.queue.setLimits({ limits: [rule] })).toEqual({ limits: [{ ...rule, live: 0 }] })
      expect(await client.queue.limits()).toEqual({ limits: [{ ...rule, live: 0 }] })
      await client.jobs.cancel({ ids })
      expect((await client.queue.lanes({})).total).toBe(1)
    })

    it('stores the retention policy with its revision, tells what takes the disk, and previews', async () => {
      const client = await start()
      const { revision, policy } = await client.storage.policy()
      expect([revision, policy.defaults.logs.days]).toEqual([0, 90])
      expect(await client.storage.run()).toEqual({ started: false })
      const shorter = { ...policy, defaults: { ...policy.defaults, logs: { days: 7, perSpider: null, bytes: null } } }
      expect(await client.storage.setPolicy({ revision, policy: shorter })).toEqual({ revision: 1, policy: shorter })
      expect(await client.storage.policy()).toEqual({ revision: 1, policy: shorter })
      expect(await codeOf(client.storage.setPolicy({ revision: 0, policy }))).toBe('CHANGED_MEANWHILE')
      const usage = await client.storage.usage()
      expect(usage.database.bytes).toBeGreaterThan(0)
      expect(usage.projects.find(({ project }) => project === 'shop')?.eggs.count).toBe(1)
      const paused = { ...shorter, paused: true }
      await client.storage.setPolicy({ revision: 1, policy: paused })
      expect(await client.storage.run()).toEqual({ started: false })
      const preview = await client.storage.preview({ policy: shorter })
      expect(preview).toMatchObject({ isCut: false, freesBytes: expect.any(Number) })
      expect((await client.storage.compact()).freedBytes).toBeGreaterThanOrEqual(0)
    })

    it('adds a node that pulls with a token, which is replaced and revoked', async () => {
      const client = await start()
      const { node, token } = await client.nodes.addPulling({ name: 'behind-nat' })
      expect(node).toMatchObject({ name: 'behind-nat', kind: 'pulling', hasToken: true })
      const renewed = await client.nodes.renewToken({ id: node.id })
      expect([renewed.node.hasToken, typeof renewed.token, token === '']).toEqual([true, 'string', false])
      expect((await client.nodes.revokeToken({ id: node.id })).hasToken).toBe(false)
    })

    it('has an audit log of what was done, whose hashes fit', async () => {
      const client = await start()
      const { entries } = await client.audit.list({ limit: 1 })
      const [{ seq, hash, ...entry } = { seq: 0, hash: '' }] = entries
      expect(entry).toMatchObject({ operation: 'system.setPaused', result: 'done', input: '{"paused":true}' })
      expect((await client.audit.list({ operation: 'nodes.remove' })).entries).toEqual([])
      const { entries: exported } = await client.audit.export({ after: seq - 1 })
      expect(exported[0]).toEqual(entries[0])
      const verified = await client.audit.verify({ expect: hash })
      expect(verified).toMatchObject({ broken: null, hasExpected: true, head: { seq, hash } })
    })

    it('is alone unless its database is shared, and then cannot hand over', async () => {
      const client = await start()
      const { shared, engines } = await client.engines.list()
      expect([shared, engines.map(({ state }) => state)]).toEqual([false, ['leading']])
      expect(await codeOf(client.engines.handOver({}))).toBe('BAD_INPUT')
      expect(await codeOf(client.engines.drain({ id: engines[0]!.id, drained: true }))).toBe('BAD_INPUT')
    })

    it('keeps jobs that operators mark', async () => {
      const client = await start()
      const [id] = await queueThree(client)
      expect(await client.jobs.keep({ ids: [id!, UNKNOWN] })).toEqual({ changed: [id] })
      const { job, timeline } = await client.jobs.get({ id: id! })
      expect([job.kept, timeline.at(-1)?.kind]).toEqual([true, 'changed'])
      expect(await client.jobs.keep({ ids: [id!], keep: false })).toEqual({ changed: [id] })
      expect((await client.jobs.get({ id: id! })).job.kept).toBe(false)
    })

    it('changes and removes nodes', async () => {
      const client = await start()
      const { nodes } = await client.nodes.list()
      const [{ id } = { id: '' }] = nodes
      expect(nodes).toMatchObject([{ name: 'berlin', slots: 2, slotsSource: 'set', mode: 'active', kind: 'scrapyd' }])
      const update = {
        id,
        name: 'east',
        tags: ['eu'],
        group: 'Europe',
        giveUpAfterSeconds: 900,
        password: 'x',
        username: 'me'
      }
      const { password: _password, ...shown } = update
      expect(await client.nodes.update(update)).toMatchObject({ ...shown, hasPassword: true })
      expect(await client.nodes.setMode({ id, mode: 'cordoned' })).toMatchObject({ mode: 'cordoned' })
      expect(await client.nodes.get({ id })).toMatchObject({ ...shown, mode: 'cordoned' })
      const added = await client.nodes.add({ url: 'http://127.0.0.1:10/' })
      expect((await client.nodes.list()).nodes).toHaveLength(2)
      expect(await client.nodes.remove({ id: added.id })).toEqual({ removed: added.id })
      expect(await codeOf(client.nodes.get({ id: added.id }))).toBe('NODE_NOT_FOUND')
      expect(await codeOf(client.nodes.setMode({ id: 'unknown', mode: 'active' }))).toBe('NODE_NOT_FOUND')
      const probe = await client.nodes.probe({ url: 'http://nowhere.invalid:6800/' })
      expect(probe).toMatchObject({ reachable: false, health: 'down', duplicateOf: null, projects: [] })
    })

    it('configures, pauses, pins and deletes projects and versions', async () => {
      const client = await start()
      const { projects } = await client.projects.list()
      expect(projects).toMatchObject([{ name: 'shop', latestVersion: '1', versions: [{ version: '1' }] }])
      const settings = { ...projects[0]!.settings, weight: 3 }
      expect((await client.projects.configure({ project: 'shop', settings })).settings).toMatchObject({ weight: 3 })
      const changed = await client.projects.changeSettings({ project: 'shop', settings: { noOverlap: true } })
      expect(changed.settings).toMatchObject({ weight: 3, noOverlap: true })
      expect((await client.projects.setPaused({ project: 'shop', paused: true })).settings.paused).toBe(true)
      expect((await client.projects.get({ project: 'shop' })).settings).toMatchObject({ weight: 3, paused: true })
      const pinned = await client.projects.pinVersion({ project: 'shop', version: '1' })
      expect(pinned).toMatchObject({ activeVersion: '1', settings: { pinnedVersion: '1', weight: 3 } })
      expect(await codeOf(client.projects.deleteVersion({ project: 'shop', version: '1' }))).toBe('VERSION_PINNED')
      await client.projects.pinVersion({ project: 'shop', version: null })
      await client.projects.deleteVersion({ project: 'shop', version: '1' })
      // A project without versions that is on no node no longer exists.
      expect(await codeOf(client.projects.get({ project: 'shop' }))).toBe('PROJECT_NOT_FOUND')
      expect((await client.projects.list()).projects).toEqual([])
      expect(await codeOf(client.projects.deleteProject({ project: 'shop' }))).toBe('PROJECT_NOT_FOUND')
      expect(await codeOf(client.projects.upload({ file: new FileOf(['text'], 'shop.txt') }))).toBe('EGG_NOT_A_ZIP')
    })

    it('keeps schedules: created, found, changed once, paused, removed', async () => {
      const client = await start()
      const create = (name: string, over: Partial<ScheduleSettings> = {}) =>
        client.schedules.create(settingsOf(name, over))
      const { schedule } = await create('b nightly')
      await create('a weekly', {
        jobs: [{ ...ScheduleSettings.shape.jobs.element.parse(template), project: aProjectName('other') }]
      })
      expect(schedule).toMatchObject({ name: 'b nightly', paused: false, runCount: 0, backfill: null, recent: [] })
      const page = await client.schedules.list({ limit: 1 })
      expect([page.schedules.map(({ name }) => name), page.total]).toEqual([['a weekly'], 2])
      const next = await client.schedules.list({ limit: 1, after: page.nextAfter! })
      expect([next.schedules.map(({ name }) => name), next.nextAfter]).toEqual([['b nightly'], null])
      expect((await client.schedules.list({ project: 'shop' })).total).toBe(1)
      expect((await client.schedules.list({ text: 'NIGHT' })).total).toBe(1)
      const { id, revision } = schedule
      const changed = await client.schedules.update({ ...settingsOf('nightly'), id, revision })
      expect(changed.schedule.name).toBe('nightly')
      expect(changed.schedule.revision).toBeGreaterThan(revision)
      expect(await codeOf(client.schedules.update({ ...settingsOf('late'), id, revision }))).toBe('CHANGED_MEANWHILE')
      const { schedules } = await client.schedules.setPaused({ ids: [id], paused: true, note: 'holiday' })
      expect(schedules).toMatchObject([{ paused: true, pauseNote: 'holiday', pausedBy: 'operator', nextAtMs: null }])
      expect(await client.schedules.remove({ ids: [id, UNKNOWN] })).toEqual({ removed: [id] })
      expect(await codeOf(client.schedules.get({ id }))).toBe('SCHEDULE_NOT_FOUND')
    })

    it('says when schedules fire: a span excludes its end', async () => {
      const client = await start()
      const rules = [{ kind: 'once' as const, atMs: START_MS }]
      const { schedule } = await client.schedules.create(settingsOf('once', { rules }))
      expect(schedule).toMatchObject({ nextNominalMs: START_MS, nextAtMs: START_MS })
      const timing = settingsOf('each hour', { rules: [{ kind: 'cron', expression: '0 * * * *' }] })
      const { occurrences } = await client.schedules.preview({ timing, fromMs: START_MS, count: 2 })
      expect(occurrences.map(({ nominalMs }) => nominalMs - START_MS)).toEqual([0, 3_600_000])
      const at = (untilMs: number) => ({ fromMs: START_MS, untilMs })
      expect((await client.schedules.calendar(at(START_MS + 1))).moments).toEqual([
        { scheduleId: schedule.id, atMs: START_MS }
      ])
      expect((await client.schedules.calendar({ fromMs: START_MS - DAY_MS, untilMs: START_MS })).moments).toEqual([])
      const { minutes } = await client.schedules.load(at(START_MS + 60_000))
      expect(minutes).toEqual([{ atMs: START_MS, firings: 1, jobs: 1 }])
    })

    it('shows schedules in the calendar without their jitter, and counts their load with it', async () => {
      const client = await start()
      const rules = [{ kind: 'once' as const, atMs: START_MS }]
      const { schedule } = await client.schedules.create(settingsOf('once', { rules, jitterSeconds: 86_400 }))
      expect(schedule.nextNominalMs).toBe(START_MS)
      const span = { fromMs: START_MS, untilMs: START_MS + DAY_MS + 60_000 }
      const { moments } = await client.schedules.calendar(span)
      expect(moments).toEqual([{ scheduleId: schedule.id, atMs: START_MS }])
      const { minutes } = await client.schedules.load(span)
      expect(minutes).toEqual([{ atMs: Math.floor(schedule.nextAtMs! / 60_000) * 60_000, firings: 1, jobs: 1 }])
    })

    it('fires a schedule on request, and plans a backfill', async () => {
      const client = await start()
      const { schedule } = await client.schedules.create(settingsOf('daily'))
      const { id } = schedule
      const { firing } = await client.schedules.runNow({ id })
      expect(firing).toMatchObject({ scheduleId: id, origin: 'manual', state: 'fired', reason: 'run_now', count: 1 })
      const { jobs } = await client.jobs.list({ scheduleId: id })
      expect(jobs.map((job) => [job.id, job.source])).toEqual([[firing.jobIds[0], 'schedule']])
      expect((await client.schedules.firings({ scheduleId: id })).firings.map((each) => each.id)).toEqual([firing.id])
      expect((await client.schedules.firings({ scheduleId: id, state: ['missed'] })).firings).toEqual([])
      const span = { id, fromMs: Date.UTC(2020, 0, 1), untilMs: Date.UTC(2020, 0, 4) }
      expect(await client.schedules.planBackfill(span)).toMatchObject({ count: 3, jobs: 3, alreadyRun: 0 })
      const { backfill } = await client.schedules.backfill({ ...span, order: 'oldest_first', concurrency: 1 })
      expect(backfill).toMatchObject({ scheduleId: id, state: 'running', total: 3 })
    })

    it('keeps chains and webhooks, shows a secret once, and rejects internal addresses', async () => {
      const client = await start()
      const chain = {
        name: 'then',
        project: 'shop',
        spider: 'prices',
        on: 'succeeded' as const,
        run: { ...template, spiders: ['stock'] }
      }
      const made = await client.chains.create(chain)
      expect(made.chain).toMatchObject({ name: 'then', enabled: true, firedCount: 0, problem: null })
      const { id } = made.chain
      expect((await client.chains.update({ ...chain, id, enabled: false })).chain.enabled).toBe(false)
      expect((await client.chains.list()).chains.map((each) => each.id)).toEqual([id])
      expect(await codeOf(client.chains.update({ ...chain, id: UNKNOWN }))).toBe('CHAIN_NOT_FOUND')
      expect(await client.chains.remove({ id })).toEqual({ removed: true })
      expect(await client.chains.remove({ id })).toEqual({ removed: false })

      const settings = { name: 'ours', url: 'https://93.184.215.14/in', events: ['job.ended' as const] }
      const { webhook, secret } = await client.webhooks.create(settings)
      expect(secret).toMatch(/^whsec_/)
      expect(webhook).toMatchObject({ ...settings, enabled: true, waiting: 0, dead: 0, problem: null })
      expect((await client.webhooks.rotate({ id: webhook.id })).secret).not.toBe(secret)
      const renamed = await client.webhooks.update({ ...settings, id: webhook.id, name: 'theirs' })
      expect([renamed.webhook.name, (await client.webhooks.list()).webhooks.length]).toEqual(['theirs', 1])
      expect(await client.webhooks.deliveries({ id: webhook.id })).toEqual({ deliveries: [], nextBefore: null })
      expect(await client.webhooks.replay({ id: webhook.id, deliveryIds: [] })).toEqual({ replayed: 0 })
      const inside = client.webhooks.create({ ...settings, url: 'http://127.0.0.1/in' })
      expect(await codeOf(inside)).toBe('WEBHOOK_URL_FORBIDDEN')
      expect(await client.webhooks.remove({ id: webhook.id })).toEqual({ removed: true })
      expect(await codeOf(client.webhooks.rotate({ id: webhook.id }))).toBe('WEBHOOK_NOT_FOUND')
    })

    itHasAlerts('keeps channels of alerts, rules and silences; what never fired cannot be acknowledged', async () => {
      const client = await start()
      const settings = { name: 'ours', target: { kind: 'webhook' as const, url: 'https://93.184.215.14/in' } }
      const { channel, secret } = await client.alertChannels.create(settings)
      expect(secret).toMatch(/^whsec_/)
      expect(channel).toMatchObject({ ...settings, enabled: true, quiet: null, hasSecret: true, problem: null })
      const mail = await client.alertChannels.create({
        name: 'mail',
        target: { kind: 'email', to: ['ops@example.net'], from: 'scrapdeck@example.net', host: '93.184.215.14' }
      })
      expect(mail).toMatchObject({ channel: { hasSecret: false, target: { port: 587, security: 'starttls' } } })
      expect(mail.secret).toBeUndefined()
      expect(channel).toMatchObject({ messagesPerHour: null, held: null })
      const theirs = { ...settings, id: channel.id, name: 'theirs' }
      const renamed = await client.alertChannels.update({ ...theirs, messagesPerHour: 1_000 })
      expect(renamed.channel).toMatchObject({ name: 'theirs', hasSecret: true, messagesPerHour: 1_000 })
      for (const messagesPerHour of [0, 1.5, 1_001])
        expect(await codeOf(client.alertChannels.update({ ...theirs, messagesPerHour }))).toBe('BAD_REQUEST')
      const names = [
        { id: channel.id, name: 'theirs', kind: 'webhook', projects: [] },
        { id: mail.channel.id, name: 'mail', kind: 'email', projects: [] }
      ]
      expect((await client.alertChannels.names()).channels).toEqual(expect.arrayContaining(names))
      expect((await client.alertChannels.list()).channels).toHaveLength(2)
      expect(await codeOf(client.alertChannels.update({ ...settings, id: UNKNOWN }))).toBe('ALERT_CHANNEL_NOT_FOUND')

      const wanted = {
        name: 'shop fails',
        watch: 'spider_fails' as const,
        comparison: 'at_least' as const,
        project: 'shop',
        threshold: 3,
        forSeconds: 0,
        severity: 'warning' as const,
        channels: [channel.id]
      }
      const { rule } = await client.alertRules.create(wanted)
      const state = { ...wanted, enabled: true, revision: 1, spider: null, groupBy: 'rule', escalation: null }
      expect(rule).toMatchObject(state)
      expect((await client.alertRules.list()).rules).toMatchObject([{ ...state, firing: 0, fired: 0, actedOn: 0 }])
      const change = { ...wanted, id: rule.id, revision: 1, threshold: 5 }
      expect((await client.alertRules.update(change)).rule).toMatchObject({ threshold: 5, revision: 2 })
      expect(await codeOf(client.alertRules.update(change))).toBe('CHANGED_MEANWHILE')
      const unknown = { ...wanted, channels: [UNKNOWN] }
      expect(await codeOf(client.alertRules.create(unknown))).toBe('ALERT_CHANNEL_NOT_FOUND')
      const overdue = { ...wanted, watch: 'spider_overdue' as const, threshold: 1 }
      expect(await codeOf(client.alertRules.create(overdue))).toBe('BAD_INPUT')
      expect(await client.alerts.list({ ruleId: rule.id })).toEqual({ alerts: [], nextBefore: null })
      expect(await client.alerts.acknowledge({ ids: [UNKNOWN] })).toEqual({ acknowledged: 0 })
      expect(await client.alerts.unacknowledge({ ids: [UNKNOWN] })).toEqual({ unacknowledged: 0 })
      expect(await codeOf(client.alerts.evidence({ id: UNKNOWN }))).toBe('ALERT_NOT_FOUND')

      // Computed from the engine's clock, which differs from the test's.
      const untilMs = rule.createdAtMs + DAY_MS
      const { silence } = await client.alertSilences.create({ project: 'shop', untilMs, comment: 'a new shop' })
      expect(silence).toMatchObject({ project: 'shop', spider: null, ruleId: null, untilMs, comment: 'a new shop' })
      expect((await client.alertSilences.list()).silences).toEqual([silence])
      expect(await codeOf(client.alertSilences.create({ untilMs: rule.createdAtMs - DAY_MS }))).toBe('BAD_INPUT')
      expect(await codeOf(client.alertSilences.create({ untilMs, ruleId: UNKNOWN }))).toBe('ALERT_RULE_NOT_FOUND')
      const repeats = { every: 'day' as const, zone: 'Europe/Berlin', endsMs: null }
      const nightly = { fromMs: rule.createdAtMs - 2 * DAY_MS, untilMs: rule.createdAtMs - 1.9 * DAY_MS, repeats }
      const { silence: again } = await client.alertSilences.create(nightly)
      expect((await client.alertSilences.list()).silences).toEqual(expect.arrayContaining([{ ...again, ...nightly }]))
      for (const wrong of [
        { ...nightly, repeats: { ...repeats, zone: 'Mars/North' } },
        { ...nightly, repeats: { ...repeats, endsMs: rule.createdAtMs - DAY_MS } },
        { ...nightly, untilMs: nightly.fromMs + 2 * DAY_MS }
      ])
        expect(await codeOf(client.alertSilences.create(wrong))).toBe('BAD_INPUT')
      expect(await client.alertSilences.remove({ id: silence.id })).toEqual({ removed: true })
      const ids = [silence.id, again.id]
      expect(await client.alertSilences.removeMany({ ids })).toEqual({ removed: [again.id] })
      expect(await codeOf(client.alertSilences.remove({ id: silence.id }))).toBe('ALERT_SILENCE_NOT_FOUND')

      expect(await client.alertRules.remove({ id: rule.id })).toEqual({ removed: true })
      expect(await codeOf(client.alertRules.remove({ id: rule.id }))).toBe('ALERT_RULE_NOT_FOUND')
      expect(await client.alertRules.removeMany({ ids: [rule.id] })).toEqual({ removed: [] })
      expect(await client.alertChannels.remove({ id: channel.id })).toEqual({ removed: true })
      expect(await codeOf(client.alertChannels.remove({ id: channel.id }))).toBe('ALERT_CHANNEL_NOT_FOUND')
    })

    itHasAlerts('returns the notices of desktop channels from the position where a reader began', async () => {
      const client = await start()
      const { channel } = await client.alertChannels.create({ name: 'desk', target: { kind: 'desktop' } })
      const { after, notices: earlier } = await client.alerts.notices({})
      expect(earlier).toEqual([])
      expect(await client.alertChannels.test({ id: channel.id })).toMatchObject({ ok: true })
      const sent = await client.alerts.notices({ after })
      const nothing = { severity: null, alertIds: [], retryJobIds: [] }
      expect(sent.notices).toMatchObject([{ ...nothing, title: 'Test: Scrapdeck', atMs: expect.any(Number) }])
      expect(await client.alerts.notices({ after: sent.after })).toEqual({ notices: [], after: sent.after })
      expect(await client.alerts.notices({})).toEqual({ notices: [], after: sent.after })

      const { id, name, target } = channel
      await client.alertChannels.update({ id, name, target, enabled: false })
      expect(await client.alertChannels.test({ id })).toMatchObject({ ok: false })
      expect((await client.alerts.notices({ after: sent.after })).notices).toEqual([])
    })

    it('lets only users with a password have second factors, which an owner resets', async () => {
      const client = await start()
      const current = 'kestrel amber drawbridge'
      expect(await client.secondFactors.get()).toMatchObject({ hasPassword: false, authenticator: null, passkeys: [] })
      const credential = {
        id: 'AbCd',
        rawId: 'AbCd',
        type: 'public-key' as const,
        response: { clientDataJSON: '', attestationObject: '' }
      }
      for (const refused of [
        client.secondFactors.beginAuthenticator({ current }),
        client.secondFactors.confirmAuthenticator({ code: '123456' }),
        client.secondFactors.removeAuthenticator({ current }),
        client.secondFactors.renewRecoveryCodes({ current }),
        client.secondFactors.beginPasskey({ current }),
        client.secondFactors.addPasskey({ name: 'laptop', credential }),
        client.secondFactors.removePasskey({ id: UNKNOWN, current })
      ]) {
        expect(await codeOf(refused)).toBe('BAD_INPUT')
      }
      const { user } = await client.users.create({ name: 'dora', role: 'viewer', password: current })
      expect(user).toMatchObject({ hasAuthenticator: false, passkeyCount: 0 })
      expect(await client.secondFactors.reset({ id: user.id })).toEqual({ user })
      expect(await codeOf(client.secondFactors.reset({ id: UNKNOWN }))).toBe('USER_NOT_FOUND')
      await client.users.remove({ id: user.id })
    })

    it('keeps users and tokens, shows a token once, and knows who asks', async () => {
      const client = await start()
      expect(await client.users.me()).toMatchObject({ userId: null, role: 'owner', tokenId: null })
      const password = 'kestrel amber drawbridge'
      const { user: anna } = await client.users.create({ name: 'anna2', role: 'operator', password })
      expect(anna).toMatchObject({ name: 'anna2', kind: 'person', role: 'operator', enabled: true, hasPassword: true })
      expect(await codeOf(client.users.create({ name: 'anna2', role: 'viewer' }))).toBe('USER_NAME_TAKEN')
      const changed = await client.users.update({ id: anna.id, role: 'viewer', enabled: false })
      expect(changed.user).toEqual({ ...anna, role: 'viewer', enabled: false })
      expect((await client.users.list()).users).toContainEqual(changed.user)
      expect(await codeOf(client.users.update({ id: UNKNOWN, enabled: true }))).toBe('USER_NOT_FOUND')
      const { secret, token } = await client.tokens.create({ name: 'laptop', userId: anna.id, expiresInDays: null })
      expect([secret, token]).toEqual([
        expect.stringMatching(/^sdk_[\w-]{51}$/),
        expect.objectContaining({
          userId: anna.id,
          name: 'laptop',
          role: 'viewer',
          ending: secret.slice(-8),
          expiresAtMs: null
        })
      ])
      expect((await client.tokens.list()).tokens).toContainEqual(token)
      expect(await client.tokens.revoke({ id: token.id })).toEqual({ revoked: true })
      expect(await codeOf(client.tokens.revoke({ id: UNKNOWN }))).toBe('TOKEN_NOT_FOUND')
      expect((await client.sessions.list()).sessions).toEqual([])
      expect(await codeOf(client.sessions.revoke({ id: UNKNOWN }))).toBe('SESSION_NOT_FOUND')
      // Only a user with a browser can sign in programs.
      const to = { kind: 'code' as const, userCode: 'WDJB-MJHT' }
      for (const call of [client.signIns.get(to), client.signIns.approve({ to }), client.signIns.deny(to)]) {
        expect(await codeOf(call)).toBe('BROWSER_REQUIRED')
      }
      expect(await client.users.remove({ id: anna.id })).toEqual({ removed: true })
      expect(await codeOf(client.users.changePassword({ current: 'x', password }))).toBe('BAD_INPUT')
    })

    it('keeps roles as sets of permissions, which users have until they have another', async () => {
      const client = await start()
      const wanted = { name: 'night shift', description: 'At night', permissions: ['jobs.cancel' as const] }
      const { role } = await client.roles.create(wanted)
      expect(role).toEqual({ ...wanted, permissions: ['read', 'jobs.cancel'], isBuiltIn: false, isForProjects: true })
      expect(await codeOf(client.roles.create(wanted))).toBe('ROLE_NAME_TAKEN')
      const changed = await client.roles.update({ name: role.name, permissions: ['audit.read'] })
      expect(changed.role).toEqual({ ...role, permissions: ['read', 'audit.read'], isForProjects: false })
      const { roles } = await client.roles.list()
      expect(roles.map(({ name }) => name)).toEqual(expect.arrayContaining(['viewer', 'owner', role.name]))
      expect(roles).toContainEqual(changed.role)
      const { user } = await client.users.create({ name: 'kim', kind: 'service', role: role.name })
      expect(await codeOf(client.roles.remove({ name: role.name }))).toBe('ROLE_IN_USE')
      await client.users.remove({ id: user.id })
      expect(await client.roles.remove({ name: role.name })).toEqual({ removed: true })
      expect(await codeOf(client.roles.update({ name: role.name }))).toBe('ROLE_NOT_FOUND')
    })

    it('keeps groups of users, whose members come and go', async () => {
      const client = await start()
      const { user: eva } = await client.users.create({ name: 'eva2', role: 'viewer' })
      const nodeGroups = { eu: 'admin' as const }
      const { group } = await client.groups.create({ name: 'Night watch', nodeGroups, members: [eva.id] })
      expect(group).toMatchObject({ name: 'Night watch', description: '', role: null, nodeGroups, members: [eva.id] })
      expect(await codeOf(client.groups.create({ name: 'Night watch' }))).toBe('GROUP_NAME_TAKEN')
      const { user: kim } = await client.users.create({ name: 'kim2', role: null, groups: [group.id] })
      const changed = await client.groups.update({ id: group.id, role: 'operator', removeMembers: [eva.id] })
      expect(changed.group).toEqual({ ...group, role: 'operator', members: [kim.id] })
      const both = await client.groups.update({ id: group.id, addMembers: [eva.id] })
      expect(new Set(both.group.members)).toEqual(new Set([eva.id, kim.id]))
      expect(await codeOf(client.groups.update({ id: group.id, addMembers: [UNKNOWN as never] }))).toBe(
        'USER_NOT_FOUND'
      )
      await client.users.remove({ id: kim.id })
      const { groups } = await client.groups.list()
      expect(groups.find(({ id }) => id === group.id)?.members).toEqual([eva.id])
      expect(await client.groups.remove({ id: group.id })).toEqual({ removed: true })
      expect(await codeOf(client.groups.remove({ id: group.id }))).toBe('GROUP_NOT_FOUND')
      expect((await client.users.list()).users).toContainEqual(eva)
    })

    it('keeps sources of nodes, and reports an environment that does not exist', async () => {
      const client = await start()
      const source = { kind: 'list' as const, nodes: 'http://127.0.0.1:9/' }
      const put = await client.discovery.put({ id: 'ours', source, password: 'x', username: 'me' })
      expect(put).toMatchObject({ id: 'ours', source, hasPassword: true, isFromConfiguration: false })
      expect((await client.discovery.put({ id: 'ours', source, username: 'me' })).hasPassword).toBe(true)
      expect(await client.discovery.refresh({ id: 'ours' })).toMatchObject({ id: 'ours', problem: null })
      expect((await client.discovery.list()).sources.map(({ id }) => id)).toEqual(['ours'])
      expect(await client.discovery.remove({ id: 'ours' })).toEqual({ removed: 'ours' })
      expect(await codeOf(client.discovery.refresh({ id: 'ours' }))).toBe('NOT_FOUND')
      expect(await client.environments.list()).toMatchObject({ environments: expect.any(Array) })
      expect(await codeOf(client.environments.remove({ id: 'none' }))).toBe('NOT_FOUND')
    })

    it('a fleet that matches its file needs no change', async () => {
      const client = await start()
      const { yaml } = await client.fleetFile.export({})
      expect(await client.fleetFile.plan({ yaml })).toEqual({ changes: [] })
      expect(await client.fleetFile.apply({ yaml })).toEqual({ changes: [] })
    })

    it('reports status: figures, problems, credentials; a job that never ran has no log', async () => {
      const client = await start()
      const [id] = await queueThree(client)
      const { figures, problems } = await client.system.status()
      expect(figures).toMatchObject({ running: 0, slotsTotal: 2, paused: true })
      expect(problems).toEqual(expect.any(Array))
      expect(await client.system.history()).toMatchObject({ samples: expect.any(Array) })
      expect(await client.system.logOutEverywhere()).toEqual({ ended: 0 })
      expect(await codeOf(client.logs.read({ jobId: id, offset: 0 }))).toBe('LOG_NOT_FOUND')
      expect(await codeOf(client.logs.read({ jobId: UNKNOWN, offset: 0 }))).toBe('JOB_NOT_FOUND')
      expect(await codeOf(client.jobs.figures({ id }))).toBe('LOG_NOT_FOUND')
      expect(await codeOf(client.logs.locate({ jobId: id, line: 1 }))).toBe('LOG_NOT_FOUND')
      const search = client.logs.search({ jobId: id, text: 'error' }).then((stream) => stream.next())
      expect(await codeOf(search)).toBe('LOG_NOT_FOUND')
      expect(await codeOf(client.items.describe({ jobId: id }))).toBe('ITEMS_NOT_FOUND')
      expect(await codeOf(client.items.describe({ jobId: UNKNOWN as JobId }))).toBe('JOB_NOT_FOUND')
      expect(await codeOf(client.items.read({ jobId: id, index: 0 }))).toBe('ITEMS_NOT_FOUND')
      expect(await codeOf(client.items.readExport({ id: UNKNOWN }))).toBe('NOT_FOUND')
    })

    it('lists the errors of runs and the processes of live jobs: none, before anything ran', async () => {
      const client = await start()
      const [id] = await queueThree(client)
      expect(await client.jobs.running()).toEqual({ jobs: [], total: 0 })
      expect(await client.errors.list({ project: 'shop', state: 'open' })).toEqual({ groups: [], nextBefore: null })
      expect(await client.errors.ofJob({ jobId: id })).toEqual({ errors: [] })
      expect(await codeOf(client.errors.ofJob({ jobId: UNKNOWN as JobId }))).toBe('JOB_NOT_FOUND')
      const unknown = ErrorGroupId.parse(4_000_000)
      expect(await codeOf(client.errors.get({ id: unknown }))).toBe('ERROR_GROUP_NOT_FOUND')
      expect(await client.errors.setState({ ids: [unknown], state: 'resolved' })).toEqual({ changed: [] })
      const lines = []
      let last = null
      for await (const progress of await client.logs.searchAll({ text: 'no log has this', project: 'nothing-*' })) {
        lines.push(...progress.hits)
        last = progress
      }
      expect(lines).toEqual([])
      expect(last).toMatchObject({ stoppedBy: 'end', cursor: null, unreadable: 0, scanned: { logs: 0, bytes: 0 } })
      let zipped = 0
      for await (const { logs } of await client.logs.zip({ jobIds: [id, UNKNOWN as JobId] })) zipped = logs
      expect(zipped).toBe(2)
    })

    it('streams changes from now on, and from a cursor on', async () => {
      const client = await start()
      const stream = await client.events.subscribe({})
      const first = await stream.next()
      expect(first.value).toMatchObject({ reset: false, changes: [] })
      const [id] = await queueThree(client)
      const hasChange = async (from: AsyncIterator<unknown>) => {
        for (let batch = 0; batch < 20; batch += 1) {
          const { changes } = (await from.next()).value as { changes: { kind: string; job?: { id: string } }[] }
          if (changes.some((change) => change.kind === 'job' && change.job?.id === id)) return true
        }
        return false
      }
      expect(await hasChange(stream)).toBe(true)
      await stream.return?.(undefined)
      const again = await client.events.subscribe({ after: (first.value as { cursor: string }).cursor })
      expect(await hasChange(again)).toBe(true)
      await again.return?.(undefined)
    })

    it('compares only runs that succeeded with earlier ones, and dismisses only what is there', async () => {
      const client = await start()
      const { jobs } = await client.jobs.run({ ...shop, spiders: ['prices'] })
      const [{ id, project, spider }] = jobs as [(typeof jobs)[0]]
      expect((await client.findings.list()).spiders.map(({ jobId }) => jobId)).not.toContain(id)
      expect(await client.findings.ofJob({ id })).toMatchObject({ state: 'not_succeeded', findings: [] })
      expect(await client.findings.dismiss({ project, spider, jobId: id })).toEqual({ dismissed: false })
      expect(await codeOf(client.findings.ofJob({ id: UNKNOWN as JobId }))).toBe('JOB_NOT_FOUND')
    })

    it('has a case for every operation', () => {
      const missing = operationsOf(contract).filter(isMissing)
      expect(new Set([...called, ...NOT_COVERED, ...missing])).toEqual(new Set(operationsOf(contract)))
      expect(NOT_COVERED.filter((operation) => called.has(operation))).toEqual([])
    })
  })
}

const settingsOf = (name: string, over: Partial<ScheduleSettings> = {}): ScheduleSettings =>
  ScheduleSettings.parse({
    name,
    zone: 'UTC',
    rules: [{ kind: 'cron', expression: '0 3 * * *' }],
    jobs: [template],
    ...over
  })

async function codeOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => 'no error',
    (error: { code?: unknown }) => error.code ?? error
  )
}

function operationsOf(part: object, path: string[] = []): string[] {
  if (isContractProcedure(part)) return [path.join('.')]
  return Object.entries(part).flatMap(([name, inner]) => operationsOf(inner as object, [...path, name]))
}

function recording<T extends object>(client: T, called: Set<string>, path: string[] = []): T {
  return new Proxy(client, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      // Awaiting this client looks up `then`, which must be undefined.
      return typeof value === 'function' || (typeof value === 'object' && value !== null)
        ? recording(value, called, [...path, String(name)])
        : value
    },
    apply: (target, self, args) => {
      called.add(path.join('.'))
      return Reflect.apply(target as never, self, args)
    }
  })
}

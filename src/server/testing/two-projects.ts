import { onTestFinished } from 'vitest'
import { buildEgg } from '../../engine/projects/egg-builder.ts'
import { type EngineWithFakeNode, openEngineWithFakeNode } from '../../engine/testing/engine-with-fake-node.ts'
import { branded } from '../../shared/testing/ids.ts'

/** A word in every name in the other project. */
export const SECRET = 'zzquiet'
export const OTHER = `${SECRET}-project`
/** A word in everything that only admins and owners can see, in any project: users, webhooks, values of secrets. */
export const SEALED = 'zzsealed'

const INTERVAL = { rules: [{ kind: 'interval' as const, everySeconds: 3_600, anchorMs: 0 }], zone: 'UTC' }
const LOG = (word: string) =>
  `2026-11-28 02:00:00 [scrapy.core.scraper] ERROR: ${word} went wrong\nTraceback (most recent call last):\n  File "/a/${word}.py", line 3, in parse\n    x\nValueError: ${word}\n`
const ITEMS = (word: string) => `{"name": "${word}-item", "price": 3}\n{"name": "${word}-thing", "price": 4}\n`

type Client = EngineWithFakeNode['client']
export type TwoProjects = Awaited<ReturnType<typeof fillTwoProjects>>
export type Ids = Record<
  'job' | 'queued' | 'schedule' | 'chain' | 'order' | 'errorGroup' | 'alertRule' | 'alertSilence' | 'alert',
  string
>

/** Fills two projects with one of everything. A user with rights only in `shop` must not notice the other one. */
export async function openTwoProjects() {
  const opened = await fillTwoProjects()
  onTestFinished(() => opened.remove())
  return opened
}

/** Like openTwoProjects, but for several tests, which must close the engine themselves. */
export async function fillTwoProjects(opened?: EngineWithFakeNode) {
  return fillBoth(opened ?? (await openEngineWithFakeNode()))
}

async function fillBoth(opened: EngineWithFakeNode) {
  const { node, client, clock } = opened
  node.spiders = null
  await opened.prepare('berlin')
  const egg = await buildEgg([
    { path: 'scrapy.cfg', bytes: Buffer.from('[settings]\ndefault = a.settings\n') },
    { path: 'a/settings.py', bytes: Buffer.from('') }
  ])
  await client.projects.upload({
    file: new File([egg as Uint8Array<ArrayBuffer>], 'a.egg'),
    project: OTHER,
    version: `${SECRET}-1`
  })
  const own = await fill('shop', 'own')
  const other = await fill(OTHER, SECRET)
  const rules = [own, other].map((_, index) => {
    const project = [OTHER, 'shop'][index]!
    return { id: String(index), project, spider: null, tag: null, perNode: false, max: 9 }
  })
  await client.queue.setLimits({ limits: rules })
  await clock.advanceBy(5_000)
  return { ...opened, engine: opened.engine, client, own, other }

  async function runOf(spider: string): Promise<string> {
    const find = () => node.running.find((run) => run.spider === spider)
    await opened.until(async () => {
      if (find() === undefined) node.endAll()
      return find() !== undefined
    })
    return find()!.jobid
  }

  async function fill(project: string, word: string): Promise<Ids> {
    const run = { project, spiders: [`${word}-spider`] }
    const defaults = {
      args: { [`${word}-default`]: word, token: `${SEALED}-value` },
      secretNames: ['token'],
      settings: { USER_AGENT: `${word}-agent` },
      env: { [`${word}_VARIABLE`]: word }
    }
    const settings = { defaults, spiderDefaults: { [`${word}-spider`]: { tags: [`!${word}-tag`] } }, keepItems: true }
    await client.projects.changeSettings({ project, settings } as never)
    const { rule } = await client.alertRules.create({
      name: `${word}-rule`,
      project: branded(project),
      spider: `${word}-spider`,
      watch: 'spider_items',
      comparison: 'at_least',
      threshold: 1,
      forSeconds: 0,
      severity: 'warning',
      owner: word,
      channels: []
    })
    const { jobs } = await client.jobs.run({
      ...run,
      args: { [word]: word },
      userId: word,
      settings: { LOG_LEVEL: word },
      dedupe: { key: `${word}-key`, ttlSeconds: 1_000_000 }
    })
    const id = jobs[0]!.id
    const jobid = await runOf(`${word}-spider`)
    node.items.set(jobid, Buffer.from(ITEMS(word)))
    await opened.until(async () => (await client.jobs.get({ id })).job.state === 'running')
    node.end(jobid)
    node.logs.set(jobid, LOG(word) + node.logs.get(jobid)!)
    await opened.until(async () => (await client.jobs.get({ id })).job.state === 'ended')
    await opened.until(async () => (await client.errors.list({ project })).groups.length > 0)
    await client.jobs.run({ ...run, spiders: [`${word}-live`] })
    await runOf(`${word}-live`)
    const { jobs: waiting } = await client.jobs.run({ ...run, notBeforeMs: clock.nowMs() + 90_000_000 })
    await client.jobs.run({ ...run, spiders: [`${word}-held`], tags: ['nowhere'] })
    const { schedule } = await client.schedules.create({ ...INTERVAL, name: `${word}-schedule`, jobs: [run] })
    await client.schedules.runNow({ id: schedule.id })
    const chain = await client.chains.create({
      name: `${word}-chain`,
      project,
      spider: '*',
      on: 'failed',
      run: { project, spiders: [word] }
    })
    const order = await client.crawl({
      user_id: word,
      project,
      spider: `${word}-spider`,
      interval: 86_400
    } as never)
    const { groups } = await client.errors.list({ project })
    const { silence } = await client.alertSilences.create({
      project: branded(project),
      untilMs: clock.nowMs() + 86_400_000,
      comment: word
    })
    const alertOf = async () => (await client.alerts.list({ ruleId: rule.id })).alerts[0]
    await opened.until(async () => (await alertOf()) !== undefined)
    return {
      alertRule: rule.id,
      alertSilence: silence.id,
      alert: (await alertOf())!.id,
      job: id,
      queued: waiting[0]!.id,
      schedule: schedule.id,
      chain: chain.chain.id,
      order: String((order.body as { schedule_id: unknown }).schedule_id),
      errorGroup: String(groups[0]!.id)
    }
  }
}

/** What an owner sees of the other project, except what changes on its own, such as log-based figures. */
export async function stateOfOther(of: Client) {
  const [jobs, schedules, chains, errors, project, orders, alerts, rules, silences] = await Promise.all([
    of.jobs.list({ project: OTHER }),
    of.schedules.list({ project: branded(OTHER) }),
    of.chains.list({}),
    of.errors.list({ project: OTHER }),
    of.projects.get({ project: OTHER }),
    of.crawlOrders.list({ project: branded(OTHER) }),
    of.alerts.list({}),
    of.alertRules.list(),
    of.alertSilences.list()
  ])
  const here = chains.chains.filter((chain) => chain.project === OTHER || chain.run.project === OTHER)
  const listed = jobs.jobs.map(({ id, priority, kept, cancelAskedAtMs, after }) => ({
    id,
    priority,
    kept,
    cancelAskedAtMs,
    after
  }))
  const planned = schedules.schedules.map(({ id, revision, paused, jobs: runs }) => ({ id, revision, paused, runs }))
  const groups = errors.groups.map(({ id, state }) => ({ id, state }))
  const ordered = orders.orders.map(({ status: _status, ...order }) => order)
  const isHere = (one: { project: string | null }) => one.project === OTHER
  const fired = alerts.alerts
    .filter(({ labels }) => isHere(labels))
    .map(({ id, acknowledged }) => ({ id, acknowledged }))
  const ruled = rules.rules.filter(isHere).map(({ id, revision }) => ({ id, revision }))
  return { listed, planned, here, groups, project, ordered, fired, ruled, silenced: silences.silences.filter(isHere) }
}

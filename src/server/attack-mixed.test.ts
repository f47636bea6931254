import { createRouterClient } from '@orpc/server'
import { expect, it, onTestFinished } from 'vitest'
import { type Rights, rightsOf } from '../engine/access/rights.ts'
import { OWNER, type Principal } from '../engine/access/principal.ts'
import { openEngineWithFakeNode } from '../engine/testing/engine-with-fake-node.ts'
import { buildEgg } from '../engine/projects/egg-builder.ts'
import { branded } from '../shared/testing/ids.ts'

const principalWith = (rights: Rights, role: Principal['role']): Principal => ({
  ...{ ...OWNER, userId: branded('a'.repeat(32)), name: 'anna', role, rights }
})
async function open(
  projects: Record<string, 'viewer' | 'operator' | 'deployer'>,
  role: 'viewer' | 'operator' | 'deployer'
) {
  const opened = await openEngineWithFakeNode()
  onTestFinished(() => opened.remove())
  opened.node.spiders = null
  await opened.prepare('berlin')
  const egg = await buildEgg([
    { path: 'scrapy.cfg', bytes: Buffer.from('[settings]\ndefault = a.settings\n') },
    { path: 'a/settings.py', bytes: Buffer.from('') }
  ])
  for (const project of ['news'])
    await opened.client.projects.upload({
      file: new File([egg as Uint8Array<ArrayBuffer>], 'a.egg'),
      project,
      version: '1'
    } as never)
  const principal = principalWith(rightsOf(null, projects), role)
  const limited = createRouterClient(await opened.engine.router(), { context: { principal, source: 'api' as const } })
  return { ...opened, limited }
}

it('a job of shop that waits for one of news must not name it to a viewer of shop', async () => {
  const { client, limited } = await open({ shop: 'viewer' }, 'viewer')
  const { jobs } = await client.jobs.run({ project: 'news', spiders: ['x'] } as never)
  const newsId = jobs[0]!.id
  const { jobs: own } = await client.jobs.run({
    project: 'shop',
    spiders: ['x'],
    after: [{ jobId: newsId, on: 'succeeded' }]
  } as never)
  const seen = JSON.stringify(await limited.jobs.get({ id: own[0]!.id }))
  await client.jobs.cancel({ ids: [newsId], force: true } as never)
  const later = JSON.stringify(await limited.jobs.get({ id: own[0]!.id }))
  console.log(later.slice(0, 1800))
  expect([seen.includes(newsId), later.includes(newsId)]).toEqual([false, false])
})

it('a job that a chain of news started in shop must not tell of news', async () => {
  const { client, limited, node, until } = await open({ shop: 'viewer' }, 'viewer')
  await client.chains.create({
    name: 'zz-secret-chain',
    project: 'news',
    spider: '*',
    on: 'ended',
    run: { project: 'shop', spiders: ['x'] }
  } as never)
  const { jobs } = await client.jobs.run({ project: 'news', spiders: ['x'] } as never)
  await until(async () => node.running.length > 0)
  node.endAll()
  await until(async () => (await client.jobs.list({ project: 'shop' } as never)).jobs.length > 0)
  const [own] = (await client.jobs.list({ project: 'shop' } as never)).jobs
  const seen = JSON.stringify(await limited.jobs.get({ id: own!.id }))
  console.log(seen.slice(0, 2500))
  expect([seen.includes('zz-secret-chain'), seen.includes('news'), seen.includes(jobs[0]!.id)]).toEqual([
    false,
    false,
    false
  ])
})

it('a job moved before one of news names it in its timeline', async () => {
  const { client, limited } = await open({ shop: 'viewer' }, 'viewer')
  const later = { notBeforeMs: 1_900_000_000_000 }
  const { jobs } = await client.jobs.run({ project: 'news', spiders: ['x'], ...later } as never)
  const { jobs: own } = await client.jobs.run({ project: 'shop', spiders: ['x'], ...later } as never)
  await client.jobs.reorder({ ids: [own[0]!.id], to: { before: jobs[0]!.id } } as never)
  const seen = JSON.stringify(await limited.jobs.get({ id: own[0]!.id }))
  console.log(seen.slice(-500))
  expect(seen.includes(jobs[0]!.id)).toBe(false)
})

it('firings of a mixed schedule and jobs of it', async () => {
  const { client, limited } = await open({ shop: 'viewer' }, 'viewer')
  const { schedule } = await client.schedules.create({
    rules: [{ kind: 'interval', everySeconds: 3600, anchorMs: 0 }],
    zone: 'UTC',
    name: 'zz-mixed',
    jobs: [
      { project: 'shop', spiders: ['x'] },
      { project: 'news', spiders: ['zz-news-spider'] }
    ]
  } as never)
  await client.schedules.runNow({ id: schedule.id })
  const all = [
    JSON.stringify(await limited.schedules.firings({} as never)),
    JSON.stringify(await limited.schedules.firings({ id: schedule.id } as never).catch((e) => e.message)),
    JSON.stringify(await limited.schedules.firings({ scheduleId: schedule.id } as never).catch((e) => e.message)),
    JSON.stringify(await limited.schedules.list({} as never)),
    JSON.stringify(
      await limited.schedules
        .load({ fromMs: 1_800_000_000_000, untilMs: 1_800_086_400_000 } as never)
        .catch((e) => e.message)
    ),
    JSON.stringify(
      await limited.schedules
        .calendar({ fromMs: 1_800_000_000_000, untilMs: 1_800_086_400_000 } as never)
        .catch((e) => e.message)
    ),
    JSON.stringify(await limited.jobs.list({ scheduleId: schedule.id } as never)),
    JSON.stringify(await limited.jobs.list({} as never))
  ]
  for (const text of all) console.log(text.slice(0, 400))
  expect(all.filter((text) => /zz-mixed|zz-news/.test(text))).toEqual([])
})

it('whoever may only view everything but operate shop does not change the order of news', async () => {
  const { client, limited } = await open({ shop: 'operator' }, 'operator')
  const later = { notBeforeMs: 1_900_000_000_000 }
  const { jobs: news } = await client.jobs.run({ project: 'news', spiders: ['x'], ...later } as never)
  const answer = await limited.jobs.reorder({ ids: [news[0]!.id], to: 'front' } as never)
  const empty = await limited.jobs.retry({ ids: [news[0]!.id] } as never)
  const zip = await limited.logs.zip({ jobIds: [news[0]!.id] } as never).then(
    async (it) => {
      const a = []
      for await (const p of it) a.push(p)
      return a
    },
    (e) => e.message
  )
  console.log(answer, empty, JSON.stringify(zip).slice(0, 300))
  expect(answer).toEqual({ changed: [] })
})

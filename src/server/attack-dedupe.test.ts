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
  role: 'viewer' | 'operator' | 'deployer' = 'operator',
  projects: Record<string, never> = { shop: role } as never
) {
  const opened = await openEngineWithFakeNode()
  onTestFinished(() => opened.remove())
  opened.node.spiders = null
  await opened.prepare('berlin')
  const egg = await buildEgg([
    { path: 'scrapy.cfg', bytes: Buffer.from('[settings]\ndefault = a.settings\n') },
    { path: 'a/settings.py', bytes: Buffer.from('') }
  ])
  await opened.client.projects.upload({
    file: new File([egg as Uint8Array<ArrayBuffer>], 'a.egg'),
    ...{ project: 'news', version: '1' }
  } as never)
  const principal = principalWith(rightsOf(null, projects), role)
  const limited = createRouterClient(await opened.engine.router(), { context: { principal, source: 'api' as const } })
  return { ...opened, limited }
}

it('runMany must not return the id of a job of another project that has the dedupe key', async () => {
  const { client, limited } = await open()
  const { jobs } = await client.jobs.run({
    project: 'news',
    spiders: ['x'],
    dedupe: { key: 'daily-news', ttlSeconds: 1000 }
  } as never)
  const answer = await limited.jobs
    .runMany({ jobs: [{ project: 'shop', spider: 'x', dedupe: { key: 'daily-news', ttlSeconds: 1000 } }] } as never)
    .catch((error: unknown) => ({ ids: [], error: String(error) }))
  console.log(answer, jobs[0]!.id)
  expect(JSON.stringify(answer)).not.toContain(jobs[0]!.id)
})

it('renew in shop must not take the key away from news', async () => {
  const { client, limited } = await open()
  const news = { project: 'news', spiders: ['x'], dedupe: { key: 'daily-news', ttlSeconds: 1000 } }
  const { jobs } = await client.jobs.run(news as never)
  await limited.jobs
    .run({ project: 'shop', spiders: ['x'], dedupe: { key: 'daily-news', ttlSeconds: 1000, renew: true } } as never)
    .catch((e) => console.log(String(e)))
  const again = await client.jobs.run(news as never)
  console.log(again.jobs[0]!.project)
  expect(again.jobs[0]!.id).toBe(jobs[0]!.id)
})

it('somebody in shop must not swallow the crawl orders of news in advance', async () => {
  const { client, limited } = await open()
  // What the key of a crawl of news is: learned from one of one's own, or computed.
  const { keyOf } = await import('../engine/commands/crawl-order.ts')
  const input = { project: 'news', spider: 'x', user_id: null, start_urls: ['https://a.example'], zone: 'UTC' }
  const key = `crawl:${keyOf({ ...input, atMs: null } as never)}`
  await limited.jobs.run({ project: 'shop', spiders: ['x'], dedupe: { key, ttlSeconds: 100000 } } as never)
  const order = await client.crawl({ project: 'news', spider: 'x', start_urls: ['https://a.example'] } as never)
  const id = (order.body as { job_id: string }).job_id
  const { job } = await client.jobs.get({ id: id as never })
  console.log(order.body, job.project)
  expect(job.project).toBe('news')
})

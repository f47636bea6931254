import { createRouterClient } from '@orpc/server'
import { expect, it, onTestFinished } from 'vitest'
import { type Rights, rightsOf } from '../engine/access/rights.ts'
import { OWNER, type Principal } from '../engine/access/principal.ts'
import { openEngineWithFakeNode } from '../engine/testing/engine-with-fake-node.ts'
import { buildEgg } from '../engine/projects/egg-builder.ts'
import { SECRET_MASK } from '../shared/contract/index.ts'
import { branded } from '../shared/testing/ids.ts'

const principalWith = (rights: Rights, role: Principal['role']): Principal => ({
  ...{ ...OWNER, userId: branded('a'.repeat(32)), name: 'anna', role, rights }
})
const INTERVAL = { rules: [{ kind: 'interval' as const, everySeconds: 3_600, anchorMs: 0 }], zone: 'UTC' }

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
  for (const project of ['news', 'evil'])
    await opened.client.projects.upload({
      file: new File([egg as Uint8Array<ArrayBuffer>], 'a.egg'),
      ...{ project, version: '1' }
    } as never)
  const principal = principalWith(rightsOf(null, projects), role)
  const limited = createRouterClient(await opened.engine.router(), { context: { principal, source: 'api' as const } })
  return { ...opened, limited }
}

const secretJobs = [{ project: 'news', spiders: ['x'], args: { token: 'hunter2-of-news' }, secretNames: ['token'] }]

it('an operator of shop must not overwrite a schedule of news with replace, nor learn that its name is taken', async () => {
  const { client, limited } = await open({ shop: 'operator' }, 'operator')
  const { schedule } = await client.schedules.create({ ...INTERVAL, name: 'nightly', jobs: secretJobs } as never)
  const mine = { ...INTERVAL, name: 'nightly', jobs: [{ project: 'shop', spiders: ['x'] }] }
  const refused = await limited.schedules.create(mine as never).then(
    (a) => a.schedule.id,
    (e) => `${e.code} ${e.message}`
  )
  console.log('without replace:', refused)
  const taken = await limited.schedules.create({ ...mine, replace: true } as never).catch((e) => String(e))
  console.log('with replace:', JSON.stringify(taken).slice(0, 300))
  const after = await client.schedules.get({ id: schedule.id })
  console.log(
    'schedule of news is now of',
    (after as never as { jobs: { project: string }[] }).jobs?.map((j) => j.project) ??
      JSON.stringify(after).slice(0, 400)
  )
  expect(JSON.stringify(after)).toContain('"news"')
})

it('secrets of a schedule of news must not be run in shop', async () => {
  const { client, limited, node, until } = await open({ shop: 'deployer' }, 'deployer')
  await client.schedules.create({ ...INTERVAL, name: 'nightly', jobs: secretJobs } as never)
  const mine = {
    ...INTERVAL,
    name: 'nightly',
    jobs: [{ project: 'shop', spiders: ['x'], args: { token: SECRET_MASK }, secretNames: ['token'] }]
  }
  const { schedule } = await limited.schedules.create({ ...mine, replace: true } as never)
  await limited.schedules.runNow({ id: schedule.id })
  await until(async () => node.running.length > 0)
  console.log(
    'sent to the node:',
    JSON.stringify(node.running).slice(0, 600),
    JSON.stringify((node as never as Record<string, unknown>)['requests'] ?? '').slice(-600)
  )
  expect(JSON.stringify(node.running)).not.toContain('hunter2')
})

it('an operator of news who is a deployer of evil must not move a secret of a schedule there', async () => {
  const { client, limited, node, until } = await open({ news: 'operator', evil: 'deployer' }, 'deployer')
  const { schedule } = await client.schedules.create({ ...INTERVAL, name: 'nightly', jobs: secretJobs } as never)
  const moved = [{ project: 'evil', spiders: ['x'], args: { token: SECRET_MASK }, secretNames: ['token'] }]
  await limited.schedules.update({ ...INTERVAL, id: schedule.id, name: 'nightly', jobs: moved } as never)
  await limited.schedules.runNow({ id: schedule.id })
  await until(async () => node.running.length > 0)
  console.log('sent to the node:', JSON.stringify(node.running).slice(0, 600))
  expect(JSON.stringify(node.running)).not.toContain('hunter2')
})

it('an operator of news who is a deployer of evil must not move a secret of a chain there', async () => {
  const { client, limited, node, until } = await open({ news: 'operator', evil: 'deployer' }, 'deployer')
  const { chain } = await client.chains.create({
    name: 'c',
    project: 'news',
    spider: '*',
    on: 'ended',
    run: secretJobs[0]
  } as never)
  const run = { project: 'evil', spiders: ['x'], args: { token: SECRET_MASK }, secretNames: ['token'] }
  await limited.chains.update({
    id: chain.id,
    name: 'c',
    enabled: true,
    project: 'evil',
    spider: '*',
    on: 'ended',
    run
  } as never)
  await limited.jobs.run({ project: 'evil', spiders: ['x'] } as never)
  await until(async () => node.running.length > 0)
  node.endAll()
  await until(async () => node.running.length > 0)
  console.log('sent to the node:', JSON.stringify(node.running).slice(0, 600))
  expect(JSON.stringify(node.running)).not.toContain('hunter2')
})

it('an operator may order a crawl past the cache', async () => {
  const { limited } = await open({ shop: 'operator' }, 'operator')
  const answer = await limited.crawl({ project: 'shop', spider: 'x', ignore_cache: true } as never).then(
    () => 'ok',
    (e) => `${e.code}: ${e.message}`
  )
  expect(answer).toBe('ok')
})

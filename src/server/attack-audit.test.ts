import { createRouterClient } from '@orpc/server'
import { expect, it, onTestFinished } from 'vitest'
import { rightsOf } from '../engine/access/rights.ts'
import { OWNER, type Principal } from '../engine/access/principal.ts'
import { openEngineWithFakeNode } from '../engine/testing/engine-with-fake-node.ts'
import { buildEgg } from '../engine/projects/egg-builder.ts'
import { branded } from '../shared/testing/ids.ts'

async function open() {
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
    project: 'news',
    version: '1'
  } as never)
  const principal: Principal = {
    ...OWNER,
    userId: branded('a'.repeat(32)),
    name: 'anna',
    role: 'operator',
    rights: rightsOf(null, { shop: 'operator' })
  }
  const router = await opened.engine.router()
  const limited = createRouterClient(router, { context: { principal, source: 'api' as const } })
  return { ...opened, router, limited }
}

it('the entry of a bulk operation over REST names the ids that were sent, though they are of other projects', async () => {
  const { router, client } = await open()
  const { readLongLists } = await import('./api/long-lists.ts')
  const { call } = await import('@orpc/server')
  const ids = Array.from({ length: 60 }, (_, at) => at.toString(16).padStart(32, 'f'))
  const principal: Principal = {
    ...OWNER,
    userId: branded('a'.repeat(32)),
    name: 'anna',
    role: 'operator',
    rights: rightsOf(null, { shop: 'operator' })
  }
  const { procedure, input } = await readLongLists({ procedure: router.jobs.keep as never, input: { ids, keep: true } })
  await call(
    procedure as never,
    input as never,
    { context: { principal, source: 'api' }, path: ['jobs', 'keep'] } as never
  )
  const { entries } = await client.audit.list({ limit: 1 } as never)
  console.log(entries[0]!.operation, entries[0]!.input, JSON.stringify(entries[0]!.targets))
  expect(entries[0]!.input).toContain(ids[0]!.slice(0, 10))
})

it('a jobid that another project has is not told apart from one that nobody has', async () => {
  const { engine, limited, node, until } = await open()
  const { scrapydFor } = await import('../engine/scrapyd-commands/scrapyd-for.ts')
  const fleet = (engine as never as { scrapyd: Parameters<typeof scrapydFor>[0] }).scrapyd
  const request = { spider: 'x', version: null, settings: {}, args: {}, priority: null }
  await fleet.schedule({ ...request, project: branded('news'), jobid: '2026-11-28T03_00_00' } as never)
  await until(async () => node.running.length > 0)
  const principal: Principal = {
    ...OWNER,
    userId: branded('a'.repeat(32)),
    name: 'anna',
    role: 'operator',
    rights: rightsOf(null, { shop: 'operator' })
  }
  await scrapydFor(fleet, principal).schedule({
    ...request,
    project: branded('shop'),
    jobid: '2026-11-28T03_00_00'
  } as never)
  node.endAll()
  await until(async () => node.running.some((run) => run.project === 'shop'))
  const { jobs } = await limited.jobs.list({} as never)
  const { attempts } = await limited.jobs.get({ id: jobs[0]!.id })
  console.log(
    jobs[0]!.jobid,
    attempts.map(({ jobid }) => jobid)
  )
  expect(attempts[0]!.jobid).toBe('2026-11-28T03_00_00')
})

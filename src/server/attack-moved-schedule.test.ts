import { createRouterClient } from '@orpc/server'
import { expect, it, onTestFinished } from 'vitest'
import { rightsOf } from '../engine/access/rights.ts'
import { OWNER, type Principal } from '../engine/access/principal.ts'
import { openEngineWithFakeNode } from '../engine/testing/engine-with-fake-node.ts'
import { buildEgg } from '../engine/projects/egg-builder.ts'
import { branded } from '../shared/testing/ids.ts'

it('a schedule that was moved from news to shop does not show the runs of news to a viewer of shop', async () => {
  const opened = await openEngineWithFakeNode()
  onTestFinished(() => opened.remove())
  opened.node.spiders = null
  await opened.prepare('berlin')
  const egg = await buildEgg([
    { path: 'scrapy.cfg', bytes: Buffer.from('[settings]\ndefault = a.settings\n') },
    { path: 'a/settings.py', bytes: Buffer.from('') }
  ])
  const { client } = opened
  await client.projects.upload({
    file: new File([egg as Uint8Array<ArrayBuffer>], 'a.egg'),
    project: 'news',
    version: '1'
  } as never)
  const principal: Principal = {
    ...OWNER,
    userId: branded('a'.repeat(32)),
    name: 'anna',
    role: 'viewer',
    rights: rightsOf(null, { shop: 'viewer' })
  }
  const limited = createRouterClient(await opened.engine.router(), { context: { principal, source: 'api' as const } })
  const timing = { rules: [{ kind: 'interval', everySeconds: 3600, anchorMs: 0 }], zone: 'UTC', name: 'n' }
  const { schedule } = await client.schedules.create({
    ...timing,
    jobs: [{ project: 'news', spiders: ['x'] }]
  } as never)
  await client.schedules.runNow({ id: schedule.id })
  const { jobs } = await client.jobs.list({ project: 'news' } as never)
  await client.schedules.update({ ...timing, id: schedule.id, jobs: [{ project: 'shop', spiders: ['x'] }] } as never)
  const id = jobs[0]!.id
  const seen = {
    get: JSON.stringify(await limited.schedules.get({ id: schedule.id })),
    list: JSON.stringify(await limited.schedules.list({} as never)),
    firings: JSON.stringify(await limited.schedules.firings({} as never)),
    jobs: JSON.stringify(await limited.jobs.list({ scheduleId: schedule.id } as never))
  }
  for (const [name, text] of Object.entries(seen)) console.log(name, text.includes(id), text.slice(-330))
  expect(
    Object.entries(seen)
      .filter(([, text]) => text.includes(id))
      .map(([name]) => name)
  ).toEqual([])
})

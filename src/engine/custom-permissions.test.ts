import { createRouterClient } from '@orpc/server'
import { expect, it, onTestFinished } from 'vitest'
import { type Permission, permissionsOf, PERMISSIONS } from '../shared/permissions.ts'
import { OWNER } from './access/principal.ts'
import { rightsOf } from './access/rights.ts'
import { openEngineWithFakeNode } from './testing/engine-with-fake-node.ts'

async function open() {
  const opened = await openEngineWithFakeNode()
  onTestFinished(() => opened.remove())
  opened.node.spiders = ['prices']
  await opened.prepare()
  const router = await opened.engine.router()
  const clientWith = (names: readonly Permission[]) => {
    const rights = rightsOf(permissionsOf(names))
    const principal = { ...OWNER, userId: 'a'.repeat(32) as never, name: 'anna', role: 'some', rights }
    return createRouterClient(router, { context: { principal, source: 'api' } })
  }
  return { ...opened, clientWith }
}

const outcomeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'done',
    (error: { code: string; message: string }) => `${error.code}: ${error.message}`
  )

it('a fleet file cannot bypass the permissions: each of its parts needs the one for what it changes', async () => {
  const { client, clientWith } = await open()
  const wanted: [part: string, yaml: string, needed: Permission[]][] = [
    ['nodes', 'nodes:\n  - name: a\n    url: http://127.0.0.1:9/\n    slots: 1\n', ['nodes.change', 'nodes.operate']],
    ['limits', 'limits:\n  - spider: price*\n    max: 1\n', ['limits.change']],
    [
      'webhooks',
      'webhooks:\n  - name: a\n    url: https://example.org/\n    events: [job.ended]\n',
      ['webhooks.change']
    ],
    [
      'schedules',
      'schedules:\n  - name: a\n    zone: UTC\n    rules:\n      - cron: 0 3 * * *\n    jobs:\n      - project: shop\n        spiders: [prices]\n',
      ['schedules.change']
    ]
  ]
  for (const [part, body, needed] of wanted) {
    const yaml = `version: 1\n${body}`
    const plan = await outcomeOf(client.fleetFile.plan({ yaml }))
    if (plan !== 'done') throw new Error(`${part}: ${plan}`)
    for (const missing of needed) {
      const others = clientWith(PERMISSIONS.filter((name) => name !== missing))
      expect(await outcomeOf(others.fleetFile.apply({ yaml })), part).toMatch(
        new RegExp(`^ROLE_REQUIRED: Applying a fleet file with changes of ${part} needs the permission`)
      )
    }
    expect((await client.fleetFile.plan({ yaml })).changes).not.toEqual([])
    // Without `code.choose`, schedules would be stored with the setting that keeps runs from reading the node's files.
    const enough = clientWith(['read', 'fleet.apply', 'code.choose', ...needed])
    expect(await outcomeOf(enough.fleetFile.apply({ yaml })), part).toBe('done')
    expect((await client.fleetFile.plan({ yaml })).changes).toEqual([])
  }
})

it('a user who may run jobs but not change schedules can neither order nor cancel repeated crawls', async () => {
  const { client, clientWith } = await open()
  const order = { project: 'shop', spider: 'prices', interval: '5m' }
  const runner = clientWith(['read', 'jobs.run', 'jobs.cancel'])
  const refused = /^ROLE_REQUIRED: .* needs the permission "change schedules" in the project shop/
  expect(await outcomeOf(runner.crawl(order))).toMatch(refused)
  expect((await client.schedules.list({})).schedules).toEqual([])
  const { body } = await client.crawl(order)
  const id = (body as { schedule_id: string }).schedule_id
  expect(await outcomeOf(runner.crawlOrders.cancel({ id }))).toMatch(refused)
  const later = await client.crawl({ project: 'shop', spider: 'prices', schedule_at: '2100-01-01T00:00:00Z' })
  const single = { id: String(later.body.job_id), depth: 1 }
  const changer = clientWith(['read', 'schedules.change'])
  expect(await outcomeOf(changer.crawlOrders.update(single))).toMatch(
    /^ROLE_REQUIRED: .* "run jobs" in the project shop/
  )
  const both = clientWith(['read', 'schedules.change', 'jobs.run'])
  expect(await outcomeOf(both.crawlOrders.update(single))).toBe('done')
  expect((await client.schedules.list({})).schedules).toHaveLength(1)
  expect(await outcomeOf(runner.crawl({ project: 'shop', spider: 'prices' }))).toBe('done')
  expect(await outcomeOf(clientWith(['read', 'jobs.cancel', 'schedules.change']).crawlOrders.cancel({ id }))).toBe(
    'done'
  )
})

it('without the permission to choose code, a schedule runs only the code of its egg', async () => {
  const { clientWith } = await open()
  const template = { project: 'shop', spiders: ['prices'], settings: { EXTENSIONS: '{}' } }
  const schedule = { name: 'a', rules: [{ kind: 'cron' as const, expression: '0 3 * * *' }], zone: 'UTC' }
  const ask = (names: Permission[]) =>
    outcomeOf(clientWith(['read', ...names]).schedules.create({ ...schedule, jobs: [template] } as never))
  expect(await ask(['schedules.change'])).toMatch(/^ROLE_REQUIRED: The setting EXTENSIONS .* "choose code in runs"/)
  expect(await ask(['schedules.change', 'code.choose'])).toBe('done')
})

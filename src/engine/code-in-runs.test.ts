import { createRouterClient } from '@orpc/server'
import { expect, it, onTestFinished } from 'vitest'
import type { Role } from '../shared/roles.ts'
import { actAs } from './access/acting.ts'
import { OWNER } from './access/principal.ts'
import { builtInRights } from './testing/built-in-rights.ts'
import { openEngineWithFakeNode } from './testing/engine-with-fake-node.ts'

const SHOP = { project: 'shop', spiders: ['prices'] }
const HOSTILE = { env: { PYTHONWARNINGS: 'all:0:antigravity.x:0:0' }, settings: { EXTENSIONS: '{"a.b": 1}' } }
const principal = (role: Role) => ({
  ...OWNER,
  userId: 'a'.repeat(32) as never,
  name: role,
  role,
  rights: builtInRights(role)
})

it('an operator cannot make any run execute other code, whichever way it is ordered; a deployer can', async () => {
  const opened = await openEngineWithFakeNode()
  onTestFinished(() => opened.remove())
  await opened.prepare()
  const router = await opened.engine.router()
  const clientOf = (role: Role) =>
    createRouterClient(router, { context: { principal: principal(role), source: 'api' } })
  const interval = { rules: [{ kind: 'interval' as const, everySeconds: 3_600, anchorMs: 0 }], zone: 'UTC' }
  const ways: ((role: Role, given: Partial<typeof HOSTILE>, name: string) => Promise<unknown>)[] = [
    (role, given) => clientOf(role).jobs.run({ ...SHOP, ...given }),
    (role, given) =>
      clientOf(role).jobs.runMany({
        jobs: [
          { project: 'shop', spider: 'prices' },
          { project: 'shop', spider: 'prices', ...given }
        ]
      }),
    (role, { settings }, name) =>
      clientOf(role).schedules.create({ ...interval, name, jobs: [{ ...SHOP, ...(settings && { settings }) }] }),
    (role, { settings }, name) =>
      clientOf(role).chains.create({
        name,
        project: 'shop',
        spider: 'prices',
        on: 'ended',
        run: { ...SHOP, ...(settings && { settings }) }
      }),
    (role, { settings }) =>
      actAs(principal(role), () =>
        opened.engine.scrapyd.schedule({ project: 'shop', spider: 'prices', version: null } as never, () => ({
          jobid: null,
          priority: null,
          settings: settings ?? {},
          args: {}
        }))
      )
  ]
  for (const [index, order] of ways.entries()) {
    const { settings } = HOSTILE
    await expect(order('operator', { settings }, `no ${index}`), `way ${index}`).rejects.toMatchObject({
      code: 'ROLE_REQUIRED'
    })
    await order('operator', { settings: { DOWNLOAD_DELAY: '1' } as never }, `harmless ${index}`)
    await order('deployer', { settings }, `yes ${index}`)
  }
  const { env } = HOSTILE
  for (const order of ways.slice(0, 2))
    await expect(order('operator', { env }, '')).rejects.toMatchObject({ code: 'ROLE_REQUIRED' })
  const { schedules } = await clientOf('operator').schedules.list({})
  await clientOf('operator').schedules.runNow({ id: schedules.find(({ name }) => name === 'yes 2')!.id })
})

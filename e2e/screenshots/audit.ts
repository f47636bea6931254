import type { Page } from '@playwright/test'
import type { Service } from '../support/service.ts'

export async function fillAudit({ address, client }: Service): Promise<void> {
  const { nodes } = await client.nodes.list()
  const node = nodes.find(({ kind }) => kind === 'scrapyd') ?? nodes[0]!
  const { user } = await client.users.create({ name: 'airflow', kind: 'service', role: 'operator' })
  const { secret } = await client.tokens.create({ name: 'nightly orders', userId: user.id, role: 'operator' })
  await client.nodes.update({ id: node.id, slots: 6, tags: ['eu', 'large'], username: 'deploy', password: 'kestrel' })
  await client.queue.setLimits({
    limits: [{ id: '1', project: 'shop', spider: 'prices', tag: null, perNode: true, max: 2 }]
  })
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  for (let tries = 0; tries < 3; tries += 1) {
    await fetch(`${address}/api/v1/nodes/${node.id}`, { method: 'DELETE', headers })
  }
  const payload = JSON.stringify({ project: 'shop', spiders: ['prices'], args: { token: 'x' }, secretNames: ['token'] })
  await fetch(`${address}/api/v1/jobs`, { method: 'POST', headers, body: payload })
  await fetch(`${address}/api/v1/jobs`, { headers: { authorization: `Basic ${btoa('admin:123456')}` } })
}

export const AUDIT_SCREENS: Record<string, (page: Page) => Promise<void>> = {
  audit: async (page) => {
    await page.goto('#/audit')
    await page.getByRole('button', { name: 'Verify' }).click()
    await page.getByText('all hashes match').waitFor()
  },
  'audit-entry': async (page) => {
    await page.goto('#/audit?operation=nodes.update')
    await page.getByRole('gridcell', { name: 'nodes.update' }).click()
    await page.getByRole('complementary', { name: 'Audit entry' }).waitFor()
  },
  'audit-refused': async (page) => {
    await page.goto('#/audit?result=refused')
    await page.getByRole('gridcell', { name: 'nodes.remove' }).first().click()
    await page.getByRole('complementary', { name: 'Audit entry' }).waitFor()
  },
  'audit-none': async (page) => {
    await page.goto('#/audit?text=no+such+thing')
    await page.getByText('No entry matches').waitFor()
  }
}

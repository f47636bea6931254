import { expect, it } from 'vitest'
import type { NamedThing, UserId } from '../../../shared/contract/index.ts'
import { permissionsOf, READ } from '../../../shared/permissions.ts'
import type { Role } from '../../../shared/roles.ts'
import { aProjectName, branded } from '../../../shared/testing/ids.ts'
import { OWNER } from '../../access/principal.ts'
import { builtInRights } from '../../testing/built-in-rights.ts'
import { narrowToSeen, type SubjectReads } from './subjects.ts'

const environments = [
  { id: 'main', projects: [] },
  { id: 'unused', projects: [] },
  { id: 'of-shop', projects: [aProjectName('shop')] },
  { id: 'of-both', projects: [aProjectName('shop'), aProjectName('news')] }
]
const alertOf = (id: string) => ({ labels: { project: id === 'of-node' ? null : aProjectName(id) } })
const askedFor: string[] = []
const listed = async (ids: string[]) => (askedFor.push(...ids), [])
const store = {
  getJobs: listed,
  getSchedules: listed,
  getAlerts: async ([id]: [string]) => (id === 'gone' ? [] : [alertOf(id)])
}
const reads = { store, environments: { list: () => environments } } as unknown as SubjectReads

function ask(id: string, needed: Role, everywhere: Role | null = null, noun: NamedThing = 'environment') {
  const rights = builtInRights(everywhere, { shop: 'deployer' })
  const principal = {
    ...OWNER,
    userId: branded<UserId>('a'.repeat(32)),
    name: 'anna',
    role: 'deployer' as const,
    rights
  }
  const asking = {
    principal,
    needs: needed === 'viewer' ? READ : permissionsOf(['environments.change']),
    what: 'environments.remove'
  }
  return narrowToSeen({ id }, { id: noun }, asking, reads).then(
    () => 'allowed',
    (error: { code: string }) => error.code
  )
}

it.each(['main', 'unused'])(
  'a deployer of one project may see the environment %s, which no project uses, but may do nothing else with it',
  async (id) => {
    expect(await ask(id, 'viewer')).toBe('allowed')
    expect(await ask(id, 'deployer')).toBe('ROLE_REQUIRED')
    expect(await ask(id, 'deployer', 'viewer')).toBe('ROLE_REQUIRED')
    expect(await ask(id, 'deployer', 'deployer')).toBe('allowed')
  }
)

it('an environment of several projects requires the role in each of them', async () => {
  expect(await ask('of-shop', 'deployer')).toBe('allowed')
  expect(await ask('of-both', 'deployer')).toBe('NOT_FOUND')
  expect(await ask('of-both', 'deployer', 'viewer')).toBe('ROLE_REQUIRED')
})

it('an alert is visible to users who see its project, and one of no project to those who see all', async () => {
  const see = (id: string, everywhere: Role | null = null) => ask(id, 'viewer', everywhere, 'alert')
  expect(await see('shop')).toBe('allowed')
  for (const hidden of ['news', 'of-node', 'gone']) expect(await see(hidden), hidden).toBe('ALERT_NOT_FOUND')
  for (const seen of ['news', 'of-node']) expect(await see(seen, 'viewer'), seen).toBe('allowed')
  expect(await see('gone', 'viewer')).toBe('ALERT_NOT_FOUND')
})

it('a crawl order with an impossible id is not found without a query', async () => {
  for (const id of ['7', 'not-an-id', '\u0000', 'F'.repeat(32)])
    expect(await ask(id, 'viewer', null, 'crawlOrder'), id).toBe('SCHEDULE_NOT_FOUND')
  expect(askedFor).toEqual([])
})

import { expect, it } from 'vitest'
import type { Group, User } from '../../../shared/contract/index.ts'
import { branded } from '../../../shared/testing/ids.ts'
import { fromGroups, lossOf, namesIn } from './group-words.ts'

const aUser = (name: string, over: Partial<User> = {}): User => ({
  id: branded(name),
  name,
  kind: 'person',
  role: null,
  projects: {},
  nodeGroups: {},
  enabled: true,
  hasPassword: true,
  hasAuthenticator: false,
  passkeyCount: 0,
  origin: 'local',
  createdAtMs: 0,
  lastSeenAtMs: null,
  ...over
})
const aGroup = (name: string, members: User[], over: Partial<Group> = {}): Group => ({
  id: branded(name),
  name,
  description: '',
  role: 'operator',
  projects: {},
  nodeGroups: {},
  createdAtMs: 0,
  members: members.map(({ id }) => id),
  ...over
})
const [anna, ben, kim] = [aUser('anna', { role: 'viewer' }), aUser('ben'), aUser('kim')]

it('says which rights a user has from which group', () => {
  const crawl = aGroup('Crawl team', [anna], { projects: branded({ shop: 'deployer' }), nodeGroups: { eu: 'admin' } })
  const groups = [crawl, aGroup('Empty', [anna], { role: null }), aGroup('Others', [ben])]
  expect(fromGroups(anna, groups)).toEqual([
    'operator, deployer in shop, admin of nodes eu, from Crawl team',
    'no role, from Empty'
  ])
  expect(fromGroups(kim, groups)).toEqual([])
})

it('distinguishes users whom a removal locks out from users who only lose the rights of the group', () => {
  const crawl = aGroup('Crawl team', [anna, ben, kim])
  const groups = [crawl, aGroup('Night watch', [kim]), aGroup('Empty', [ben], { role: null })]
  expect(lossOf(crawl, [anna, ben, kim], groups)).toEqual({ lockedOut: [ben], losing: [anna, kim] })
  expect(lossOf(groups[2]!, [anna, ben, kim], groups)).toEqual({ lockedOut: [], losing: [] })
})

it('names a few, and counts the rest', () => {
  const people = (count: number) => Array.from({ length: count }, (_, index) => ({ name: `u${index}` }))
  expect([0, 1, 2, 6, 7].map((count) => namesIn(people(count)))).toEqual([
    '',
    'u0',
    'u0 and u1',
    'u0, u1, u2, u3, u4 and u5',
    'u0, u1, u2, u3, u4 and 2 others'
  ])
})

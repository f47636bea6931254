import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { NONE, permissionsOf, unite } from '../../shared/permissions.ts'
import {
  isBuiltInRole,
  NODE_GROUP_PERMISSIONS,
  NODE_GROUP_ROLES,
  type NodeGroupRole,
  permissionsOfRole,
  PROJECT_ROLES,
  ROLES,
  rolesIn
} from '../../shared/roles.ts'
import { claimIn, groupsIn, nameIn, rightsIn } from './group-roles.ts'

describe('the roles of a user', () => {
  const CUSTOM = ['shop keeper', 'auditor', 'night shift']
  const setOf = (text: string) =>
    rolesIn(text).reduce((set, name) => unite(set, permissionsOfRole(name)), permissionsOf([]))

  it('are the union of all groups, everywhere and in each place, without rights that another role includes', () => {
    const names = ['shop', 'news', '__proto__']
    const rights = fc.record({
      role: fc.constantFrom(null, ...ROLES, ...CUSTOM),
      projects: fc.dictionary(fc.constantFrom(...names), fc.constantFrom(...PROJECT_ROLES, ...CUSTOM)),
      nodeGroups: fc.dictionary(fc.constantFrom('eu', 'us', '__proto__'), fc.constantFrom(...NODE_GROUP_ROLES))
    })
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), rights),
        fc.array(fc.string()),
        fc.infiniteStream(fc.boolean()),
        (roles, others, takes) => {
          const all = new Map(Object.entries(roles))
          const groups = [...all.keys()].filter(() => takes.next().value).concat(others)
          const having = groups.flatMap((group) => all.get(group) ?? [])
          const found = rightsIn(groups, all)
          if (found === null) return having.length === 0
          const expectAllOf = (role: string | null, held: (string | null)[]) => {
            const given = held.filter((one) => one !== null)
            const named = role === null ? [] : rolesIn(role)
            expect(role === null).toBe(given.length === 0)
            expect(named.every((one) => given.includes(one))).toBe(true)
            expect(named.filter((one) => CUSTOM.includes(one))).toEqual(
              [...new Set(given.filter((one) => CUSTOM.includes(one)))].sort()
            )
            expect(role === null ? 0 : setOf(role)).toBe(given.length === 0 ? 0 : setOf(given.join(' + ')))
            expect(named.filter(isBuiltInRole).length).toBeLessThanOrEqual(1)
          }
          expectAllOf(
            found.role,
            having.map(({ role }) => role)
          )
          for (const name of names) {
            const held = having.map(({ projects }) => (Object.hasOwn(projects, name) ? projects[name as never]! : null))
            expectAllOf(Object.hasOwn(found.projects, name) ? found.projects[name as never]! : null, held)
          }
          const ofNodes = (given: Record<string, NodeGroupRole>, tag: string) =>
            Object.hasOwn(given, tag) ? NODE_GROUP_PERMISSIONS[given[tag]!] : NONE
          for (const tag of ['eu', 'us', '__proto__']) {
            const held = having.reduce((set, { nodeGroups }) => unite(set, ofNodes(nodeGroups, tag)), NONE)
            expect(ofNodes(found.nodeGroups, tag)).toBe(held)
          }
        }
      )
    )
  })
})

describe('groups in claims', () => {
  it('are text, whatever the claim contains', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), (claims, name) => {
        expect(groupsIn(claims as Record<string, unknown>, name).every((group) => typeof group === 'string')).toBe(true)
      })
    )
  })

  it('are a list or one text, at a name or a path, and never an inherited property', () => {
    const claims = { groups: ['a', 7, null, 'b'], one: 'c', realm_access: { roles: ['d'] }, 'a.b': ['e'], email: 'f@g' }
    expect(groupsIn(claims, 'groups')).toEqual(['a', 'b'])
    expect(groupsIn(claims, 'one')).toEqual(['c'])
    expect(groupsIn(claims, 'realm_access.roles')).toEqual(['d'])
    expect(groupsIn(claims, 'a.b')).toEqual(['e'])
    expect([claimIn(claims, 'constructor.name'), claimIn(claims, '__proto__'), claimIn(claims, 'groups.x')]).toEqual([
      undefined,
      undefined,
      undefined
    ])
  })

  it('are an e-mail address only if it is verified', () => {
    const email = 'anna@example.org'
    expect([
      groupsIn({ email }, 'email'),
      groupsIn({ email, email_verified: 'true' }, 'email'),
      groupsIn({ email, email_verified: true }, 'email')
    ]).toEqual([[], [], [email]])
  })

  it('include the name of the user if there is one', () => {
    expect(nameIn({ sub: '7', email: 'a@b', nick: 'anna' }, 'nick')).toBe('anna')
    expect([nameIn({ sub: '7', email: 'a@b' }, 'nick'), nameIn({ sub: '7', nick: ' ' }, 'nick')]).toEqual(['a@b', '7'])
  })
})

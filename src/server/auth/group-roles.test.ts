import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PROJECT_ROLES, type Role, ROLES } from '../../shared/roles.ts'
import { claimIn, groupsIn, nameIn, rightsIn } from './group-roles.ts'

describe('the rights of somebody', () => {
  it('are the highest that a group of theirs has, in all projects and in each', () => {
    const names = ['shop', 'news', '__proto__']
    const rights = fc.record({
      role: fc.constantFrom(null, ...ROLES),
      projects: fc.dictionary(fc.constantFrom(...names), fc.constantFrom(...PROJECT_ROLES))
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
          const isHighest = (role: Role | null, held: (Role | null)[]) =>
            held.includes(role) &&
            held.every((one) => one === null || (role !== null && ROLES.indexOf(role) >= ROLES.indexOf(one)))
          expect(
            isHighest(
              found.role,
              having.map(({ role }) => role)
            )
          ).toBe(true)
          for (const name of names) {
            const held = having.map(({ projects }) => (Object.hasOwn(projects, name) ? projects[name as never]! : null))
            const own = Object.hasOwn(found.projects, name) ? found.projects[name as never]! : null
            expect(isHighest(own, held)).toBe(true)
          }
        }
      )
    )
  })
})

describe('groups in claims', () => {
  it('are texts, whatever is there', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), (claims, name) => {
        expect(groupsIn(claims as Record<string, unknown>, name).every((group) => typeof group === 'string')).toBe(true)
      })
    )
  })

  it('are a list or one text, at a name or a path, and never what every object has', () => {
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

  it('are an address of mail only if it was verified', () => {
    const email = 'anna@example.org'
    expect([
      groupsIn({ email }, 'email'),
      groupsIn({ email, email_verified: 'true' }, 'email'),
      groupsIn({ email, email_verified: true }, 'email')
    ]).toEqual([[], [], [email]])
  })

  it('name a person as far as there is a name', () => {
    expect(nameIn({ sub: '7', email: 'a@b', nick: 'anna' }, 'nick')).toBe('anna')
    expect([nameIn({ sub: '7', email: 'a@b' }, 'nick'), nameIn({ sub: '7', nick: ' ' }, 'nick')]).toEqual(['a@b', '7'])
  })
})

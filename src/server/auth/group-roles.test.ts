import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { includesRole, ROLES } from '../../shared/roles.ts'
import { claimIn, groupsIn, nameIn, roleOf } from './group-roles.ts'

describe('the role of somebody', () => {
  it('is one that a group of theirs has, and no other of their groups has a higher one', () => {
    const mapping = fc.dictionary(fc.string(), fc.constantFrom(...ROLES))
    fc.assert(
      fc.property(mapping, fc.array(fc.string()), fc.infiniteStream(fc.boolean()), (roles, others, takes) => {
        const all = new Map(Object.entries(roles))
        const groups = [...all.keys()].filter(() => takes.next().value).concat(others)
        const having = groups.flatMap((group) => all.get(group) ?? [])
        const role = roleOf(groups, all)
        if (role === null) expect(having).toEqual([])
        else expect([having.includes(role), having.every((one) => includesRole(role, one))]).toEqual([true, true])
      })
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

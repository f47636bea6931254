import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  ALL_PERMISSIONS,
  includes,
  intersect,
  namesOf,
  NONE,
  OWNER_PERMISSIONS,
  PERMISSION_TEXTS,
  PERMISSIONS,
  permissionsOf,
  PROJECT_PERMISSIONS,
  subtract,
  unite
} from './permissions.ts'
import { leastRoleWith, mostRoleIn, permissionsOfRole, PROJECT_ROLES, ROLE_PERMISSIONS, ROLES } from './roles.ts'

const names = fc.uniqueArray(fc.constantFrom(...PERMISSIONS))

describe('a set of permissions', () => {
  it('is combined, intersected, subtracted and compared as the set of its names', () => {
    fc.assert(
      fc.property(names, names, (one, other) => {
        const [a, b] = [permissionsOf(one), permissionsOf(other)]
        const [ofOne, ofOther] = [new Set(one), new Set(other)]
        expect(new Set(namesOf(a))).toEqual(ofOne)
        expect(new Set(namesOf(unite(a, b)))).toEqual(new Set([...one, ...other]))
        expect(new Set(namesOf(intersect(a, b)))).toEqual(new Set(one.filter((name) => ofOther.has(name))))
        expect(new Set(namesOf(subtract(a, b)))).toEqual(new Set(one.filter((name) => !ofOther.has(name))))
        expect(includes(a, b)).toBe(other.every((name) => ofOne.has(name)))
      })
    )
  })

  it('ignores unknown names', () => {
    fc.assert(
      fc.property(names, fc.array(fc.string()), (known, others) => {
        const unknown = others.filter((name) => !(PERMISSIONS as string[]).includes(name))
        expect(permissionsOf([...unknown, ...known, '__proto__', 'toString'])).toBe(permissionsOf(known))
      })
    )
  })

  it('has one bit for each permission, and stays a whole number', () => {
    expect(PERMISSIONS.length).toBeLessThan(31)
    expect(namesOf(ALL_PERMISSIONS)).toEqual(PERMISSIONS)
    expect(ALL_PERMISSIONS).toBeGreaterThan(0)
  })
})

it('docs/access.md has the table of all permissions, and no other', () => {
  const page = readFileSync(new URL('../../docs/access.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| `[a-z]+(?:\.[a-z]+)?` \|.*$/gm)].map(([row]) => row)
  expect(rows).toEqual(
    PERMISSIONS.map((name) => {
      const { label, scope, text } = PERMISSION_TEXTS[name]
      const where = scope === 'project' ? 'any project' : 'all projects'
      return `| \`${name}\` | ${label} | ${leastRoleWith(permissionsOf([name]))} | ${where} | ${text} |`
    })
  )
})

describe('the built-in roles', () => {
  it('have all permissions of the previous ones, and more', () => {
    for (const [index, role] of ROLES.entries()) {
      const before = index === 0 ? NONE : ROLE_PERMISSIONS[ROLES[index - 1]!]
      expect(includes(ROLE_PERMISSIONS[role], before) && ROLE_PERMISSIONS[role] !== before).toBe(true)
    }
    expect(ROLE_PERMISSIONS.owner).toBe(ALL_PERMISSIONS)
  })

  it('below owner have no permission of owners, and those of single projects only what can be given there', () => {
    expect(intersect(ROLE_PERMISSIONS.admin, OWNER_PERMISSIONS)).toBe(NONE)
    for (const role of PROJECT_ROLES) expect(includes(PROJECT_PERMISSIONS, ROLE_PERMISSIONS[role])).toBe(true)
  })

  it('include a given set if they are the lowest with it, and nothing beyond it if they are the highest in it', () => {
    fc.assert(
      fc.property(names, (some) => {
        const set = permissionsOf([...some, 'read'])
        const [least, most] = [leastRoleWith(set), mostRoleIn(set, ROLES)]
        expect(includes(ROLE_PERMISSIONS[least], set)).toBe(true)
        expect(includes(set, ROLE_PERMISSIONS[most])).toBe(true)
        expect(ROLES.indexOf(most)).toBeLessThanOrEqual(ROLES.indexOf(least))
      })
    )
  })

  it('are the only ones, whatever properties objects have', () => {
    expect([permissionsOfRole('constructor'), permissionsOfRole('__proto__'), permissionsOfRole('')]).toEqual([0, 0, 0])
  })
})

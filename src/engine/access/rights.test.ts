import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { ProjectName } from '../../shared/contract/index.ts'
import {
  includes,
  intersect,
  NONE,
  PERMISSIONS,
  type Permissions,
  permissionsOf,
  PROJECT_PERMISSIONS,
  READ,
  unite
} from '../../shared/permissions.ts'
import { branded } from '../../shared/testing/ids.ts'
import {
  areSameRights,
  keyOfRights,
  narrowRights,
  NO_RIGHTS,
  permissionsIn,
  rightsOf,
  seenProjects,
  uniteRights
} from './rights.ts'

const NAMES = ['shop', 'news', 'stock', '__proto__', 'constructor'].map((name) => branded<ProjectName>(name))
/** Whatever is given includes reading. */
const set = fc.subarray([...PERMISSIONS]).map((names) => unite(permissionsOf(names), READ))
const given = fc.tuple(
  fc.option(set, { nil: null }),
  fc.array(fc.tuple(fc.constantFrom(...NAMES), set), { maxLength: 6 })
)
const rights = given.map(([everywhere, each]) => rightsOf(everywhere, each))
const heldIn = (of: ReturnType<typeof rightsOf>, name: ProjectName): Permissions => permissionsIn(of, name) ?? NONE

it('in each project are what is given everywhere and there, and of the latter only what can be given there', () => {
  fc.assert(
    fc.property(given, ([everywhere, each]) => {
      const of = rightsOf(everywhere, each)
      for (const name of NAMES) {
        const there = each.flatMap(([project, more]) =>
          project === name ? [intersect(more, PROJECT_PERMISSIONS)] : []
        )
        expect(heldIn(of, name)).toBe(there.reduce(unite, everywhere ?? NONE))
      }
      expect(of.anywhere).toBe(NAMES.map((name) => heldIn(of, name)).reduce(unite, everywhere ?? NONE))
    })
  )
})

it('a token never may more than its user, nor than it says, in any project; and in those left out, nothing', () => {
  fc.assert(
    fc.property(rights, set, fc.option(fc.subarray(NAMES), { nil: null }), (of, permissions, only) => {
      const narrowed = narrowRights(of, permissions, only)
      for (const name of NAMES) {
        const both = intersect(heldIn(of, name), permissions)
        if (only === null) expect(heldIn(narrowed, name)).toBe(both)
        // In some projects alone, nobody may what is done to the whole service.
        else expect(heldIn(narrowed, name)).toBe(only.includes(name) ? intersect(both, PROJECT_PERMISSIONS) : NONE)
      }
      if (only !== null) expect(narrowed.everywhere).toBeNull()
      expect(includes(of.anywhere, narrowed.anywhere)).toBe(true)
    })
  )
})

it('of a user and of groups are united: in each place all that any of them gives, in whichever order', () => {
  fc.assert(
    fc.property(rights, rights, rights, (one, other, third) => {
      const both = uniteRights(one, other)
      for (const name of NAMES) {
        // What is given everywhere holds in all projects, also in those that only the other one names.
        expect(heldIn(both, name)).toBe(unite(heldIn(one, name), heldIn(other, name)))
      }
      expect(both.everywhere ?? NONE).toBe(unite(one.everywhere ?? NONE, other.everywhere ?? NONE))
      expect(areSameRights(both, uniteRights(other, one))).toBe(true)
      expect(areSameRights(uniteRights(one, one), one)).toBe(true)
      expect(areSameRights(uniteRights(NO_RIGHTS, one), one)).toBe(true)
      expect(areSameRights(uniteRights(both, third), uniteRights(one, uniteRights(other, third)))).toBe(true)
    })
  )
})

it('see the projects in which anything is held, and are the same only if nothing differs', () => {
  fc.assert(
    fc.property(rights, rights, (one, other) => {
      const seen = seenProjects(one)
      for (const name of NAMES) expect(seen === null || seen.has(name)).toBe(permissionsIn(one, name) !== null)
      expect(areSameRights(one, rightsOf(one.everywhere, one.inProjects))).toBe(true)
      const isSame =
        one.everywhere === other.everywhere && NAMES.every((name) => heldIn(one, name) === heldIn(other, name))
      expect(areSameRights(one, other)).toBe(isSame)
      expect(keyOfRights(one) === keyOfRights(other)).toBe(isSame)
    })
  )
})

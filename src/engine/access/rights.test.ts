import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { ProjectName } from '../../shared/contract/index.ts'
import { includesRole, lesserRole, PROJECT_ROLES, ROLES } from '../../shared/roles.ts'
import { branded } from '../../shared/testing/ids.ts'
import { areSameRights, highestRole, narrowRights, rightsOf, roleIn, seenProjects } from './rights.ts'

const NAMES = ['shop', 'news', 'stock', '__proto__', 'constructor'].map((name) => branded<ProjectName>(name))
const rights = fc
  .tuple(
    fc.constantFrom(null, ...ROLES),
    fc.array(fc.tuple(fc.constantFrom(...NAMES), fc.constantFrom(...PROJECT_ROLES)))
  )
  .map(([role, each]) => rightsOf(role, Object.fromEntries(each)))

it('a role in one project never takes from the role in all', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(null, ...ROLES),
      fc.dictionary(fc.constantFrom(...NAMES), fc.constantFrom(...PROJECT_ROLES)),
      (role, projects) => {
        for (const name of NAMES) {
          const held = roleIn(rightsOf(role, projects), name)
          const given = Object.hasOwn(projects, name) ? projects[name]! : null
          expect(held === null || role === null || includesRole(held, role)).toBe(true)
          expect(held === null || given === null || includesRole(held, given)).toBe(true)
          expect(held === null).toBe(role === null && given === null)
        }
      }
    )
  )
})

it('a token never may more than its user, nor than it says, in any project; and in those left out, nothing', () => {
  fc.assert(
    fc.property(
      rights,
      fc.constantFrom(...ROLES),
      fc.constantFrom(null, []).chain((none) => (none === null ? fc.constant(null) : fc.subarray(NAMES))),
      (of, role, only) => {
        const narrowed = narrowRights(of, role, only)
        for (const name of NAMES) {
          const [own, its] = [roleIn(of, name), roleIn(narrowed, name)]
          if (own === null || (only !== null && !only.includes(name))) expect(its).toBeNull()
          // In some projects alone, nobody is more than a deployer.
          else if (only !== null) expect(its).toBe(lesserRole(lesserRole(own, role), 'deployer'))
          else expect(its).toBe(lesserRole(own, role))
        }
        if (only !== null) expect(narrowed.everywhere).toBeNull()
      }
    )
  )
})

it('the highest role is one that is held somewhere, and what is seen is where any is held', () => {
  fc.assert(
    fc.property(rights, (of) => {
      const highest = highestRole(of)
      const held = [of.everywhere, ...of.inProjects.values()]
      expect(held.includes(highest)).toBe(true)
      expect(held.every((role) => role === null || includesRole(highest!, role))).toBe(true)
      const seen = seenProjects(of)
      for (const name of NAMES) expect(seen === null || seen.has(name)).toBe(roleIn(of, name) !== null)
      expect(areSameRights(of, rightsOf(of.everywhere, Object.fromEntries(of.inProjects)))).toBe(true)
    })
  )
})

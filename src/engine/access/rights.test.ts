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
import { NODE_GROUP_PERMISSIONS } from '../../shared/roles.ts'
import {
  areSameRights,
  keyOfRights,
  narrowRights,
  NO_RIGHTS,
  permissionsIn,
  permissionsOnNode,
  rightsOf,
  seenNodeGroups,
  seenProjects,
  uniteRights
} from './rights.ts'

const NAMES = ['shop', 'news', 'stock', '__proto__', 'constructor'].map((name) => branded<ProjectName>(name))
const set = fc.subarray([...PERMISSIONS]).map((names) => unite(permissionsOf(names), READ))
const TAGS = ['eu', 'us', '__proto__']
const nodeSet = fc.constantFrom(...Object.values(NODE_GROUP_PERMISSIONS))
const given = fc.tuple(
  fc.option(set, { nil: null }),
  fc.array(fc.tuple(fc.constantFrom(...NAMES), set), { maxLength: 6 })
)
const rights = fc
  .tuple(given, fc.array(fc.tuple(fc.constantFrom(...TAGS), nodeSet), { maxLength: 4 }))
  .map(([[everywhere, each], ofNodes]) => rightsOf(everywhere, each, ofNodes))
const onNode = (of: ReturnType<typeof rightsOf>, ...tags: string[]): Permissions => permissionsOnNode(of, tags) ?? NONE
const heldIn = (of: ReturnType<typeof rightsOf>, name: ProjectName): Permissions => permissionsIn(of, name) ?? NONE

it('in each project are those given everywhere and those given there, if projects can have them', () => {
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

it('a token never allows more than its user or its own scope, in any project, and nothing in others', () => {
  fc.assert(
    fc.property(rights, set, fc.option(fc.subarray(NAMES), { nil: null }), (of, permissions, only) => {
      const narrowed = narrowRights(of, permissions, { projects: only, nodeGroups: null })
      for (const name of NAMES) {
        const both = intersect(heldIn(of, name), permissions)
        if (only === null) expect(heldIn(narrowed, name)).toBe(both)
        // Rights in some projects do not include permissions for the whole service.
        else expect(heldIn(narrowed, name)).toBe(only.includes(name) ? intersect(both, PROJECT_PERMISSIONS) : NONE)
      }
      if (only !== null) expect(narrowed.everywhere).toBeNull()
      expect(includes(of.anywhere, narrowed.anywhere)).toBe(true)
    })
  )
})

it('of a user and of groups are united: in each place the user has all rights that any of them gives, in any order', () => {
  fc.assert(
    fc.property(rights, rights, rights, (one, other, third) => {
      const both = uniteRights(one, other)
      for (const name of NAMES) {
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

it('on a node are those given everywhere and for any of its tags, and none unless the node is visible', () => {
  fc.assert(
    fc.property(rights, fc.subarray(TAGS), (of, tags) => {
      const inGroups = tags.map((tag) => of.inNodeGroups.get(tag) ?? NONE).reduce(unite, of.everywhere ?? NONE)
      const seen = seenNodeGroups(of)
      const isSeen = seen === null || tags.some((tag) => seen.has(tag))
      expect(permissionsOnNode(of, tags) !== null).toBe(isSeen)
      // A user who can see all nodes may read them, even without a role in the node groups.
      expect(onNode(of, ...tags)).toBe(isSeen && inGroups === NONE ? READ : inGroups)
      expect(includes(of.anywhere, inGroups)).toBe(true)
    })
  )
})

it('of groups never take anything away, and rights from a group end with the membership', () => {
  fc.assert(
    fc.property(fc.array(rights, { minLength: 1, maxLength: 4 }), fc.nat(), (all, pick) => {
      const unitedOf = (some: readonly ReturnType<typeof rightsOf>[]) => some.reduce(uniteRights, NO_RIGHTS)
      const at = pick % all.length
      const [whole, without] = [unitedOf(all), unitedOf(all.toSpliced(at, 1))]
      for (const name of NAMES) {
        expect(includes(heldIn(whole, name), heldIn(without, name))).toBe(true)
        expect(heldIn(whole, name)).toBe(unite(heldIn(without, name), heldIn(all[at]!, name)))
      }
      for (const tag of TAGS) expect(includes(onNode(whole, tag), onNode(without, tag))).toBe(true)
      expect(areSameRights(whole, uniteRights(without, all[at]!))).toBe(true)
      expect(areSameRights(whole, unitedOf(all.toReversed()))).toBe(true)
    })
  )
})

it('of a token for some node groups allow nothing else, and of one for a project nothing on nodes', () => {
  fc.assert(
    fc.property(rights, set, fc.subarray(TAGS, { minLength: 1 }), (of, permissions, tags) => {
      const narrowed = narrowRights(of, permissions, { projects: null, nodeGroups: tags })
      expect([narrowed.everywhere, narrowed.inProjects.size]).toEqual([null, 0])
      for (const tag of TAGS) {
        expect(includes(onNode(of, tag), onNode(narrowed, tag))).toBe(true)
        if (!tags.includes(tag)) expect(onNode(narrowed, tag)).toBe(NONE)
      }
      const inProject = narrowRights(of, permissions, { projects: [NAMES[0]!], nodeGroups: null })
      expect(inProject.inNodeGroups.size).toBe(0)
      expect(keyOfRights(narrowed) === keyOfRights(inProject)).toBe(areSameRights(narrowed, inProject))
    })
  )
})

it('cover the projects in which the user has any right, and are equal only if they do not differ in anything', () => {
  fc.assert(
    fc.property(rights, rights, (one, other) => {
      const seen = seenProjects(one)
      for (const name of NAMES) expect(seen === null || seen.has(name)).toBe(permissionsIn(one, name) !== null)
      expect(areSameRights(one, rightsOf(one.everywhere, one.inProjects, one.inNodeGroups))).toBe(true)
      const isSame =
        one.everywhere === other.everywhere &&
        NAMES.every((name) => heldIn(one, name) === heldIn(other, name)) &&
        TAGS.every((tag) => one.inNodeGroups.get(tag) === other.inNodeGroups.get(tag))
      expect(areSameRights(one, other)).toBe(isSame)
      expect(keyOfRights(one) === keyOfRights(other)).toBe(isSame)
    })
  )
})

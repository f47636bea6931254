import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { ProjectName } from '../../shared/contract/index.ts'
import { dedupeKeyOf, givenDedupeKey } from './dedupe-key.ts'

const anyKey = fc.record({
  project: fc.string({ minLength: 1 }).map((name) => name as ProjectName),
  by: fc.constantFrom('client' as const, 'own' as const),
  key: fc.oneof(fc.string(), fc.constantFrom('["news","own"]x', '","own"]x', 'own"]x'))
})

it('keys are equal only in the same project and from the same origin, and are shown as they were given', () => {
  fc.assert(
    fc.property(anyKey, anyKey, (one, other) => {
      const [stored, another] = [one, other].map(({ project, by, key }) => dedupeKeyOf(project, by, key))
      expect(stored === another).toBe(JSON.stringify(one) === JSON.stringify(other))
      expect(givenDedupeKey(one.project, stored!)).toBe(one.key)
    }),
    { numRuns: 500 }
  )
})

it('a key from before keys had a project is shown whole', () => {
  expect(givenDedupeKey('shop' as ProjectName, 'crawl:ab')).toBe('crawl:ab')
  expect(givenDedupeKey('shop' as ProjectName, null)).toBeNull()
})

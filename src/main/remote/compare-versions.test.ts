import fc from 'fast-check'
import { expect, it } from 'vitest'
import { compareVersions } from './engine-file.ts'

const version = fc.tuple(fc.nat(999), fc.nat(999), fc.nat(999))

it('orders versions by their numbers, in the same way in both directions', () => {
  fc.assert(
    fc.property(version, version, (one, other) => {
      const first = one.findIndex((part, index) => part !== other[index])
      const wanted = first === -1 ? 'same' : one[first]! < other[first]! ? 'older' : 'newer'
      expect(compareVersions(one.join('.'), other.join('.'))).toBe(wanted)
    })
  )
})

it('builds of one release are equal, whatever follows the numbers', () => {
  expect(compareVersions('1.2.3-beta.1+7', 'v1.2.3')).toBe('same')
  expect(compareVersions('1.10.0', '1.9.9')).toBe('newer')
  expect(compareVersions('', '0.0.1')).toBe('older')
})

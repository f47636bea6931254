import fc from 'fast-check'
import { expect, it } from 'vitest'
import { addressOfEngine, engineOfAddress } from './engine-address.ts'

it('the address of an engine names it, whatever its name', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, maxLength: 40, unit: 'grapheme' }), (name) => {
      expect(engineOfAddress(addressOfEngine(name))).toBe(name)
    })
  )
})

it.each(['engine:', 'engine:%', 'engine:a b', 'pull:n-0123456789ab', 'http://engine:6800/', ''])(
  '%j is the address of no engine',
  (url) => {
    expect(engineOfAddress(url)).toBeNull()
  }
)

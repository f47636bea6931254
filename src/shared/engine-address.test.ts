import fc from 'fast-check'
import { expect, it } from 'vitest'
import { addressOfEngine, engineOfAddress } from './engine-address.ts'

it('an engine is identified by its address, whatever its name is', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, maxLength: 40, unit: 'grapheme' }), (name) => {
      expect(engineOfAddress(addressOfEngine(name))).toBe(name)
    })
  )
})

it.each(['engine:', 'engine:%', 'engine:a b', 'pull:n-0123456789ab', 'http://engine:6800/', ''])(
  '%j is not the address of an engine',
  (url) => {
    expect(engineOfAddress(url)).toBeNull()
  }
)

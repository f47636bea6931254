import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createCredentialsCheck } from './secrets.ts'

const text = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 40 }), fc.string({ minLength: 490, maxLength: 530 }))
const credentials = fc.record({ username: text, password: text })

describe('the check of credentials', () => {
  it('accepts the right ones, however long', () => {
    fc.assert(fc.property(credentials, (right) => createCredentialsCheck(right)({ ...right })))
  })

  it('refuses all others', () => {
    const property = fc.property(credentials, credentials, (right, other) => {
      fc.pre(right.username !== other.username || right.password !== other.password)
      expect(createCredentialsCheck(right)(other)).toBe(false)
      expect(createCredentialsCheck(right)({ ...right, password: `${right.password}\0` })).toBe(false)
    })
    fc.assert(property)
  })

  it('refuses the right characters with the border elsewhere', () => {
    const property = fc.property(credentials, fc.nat(), (right, at) => {
      const all = `${right.username}${right.password}`
      const length = all.length === 0 ? 0 : at % all.length
      fc.pre(length !== right.username.length)
      const other = { username: all.slice(0, length), password: all.slice(length) }
      expect(createCredentialsCheck(right)(other)).toBe(false)
    })
    fc.assert(property)
  })
})

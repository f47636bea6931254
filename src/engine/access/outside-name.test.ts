import fc from 'fast-check'
import { expect, it } from 'vitest'
import { NewUser } from '../../shared/contract/index.ts'
import { freeName, nameFrom } from './user-commands.ts'

it('any external user name becomes a name that is valid here, or none', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      const name = nameFrom(text)
      if (name !== '') expect(NewUser.safeParse({ name, role: 'viewer' }).error).toBeUndefined()
    })
  )
  expect(nameFrom('Anna Müller <anna@example.org>')).toBe('Anna-Müller-anna@example.org')
  expect(nameFrom('a\u202eb:c')).toBe('a-b-c')
})

it('a name that is taken gets the first free number', () => {
  const taken = new Set(['anna', 'anna-2', 'anna-4'])
  expect(freeName('anna', (name) => taken.has(name))).toBe('anna-3')
  expect(freeName('ben', (name) => taken.has(name))).toBe('ben')
})

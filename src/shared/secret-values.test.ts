import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SECRET_MASK } from './contract/index.ts'
import { maskCredentials, maskSecrets, secretValues, withSecrets } from './secret-values.ts'

const run = {
  spider: 'prices',
  settings: { PASSWORD: 'open sesame', LOG_LEVEL: 'INFO' },
  args: { token: 'abc', PASSWORD: 'open sesame', page: '1' },
  secretNames: ['PASSWORD', 'token']
}

test('secret values are masked in settings and arguments; the rest stays', () => {
  expect(maskSecrets(run)).toEqual({
    ...run,
    settings: { PASSWORD: SECRET_MASK, LOG_LEVEL: 'INFO' },
    args: { token: SECRET_MASK, PASSWORD: SECRET_MASK, page: '1' }
  })
  expect(secretValues(run)).toEqual(['open sesame', 'abc'])
})

test('with any names, even __proto__: nothing else changes, and replacing back restores the input', () => {
  const values = fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor')), fc.string())
  fc.assert(
    fc.property(values, values, fc.array(fc.string()), (settings, args, more) => {
      const one = { settings, args, secretNames: [...Object.keys(settings).slice(1), ...more] }
      const sealed = withSecrets(one, (value) => `sealed:${value}`)
      expect(withSecrets(sealed, (value) => value.slice('sealed:'.length))).toEqual(one)
      for (const name of Object.keys(settings)) {
        const isSecret = one.secretNames.includes(name)
        expect(maskSecrets(one).settings[name]).toBe(isSecret ? SECRET_MASK : settings[name])
      }
      expect(secretValues(maskSecrets(one)).filter((value) => value !== SECRET_MASK)).toEqual([])
    })
  )
})

test('credentials of an address are never left, the rest always is', () => {
  expect(maskCredentials('Looking in indexes: https://me:pa%3Ass@host/simple, http://to@ken@b:1/x@y')).toBe(
    'Looking in indexes: https://***@host/simple, http://***@b:1/x@y'
  )
  expect(maskCredentials('a @ https://host/a@b and me@host')).toBe('a @ https://host/a@b and me@host')
  const word = fc.stringMatching(/^[^\s/]{1,30}$/)
  fc.assert(
    fc.property(word, word, (user, password) => {
      const masked = maskCredentials(`x https://${user}:${password}@host/simple y`)
      return masked === 'x https://***@host/simple y'
    })
  )
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SECRET_MASK } from './contract/index.ts'
import { maskCredentials, maskSecrets, maskTokens, secretValues, withSecrets } from './secret-values.ts'

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

test('credentials in an address are always masked, and other text stays', () => {
  expect(maskCredentials('Looking in indexes: https://me:pa%3Ass@host/simple, http://to@ken@b/x@y')).toBe(
    'Looking in indexes: https://***@host/simple, http://***@b/x@y'
  )
  const harmless = 'a @ https://host/a@b and me@host, http://host:6800/ and git@host:a/b'
  expect(maskCredentials(harmless)).toBe(harmless)
  expect(maskCredentials('http://u:pa/ss@host:6800, u:p@host and "https://me@corp:a/b@host"')).toBe(
    'http://***@host:6800, ***@host and "https://***@host"'
  )
  const user = fc.stringMatching(/^[^\s/]{1,30}$/)
  const password = fc.stringMatching(/^\S{1,30}$/)
  fc.assert(
    fc.property(user, password, (name, secret) => {
      const masked = maskCredentials(`x https://${name}:${secret}@host/simple y`)
      return masked === 'x https://***@host/simple y'
    })
  )
})

test('the time for masking is proportional to the length of the text', () => {
  const startedAtMs = performance.now()
  expect(maskCredentials('://'.repeat(1_000_000))).toHaveLength(3_000_000)
  expect(performance.now() - startedAtMs).toBeLessThan(2_000)
})

test('a single name or id is masked like the same one in a longer text', () => {
  const part = fc.constantFrom('sdk_', 'SDK_', 'eyJ', 'abcdefghijkl', '.', '-', '_', '7', 'basic', 'a@b', 'x:y')
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
      const word = parts.join('')
      const [alone, among] = [word, `${word} "`].map((text) => maskTokens(maskCredentials(text)))
      expect(`${alone} "`).toBe(among)
    }),
    { numRuns: 2_000 }
  )
})

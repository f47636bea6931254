import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { isObvious } from './obvious-password.ts'

it.each([
  ['passwordpassword', 'anna'],
  ['Password123456789!', 'anna'],
  ['qwertyuiopasdfghjkl', 'anna'],
  ['1q2w3e4r5t6y7u8i', 'anna'],
  ['1qaz2wsx3edc4rfv', 'anna'],
  ['123456789012345', 'anna'],
  ['abcdefghijklmnop', 'anna'],
  ['zyxwvutsrqponmlk', 'anna'],
  ['aaaaaaaaaaaaaaaaaa', 'anna'],
  ['abababababababab', 'anna'],
  ['annaannaannaannaanna', 'anna'],
  ['anna-anna-2026-11-28', 'anna'],
  ['scrapdeck scrapdeck', 'anna'],
  ['Sunshine Dragon Master', 'anna'],
  ['letmein iloveyou 2026', 'anna'],
  ['Welcome2024Summer2024', 'anna'],
  ['AzertyuiopAzertyuiop', 'anna']
])('%s of %s is obvious', (password, name) => {
  expect(isObvious(password, name)).toBe(true)
})

it.each([
  'kestrel amber drawbridge',
  'correct horse battery staple',
  'lantern osprey cobblestone',
  'тихий океан зелёный стол',
  'Zug nach Oldenburg 7 Uhr',
  'xkcd-936-was-right-about-entropy'
])('%s is not', (password) => {
  expect(isObvious(password, 'anna')).toBe(false)
})

it('what is random is not, in any of the alphabets that generators use', () => {
  fc.assert(
    fc.property(fc.constantFrom<BufferEncoding>('base64', 'base64url'), (encoding) => {
      expect(isObvious(randomBytes(24).toString(encoding), 'anna')).toBe(false)
    })
  )
})

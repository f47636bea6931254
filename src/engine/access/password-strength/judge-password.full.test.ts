import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { isGuessable } from './judge-password.ts'

const judge = (password: string, name = 'anna') =>
  isGuessable({ password, names: [name, 'scrapdeck', 'scrapyd', 'deck.example.org'] })

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
  ['AzertyuiopAzertyuiop', 'anna'],
  ['P@ssw0rdP@ssw0rd', 'anna'],
  ['iloveyouiloveyou1', 'anna'],
  ['deck.example.org-2026', 'anna'],
  ['scrapyd deck example', 'anna'],
  ['anna.kowalska.anna', 'anna.kowalska'],
  ['december 2025 december', 'anna']
])('the password %s of %s is easy to guess', (password, name) => {
  expect(judge(password, name)).toBe(true)
})

it.each([
  'kestrel amber drawbridge',
  'correct horse battery staple',
  'lantern osprey cobblestone',
  'тихий океан зелёный стол',
  'Zug nach Oldenburg 7 Uhr',
  'xkcd-936-was-right-about-entropy'
])('the password %s is not easy to guess', (password) => {
  expect(judge(password)).toBe(false)
})

it('random passwords are not weak, in any alphabet that generators use', () => {
  fc.assert(
    fc.property(fc.constantFrom<BufferEncoding>('base64', 'base64url'), (encoding) => {
      expect(judge(randomBytes(24).toString(encoding))).toBe(false)
    }),
    { numRuns: 20 }
  )
})

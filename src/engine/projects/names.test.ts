import { join, sep } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { problemOfEntryName, problemOfPathPart, problemOfWindowsName } from './names.ts'

const hostileText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc
    .array(fc.constantFrom('..', '.', '/', '\\', 'C:', '\0', 'a', ' ', '\n', '%2e'), { maxLength: 8 })
    .map((parts) => parts.join(''))
)

test('a valid part of a path never leaves its folder and never is the folder itself', () => {
  fc.assert(
    fc.property(hostileText, (name) => {
      fc.pre(problemOfPathPart(name) === null)
      expect(join(sep, 'data', 'logs', name).split(sep)).toEqual(['', 'data', 'logs', name])
    })
  )
})

test.each(['a:b', 'a?', 'shop.', 'shop ', 'con', 'NUL.egg', 'Com1', 'LPT¹.x', 'aux .log'])(
  '%j is an invalid name on Windows',
  (name) => {
    expect(problemOfWindowsName(name)).not.toBeNull()
  }
)

test.each(['shop', '.shop', 'a b', 'console', 'com10', 'a.con'])('%j is a valid name on Windows, too', (name) => {
  expect(problemOfWindowsName(name)).toBeNull()
})

test('a valid entry name stays below the folder it would be unpacked into', () => {
  fc.assert(
    fc.property(hostileText, (name) => {
      fc.pre(problemOfEntryName(name) === null)
      expect(join('/top', name).startsWith('/top')).toBe(true)
      expect(name).not.toMatch(/\\|\0/)
    })
  )
})

test.each([
  ['', 'is empty'],
  ['..', 'is a folder reference'],
  ['.', 'is a folder reference'],
  ['a/b', 'contains a slash'],
  ['a\\b', 'contains a slash'],
  ['a\0b', 'contains a control character'],
  ['a\nb', 'contains a control character'],
  ['abc\u202egpj', 'contains the invisible character U+202E'],
  ['sh\u200bop', 'contains the invisible character U+200B'],
  ['é'.repeat(101), 'is longer than 200 bytes']
])('as a part of a path, %j %s', (name, problem) => {
  expect(problemOfPathPart(name)?.text).toBe(problem)
})

test('names that Scrapyd accepts for projects are accepted: spaces, percent signs, other scripts', () => {
  expect(['my project', '100%', 'магазин', 'a.b-c_d', '..a'].map(problemOfPathPart)).toEqual(Array(5).fill(null))
})

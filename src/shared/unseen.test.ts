import fc from 'fast-check'
import { expect, test } from 'vitest'
import { problemOfShownName, showUnseen } from './unseen.ts'

test.each([
  ['abc\u202egpj', 'contains the invisible character U+202E'],
  ['a\u2066b', 'contains the invisible character U+2066'],
  ['sh\u200bop', 'contains the invisible character U+200B'],
  ['sh\u200dop', 'contains the invisible character U+200D'],
  ['\ufeffshop', 'contains the invisible character U+FEFF'],
  ['shop\u{e0041}', 'contains the invisible character U+E0041'],
  ['a\u009bb', 'contains the invisible character U+009B'],
  ['a\nb', 'contains a control character']
])('%j cannot be a name', (name, problem) => {
  expect(problemOfShownName(name)).toBe(problem)
})

test.each(['my shop', 'магазин', '店舗', 'نمی\u200cخواهم', 'متجر', '👩\u200d👧', 'café', '❤\ufe0f', ''])(
  '%j can be a name',
  (name) => expect(problemOfShownName(name)).toBeNull()
)

test('invisible characters are escaped, and nothing else is changed', () => {
  expect(showUnseen('abc\u202egpj')).toBe('abc⟨U+202E⟩gpj')
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(problemOfShownName(showUnseen(text))).toBeNull()
      if (problemOfShownName(text) === null) expect(showUnseen(text)).toBe(text)
    })
  )
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { maskedText } from './error-fingerprint.ts'

describe('masked text', () => {
  it.each([
    ['No price in item 4711', 'No price in item <id>'],
    ["could not convert string to float: 'n/a'", 'could not convert string to float: <text>'],
    [
      'Spider error processing <GET https://a.b/c?d=1> (referer: None)',
      'Spider error processing <GET <url>> (referer: None)'
    ],
    ['user 550e8400-e29b-41d4-a716-446655440000 is gone', 'user <id> is gone'],
    ['at 0x7f3a2b1c, took 3.5s', 'at <id> took <id>'],
    ['key=5', 'key=<id>'],
    [`don't know b'x\\'y' of "z"`, "don't know <text> of <text>"],
    ['[1, 2, 3] and [4]', '[<id>] and [<id>]'],
    ["cut in 'the midd", 'cut in <text>'],
    ['価格 is  missing', '価格 is missing'],
    ["'NoneType' object has no attribute 'get'", '<text> object has no attribute <text>']
  ])('replaces %j by %j', (text, masked) => expect(maskedText(text)).toBe(masked))

  it('has no digit left, whatever the text', () => {
    const word = fc.constantFrom(
      'a',
      "'",
      '"',
      '12',
      'https://a/b',
      '<id>',
      ' ',
      ',',
      "b'x'",
      'é1',
      '_',
      '(',
      '`',
      '\\'
    )
    fc.assert(
      fc.property(
        fc.array(fc.oneof(word, fc.string({ unit: 'grapheme', maxLength: 8 })), { maxLength: 40 }),
        (words) => {
          expect(maskedText(words.join(''))).not.toMatch(/\p{N}/u)
        }
      )
    )
  })

  it.each(["'", '"', 'b', '1', 'a1 ', 'http://', '<id> ', "'a", '\\', 'é', '`'])(
    'of a long text of %j is computed quickly',
    (piece) => {
      const begun = performance.now()
      maskedText(piece.repeat(100_000))
      expect(performance.now() - begun).toBeLessThan(500)
    }
  )
})

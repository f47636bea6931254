import fc from 'fast-check'
import { expect, test } from 'vitest'
import { assemble } from '../../../testing/assemble.ts'
import { FIND_TEXT, TextFinder } from './text-finder.ts'

const char = fc.constantFrom('a', 'A', 'b', 'B', 'z', 'Z', '@', '[', '`', '{', ' ', '\u00e9', '\u00c9')
const text = (maxLength: number) => fc.array(char, { maxLength }).map((chars) => chars.join(''))
const padding = fc.oneof({ weight: 9, arbitrary: fc.nat(40) }, fc.integer({ min: 65_500, max: 65_560 }))

/** Folds only ASCII, as the finder does. */
const folded = (bytes: Buffer) => bytes.toString('latin1').replace(/[A-Z]/g, (letter) => letter.toLowerCase())

test('each place of a text is found, with and without case, even across the ends of blocks', () => {
  fc.assert(
    fc.property(text(6), text(60), padding, fc.boolean(), (needle, haystack, before, ignoresCase) => {
      fc.pre(needle !== '')
      const bytes = Buffer.from(`${'x'.repeat(before)}${haystack}${needle}${haystack}`)
      const read = ignoresCase ? folded : (part: Buffer) => part.toString('latin1')
      const finder = new TextFinder(needle, { ignoresCase })
      finder.open(bytes)
      const found: number[] = []
      for (let at = finder.next(0); at >= 0; at = finder.next(at + 1)) found.push(at)
      const [all, wanted] = [read(bytes), read(Buffer.from(needle))]
      const expected: number[] = []
      for (let at = all.indexOf(wanted); at >= 0; at = all.indexOf(wanted, at + 1)) expected.push(at)
      expect(found).toEqual(expected)
    }),
    { numRuns: 1_000 }
  )
})

test('the compiled code matches its source', async () => {
  expect(await assemble(new URL('find-text.wat', import.meta.url))).toBe(FIND_TEXT)
})

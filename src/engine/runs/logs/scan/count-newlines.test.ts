import fc from 'fast-check'
import { expect, test } from 'vitest'
import { assemble } from '../../../testing/assemble.ts'
import { countNewlines, COUNT_NEWLINES } from './count-newlines.ts'

test('newlines are counted like one by one, wherever a range of bytes begins and ends', () => {
  const block = fc
    .array(fc.tuple(fc.constantFrom('\n', 'a', '\n\n', '\r\n', '\u000a\u008a'), fc.nat(9_000)), { maxLength: 40 })
    .map((runs) => Buffer.from(runs.map(([text, times]) => text.repeat(times)).join(''), 'latin1'))
  fc.assert(
    fc.property(block, fc.nat(200), fc.nat(200), (bytes, skipped, cut) => {
      const to = Math.max(0, bytes.length - cut)
      const from = Math.min(skipped, to)
      expect(countNewlines(bytes, from, to)).toBe(bytes.subarray(from, to).filter((byte) => byte === 10).length)
    })
  )
})

test('the compiled code matches its source', async () => {
  expect(await assemble(new URL('count-newlines.wat', import.meta.url))).toBe(COUNT_NEWLINES)
})

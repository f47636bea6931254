import fc from 'fast-check'
import { expect, test } from 'vitest'
import { assemble } from '../../../testing/assemble.ts'
import { BLOCK_BITS, bitsOf, FILTER_BITS, FilterBuilder, hasBit } from './block-filter.ts'

const word = fc.constantFrom('price', 'id', 'GET', 'item', '_', '4711', 'timeout', ' ', '/', '\n', 'ü', '-')
const text = fc.array(word, { maxLength: 30 }).map((words) => words.join(''))

const filterOf = (parts: readonly Uint8Array[]) => {
  const builder = new FilterBuilder()
  for (const part of parts) builder.add(part)
  return builder.take()
}

test('a block has the bits of every part of its text, however the text was added', () => {
  fc.assert(
    fc.property(text, text, text, fc.nat(60), (before, wanted, after, cut) => {
      const bytes = Buffer.from(before + wanted + after)
      const filter = filterOf([bytes.subarray(0, cut), bytes.subarray(cut)])
      expect(bitsOf(Buffer.from(wanted)).filter((bit) => !hasBit(filter, bit))).toEqual([])
      expect(filter).toEqual(filterOf([bytes]))
    })
  )
})

test('a copied filter continues unchanged, and the next one starts empty', () => {
  fc.assert(
    fc.property(text, text, (first, second) => {
      const builder = new FilterBuilder()
      builder.add(Buffer.from(first))
      const taken = builder.take()
      expect(builder.take()).toEqual(filterOf([]))
      builder.load(taken)
      builder.add(Buffer.from(second))
      const both = builder.take()
      const bits = Array.from({ length: FILTER_BITS }, (_, bit) => bit).filter((bit) => hasBit(both, bit))
      const apart = [taken, filterOf([Buffer.from(second)])]
      expect(bits.filter((bit) => !apart.some((filter) => hasBit(filter, bit)))).toEqual([])
      expect(apart.every((filter) => filter.every((byte, at) => (byte & ~both[at]!) === 0))).toBe(true)
    }),
    { numRuns: 10 }
  )
})

test('the compiled code matches its source', async () => {
  expect(await assemble(new URL('block-bits.wat', import.meta.url))).toBe(BLOCK_BITS)
})

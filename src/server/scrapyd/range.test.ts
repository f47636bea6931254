import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseRange } from './static-files.ts'

describe('a range of ten bytes', () => {
  it.each([
    ['bytes=0-3', { start: 0, stop: 4 }],
    ['bytes=4-', { start: 4, stop: 10 }],
    ['bytes=-3', { start: 7, stop: 10 }],
    ['bytes=-30', { start: 0, stop: 10 }],
    ['bytes=9-99', { start: 9, stop: 10 }],
    ['bytes=10-', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=3-2', null],
    ['bytes = 1-2,', { start: 1, stop: 3 }],
    ['bytes=-', null],
    ['bytes=0-1,3-4', null],
    ['lines=0-1', null],
    [undefined, null]
  ])('%o', (header, expected) => {
    expect(parseRange(header, 10)).toEqual(expected)
  })

  it('never exceeds the file', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.nat(2000), (first, last, size) => {
        for (const header of [`bytes=${first}-${last}`, `bytes=${first}-`, `bytes=-${last}`]) {
          const range = parseRange(header, size)
          if (range === null || range === 'unsatisfiable') continue
          expect(0 <= range.start && range.start < range.stop && range.stop <= size).toBe(true)
        }
      })
    )
  })
})

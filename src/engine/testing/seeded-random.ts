import type { Random } from '../runtime/random.ts'

/** The same seed gives the same sequence in every run and on every machine (mulberry32). */
export function createSeededRandom(seed: number): Random {
  let state = seed >>> 0
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    next,
    hex: (count) =>
      Array.from({ length: count }, () =>
        Math.floor(next() * 256)
          .toString(16)
          .padStart(2, '0')
      ).join('')
  }
}

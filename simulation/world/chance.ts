import { createSeededRandom } from '../../src/engine/testing/seeded-random.ts'

/**
 * Chance for one part of the world: each has its own stream, so that a change in one leaves the others' choices alone.
 */
export interface Chance {
  next(): number
  /** True in `probability` of the cases. */
  happens(probability: number): boolean
  /** Whole, both ends included. */
  between(least: number, most: number): number
  pick<T>(from: readonly T[]): T
  hex(count: number): string
}

export function createChance(seed: number, stream: string): Chance {
  let mixed = seed >>> 0
  for (const character of stream) mixed = (Math.imul(mixed ^ character.codePointAt(0)!, 0x01000193) + 0x9e3779b9) >>> 0
  const { next, hex } = createSeededRandom(mixed)
  return {
    next,
    hex,
    happens: (probability) => next() < probability,
    between: (least, most) => least + Math.floor(next() * (most - least + 1)),
    pick: (from) => from[Math.floor(next() * from.length)]!
  }
}

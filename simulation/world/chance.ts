import { createSeededRandom } from '../../src/engine/testing/seeded-random.ts'

/** Randomness for one part of the world. Each part has its own stream, so changes in one do not affect the others. */
export interface Chance {
  next(): number
  happens(probability: number): boolean
  /** An integer, both ends included. */
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

import { randomBytes } from 'node:crypto'

/** Everything the engine knows of chance. Tests give a seeded one. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number
  /** `count` random bytes as lower-case hex. */
  hex(count: number): string
}

export const systemRandom: Random = {
  next: () => randomBytes(4).readUInt32BE() / 2 ** 32,
  hex: (count) => randomBytes(count).toString('hex')
}

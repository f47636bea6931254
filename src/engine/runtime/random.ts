import { randomBytes } from 'node:crypto'

/** Everything the engine knows of chance. Tests give a seeded one. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number
  /** `count` random bytes as lower-case hex. */
  hex(count: number): string
}

// The system is asked for many at once: a call for each few of them is most of what making a job id costs.
const POOL_BYTES = 4096
let pool = Buffer.alloc(0)

function drawBytes(count: number): Buffer {
  if (pool.length < count) pool = randomBytes(Math.max(POOL_BYTES, count))
  const drawn = pool.subarray(0, count)
  pool = pool.subarray(count)
  return drawn
}

export const systemRandom: Random = {
  next: () => drawBytes(4).readUInt32BE() / 2 ** 32,
  hex: (count) => drawBytes(count).toString('hex')
}

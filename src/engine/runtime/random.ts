import { randomBytes } from 'node:crypto'

/** The engine's only source of randomness. Tests use a seeded one. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number
  /** `count` random bytes as lower-case hex. */
  hex(count: number): string
}

// Drawn in bulk, because a system call for each few bytes would dominate the cost of creating a job id.
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

import { randomBytes } from 'node:crypto'

/** The engine's only source of randomness. Tests use a seeded source. */
export interface Random {
  next(): number
  hex(count: number): string
}

// Random bytes are drawn in bulk, because a system call per id would dominate the cost of creating a job id.
const POOL_BYTES = 4096
let pool = Buffer.alloc(0)
let drawnBytes = 0

function draw(count: number): number {
  if (drawnBytes + count > pool.length) {
    pool = randomBytes(Math.max(POOL_BYTES, count))
    drawnBytes = 0
  }
  const offset = drawnBytes
  drawnBytes += count
  return offset
}

export const systemRandom: Random = {
  next() {
    const offset = draw(4)
    return pool.readUInt32BE(offset) / 2 ** 32
  },
  hex(count) {
    const offset = draw(count)
    return pool.toString('hex', offset, offset + count)
  }
}

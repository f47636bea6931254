import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import type { AnswerLimits } from '../runtime/cache-address.ts'
import type { CachedAnswer } from './shared-cache.ts'

const deflate = promisify(deflateRaw)
const inflate = promisify(inflateRaw)

/** A byte for the format, the position in the change log, the length of the body before compression. */
const HEAD_BYTES = 13
const PLAIN = 1
const DEFLATED = 2

/** No entry is longer: compression that gains nothing is not used. */
export const longestEntry = ({ maxBytes }: Pick<AnswerLimits, 'maxBytes'>): number => HEAD_BYTES + maxBytes

/** null: too large to be kept. Long bodies are compressed in a thread, as fast as possible. */
export async function packAnswer({ position, body }: CachedAnswer, limits: AnswerLimits): Promise<Buffer | null> {
  if (body.length > limits.maxBytes) return null
  const deflated = body.length >= limits.compressFromBytes ? await deflate(body, { level: 1 }) : body
  const isShorter = deflated.length < body.length
  const head = Buffer.alloc(HEAD_BYTES)
  head.writeUInt8(isShorter ? DEFLATED : PLAIN, 0)
  head.writeDoubleBE(position, 1)
  head.writeUInt32BE(body.length, 9)
  return Buffer.concat([head, isShorter ? deflated : body])
}

/** null: not one of ours, damaged, or larger than allowed. What a cache holds is input like any other. */
export async function unpackAnswer(entry: Buffer, { maxBytes }: AnswerLimits): Promise<CachedAnswer | null> {
  if (entry.length < HEAD_BYTES) return null
  const format = entry.readUInt8(0)
  const position = entry.readDoubleBE(1)
  const length = entry.readUInt32BE(9)
  if (!Number.isSafeInteger(position) || length > maxBytes) return null
  const packed = entry.subarray(HEAD_BYTES)
  if (format === PLAIN) return packed.length === length ? { position, body: packed } : null
  if (format !== DEFLATED) return null
  try {
    const body = await inflate(packed, { maxOutputLength: Math.max(1, length) })
    return body.length === length ? { position, body } : null
  } catch {
    // Damaged: as if there were none.
    return null
  }
}

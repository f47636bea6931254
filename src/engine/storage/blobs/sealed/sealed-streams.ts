import { Readable } from 'node:stream'
import type { EncryptionKeys } from '../../../runtime/encryption-keys.ts'
import {
  FRAME_BYTES,
  type FileSeal,
  HEADER_BYTES,
  newSeal,
  openFrame,
  openHeader,
  SEALED_FRAME_BYTES,
  sealFrame
} from './sealed-format.ts'

/** The number of bytes to encrypt per turn of the event loop. Encrypting them takes less than a millisecond. */
const TURN_BYTES = 4 * FRAME_BYTES

/** Yields the encrypted file in pieces. At the end, calls `onSize` with the size of the plain content. */
export async function* sealing(
  keys: EncryptionKeys,
  name: string,
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  onSize: (sizeBytes: number) => void
): AsyncGenerator<Buffer> {
  const { header, seal } = newSeal(keys, name)
  let index = 0
  let sizeBytes = 0
  yield header
  for await (const { bytes, isLast } of chunks(content, FRAME_BYTES)) {
    const frames: Buffer[] = []
    for (let at = 0; at < bytes.length || (isLast && at === 0); at += FRAME_BYTES) {
      const isEnd = isLast && at + FRAME_BYTES >= bytes.length
      frames.push(...sealFrame(seal, index, isEnd, bytes.subarray(at, at + FRAME_BYTES)))
      index += 1
    }
    sizeBytes += bytes.length
    yield Buffer.concat(frames)
  }
  onSize(sizeBytes)
}

/**
 * Checks the header immediately and each frame when it is read. Both checks can reject with BLOB_DAMAGED or
 * ENCRYPTION_KEY_MISSING. Never returns unauthenticated content.
 */
export async function openSealedStream(keys: EncryptionKeys, name: string, stored: Readable): Promise<Readable> {
  const pieces = stored[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>
  const plain = await begin().catch((error: unknown) => {
    stored.destroy()
    throw error
  })
  // If the stream is destroyed before it is read, its generator never runs and cannot close the file.
  plain.once('close', () => stored.destroy())
  return plain

  async function begin(): Promise<Readable> {
    let head = Buffer.alloc(0)
    while (head.length < HEADER_BYTES) {
      const next = await pieces.next()
      if (next.done === true) break
      head = Buffer.concat([head, next.value])
    }
    const seal = openHeader(keys, name, head)
    return Readable.from(opening(seal, rest(head.subarray(HEADER_BYTES), pieces)), { objectMode: false })
  }
}

async function* rest(first: Uint8Array, pieces: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first
  for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) yield next.value
}

async function* opening(seal: FileSeal, body: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let index = 0
  for await (const { bytes, isLast } of chunks(body, SEALED_FRAME_BYTES)) {
    const frames: Buffer[] = []
    for (let at = 0; at < bytes.length || (isLast && at === 0); at += SEALED_FRAME_BYTES) {
      const isEnd = isLast && at + SEALED_FRAME_BYTES >= bytes.length
      frames.push(openFrame(seal, index, isEnd, bytes.subarray(at, at + SEALED_FRAME_BYTES)))
      index += 1
    }
    yield Buffer.concat(frames)
  }
}

/**
 * Yields whole frames of `frameBytes`, several at a time. The last chunk has the remaining bytes, even if there are
 * none.
 */
async function* chunks(
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  frameBytes: number
): AsyncGenerator<{ bytes: Uint8Array; isLast: boolean }> {
  let held: Uint8Array[] = []
  let heldBytes = 0
  for await (const whole of content) {
    for (let at = 0; at < whole.length; at += TURN_BYTES) {
      const piece = whole.subarray(at, at + TURN_BYTES)
      held.push(piece)
      heldBytes += piece.length
      // Wait for one more byte, which proves that these frames are not the last.
      if (heldBytes <= frameBytes) continue
      const bytes = held.length === 1 ? held[0]! : Buffer.concat(held)
      const end = Math.floor((bytes.length - 1) / frameBytes) * frameBytes
      yield { bytes: bytes.subarray(0, end), isLast: false }
      held = [bytes.subarray(end)]
      heldBytes = bytes.length - end
    }
  }
  yield { bytes: Buffer.concat(held), isLast: true }
}

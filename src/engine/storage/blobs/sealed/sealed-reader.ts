import { readSync } from 'node:fs'
import type { EncryptionKeys } from '../../../runtime/encryption-keys.ts'
import { type BlobReader, openFileReader } from '../blob-store.ts'
import {
  FRAME_BYTES,
  type FileSeal,
  type FramePlan,
  frameStart,
  HEADER_BYTES,
  openFrame,
  openHeader,
  requireFrames,
  SEALED_FRAME_BYTES,
  sealBroken
} from './sealed-format.ts'

const TURN_FRAMES = 4

/**
 * Decrypts the last frame first, so that a truncated file is rejected whatever range is read. Rejects with
 * BLOB_DAMAGED or ENCRYPTION_KEY_MISSING, and then closes the file.
 */
export async function openSealedReader(keys: EncryptionKeys, name: string, stored: BlobReader): Promise<BlobReader> {
  return orDispose(stored, async () =>
    readerOfSealed(openHeader(keys, name, await stored.read(0, HEADER_BYTES)), stored)
  )
}

export async function readFileSeal(keys: EncryptionKeys, name: string, path: string): Promise<FileSeal> {
  await using file = await openFileReader(path)
  return openHeader(keys, name, await file.read(0, HEADER_BYTES))
}

export const openSealedFile = (seal: FileSeal, stored: BlobReader): Promise<BlobReader> =>
  orDispose(stored, () => readerOfSealed(seal, stored))

async function orDispose<T>(stored: BlobReader, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    await stored[Symbol.asyncDispose]()
    throw error
  }
}

async function readerOfSealed(seal: FileSeal, stored: BlobReader): Promise<BlobReader> {
  const plan = requireFrames(seal.name, await stored.sizeBytes())
  const last = await openFrames(plan.frames - 1, 1)
  return {
    sizeBytes: async () => plan.plainBytes,
    async read(offset, length) {
      const end = Math.min(offset + length, plan.plainBytes)
      if (end <= offset) return new Uint8Array(0)
      const lastAt = (plan.frames - 1) * FRAME_BYTES
      if (offset >= lastAt) return last.subarray(offset - lastAt, end - lastAt)
      const result = Buffer.allocUnsafe(end - offset)
      const [first, until] = [Math.floor(offset / FRAME_BYTES), Math.ceil(end / FRAME_BYTES)]
      for (let frame = first; frame < until; frame += TURN_FRAMES) {
        const plain = await openFrames(frame, Math.min(TURN_FRAMES, until - frame))
        const at = frame * FRAME_BYTES
        plain.copy(result, Math.max(0, at - offset), Math.max(0, offset - at), end - at)
      }
      return result
    },
    [Symbol.asyncDispose]: () => stored[Symbol.asyncDispose]()
  }

  async function openFrames(first: number, count: number): Promise<Buffer> {
    const sealed = await stored.read(frameStart(first), count * SEALED_FRAME_BYTES)
    return Buffer.concat([...framesIn(seal, plan, first, count, sealed)])
  }
}

function* framesIn(seal: FileSeal, { frames }: FramePlan, first: number, count: number, sealed: Uint8Array) {
  for (let index = 0; index < count; index += 1) {
    const at = index * SEALED_FRAME_BYTES
    yield openFrame(seal, first + index, first + index === frames - 1, sealed.subarray(at, at + SEALED_FRAME_BYTES))
  }
}

/** An open file that threads can read synchronously. */
export interface FileBytes {
  sizeBytes: number
  /** Fills the start of `buffer`. Returns fewer bytes than `length` only at the end of the file. */
  read(buffer: Buffer, at: number, length: number): number
}

/** `seal` null: the file is not encrypted. Throws BLOB_DAMAGED. */
export function fileBytes(descriptor: number, storedBytes: number, seal: FileSeal | null): FileBytes {
  const readStored = (buffer: Buffer, at: number, length: number): number => {
    let filled = 0
    while (filled < length) {
      const count = readSync(descriptor, buffer, filled, length - filled, at + filled)
      if (count === 0) break
      filled += count
    }
    return filled
  }
  if (seal === null) return { sizeBytes: storedBytes, read: readStored }
  const plan = requireFrames(seal.name, storedBytes)
  const buffer = Buffer.allocUnsafe(SEALED_FRAME_BYTES)
  let known: { index: number; plain: Buffer } = { index: -1, plain: Buffer.alloc(0) }
  const frame = (index: number): Buffer => {
    if (known.index === index) return known.plain
    const sealed = buffer.subarray(0, readStored(buffer, frameStart(index), SEALED_FRAME_BYTES))
    known = { index, plain: openFrame(seal, index, index === plan.frames - 1, sealed) }
    return known.plain
  }
  frame(plan.frames - 1)
  return {
    sizeBytes: plan.plainBytes,
    read(target, at, length) {
      const end = Math.min(at + length, plan.plainBytes)
      for (let offset = at; offset < end; ) {
        const index = Math.floor(offset / FRAME_BYTES)
        const plain = frame(index)
        const copied = plain.copy(target, offset - at, offset - index * FRAME_BYTES, end - index * FRAME_BYTES)
        if (copied === 0) throw sealBroken(seal.name, 'it ends too early')
        offset += copied
      }
      return Math.max(0, end - at)
    }
  }
}

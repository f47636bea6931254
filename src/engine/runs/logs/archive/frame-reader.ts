import { type LogBytes, placeRange, type WantedBytes } from '../../../runtime/byte-window.ts'
import { damaged, type FrameSizes, unpackFrame } from './frames.ts'

/** Reads `length` bytes of a file of frames, fewer only at its end. */
export type ReadAt = (offset: number, length: number) => Promise<Uint8Array>

/** Where each frame begins, packed and unpacked; one element more than there are frames. */
export interface FrameMap {
  readonly packedAt: readonly number[]
  readonly rawAt: readonly number[]
}

export function mapFrames(frames: readonly FrameSizes[]): FrameMap {
  const packedAt = [0]
  const rawAt = [0]
  for (const { packedBytes, rawBytes } of frames) {
    packedAt.push(packedAt.at(-1)! + packedBytes)
    rawAt.push(rawAt.at(-1)! + rawBytes)
  }
  return { packedAt, rawAt }
}

export const rawSizeOf = ({ rawAt }: FrameMap): number => rawAt.at(-1)!

/** The frame that holds this byte of the log: the last that begins at or before it. */
export function frameAt({ rawAt }: FrameMap, offset: number): number {
  let low = 0
  let high = rawAt.length - 2
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (rawAt[middle]! <= offset) low = middle
    else high = middle - 1
  }
  return low
}

/** A range in bytes of the log, from only the frames that hold it. Rejects with LOG_DAMAGED. */
export async function readFrames(map: FrameMap, readAt: ReadAt, wanted: WantedBytes): Promise<LogBytes> {
  const sizeBytes = rawSizeOf(map)
  const { start: offset, end } = placeRange(wanted, sizeBytes)
  if (end <= offset) return { offset, sizeBytes, bytes: new Uint8Array(0) }
  const first = frameAt(map, offset)
  const last = frameAt(map, end - 1)
  const packedStart = map.packedAt[first]!
  const packed = await readAt(packedStart, map.packedAt[last + 1]! - packedStart)
  if (packed.length !== map.packedAt[last + 1]! - packedStart) throw damaged('it ends too early')
  const bytes = Buffer.allocUnsafe(end - offset)
  for (let frame = first; frame <= last; frame += 1) {
    const rawStart = map.rawAt[frame]!
    const raw = await unpackFrame(
      packed.subarray(map.packedAt[frame]! - packedStart, map.packedAt[frame + 1]! - packedStart),
      map.rawAt[frame + 1]! - rawStart
    )
    raw.copy(bytes, Math.max(0, rawStart - offset), Math.max(0, offset - rawStart), end - rawStart)
  }
  return { offset, sizeBytes, bytes }
}

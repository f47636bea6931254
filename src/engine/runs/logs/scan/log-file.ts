import { closeSync, fstatSync, openSync } from 'node:fs'
import type { FileSeal } from '../../../storage/blobs/sealed/sealed-format.ts'
import { type FileBytes, fileBytes } from '../../../storage/blobs/sealed/sealed-reader.ts'
import {
  damaged,
  FRAME_RAW_BYTES,
  readEnd,
  unpackFrameStartSync,
  unpackFrameSync,
  type FrameMap,
  frameAt,
  mapFrames,
  rawSizeOf
} from '../archive/frames.ts'
import type { SpoolFiles } from '../archive/spool.ts'
import { freeBuffer } from '../../../runtime/byte-window.ts'
import { unpackSmallLog } from '../archive/small-log.ts'

/**
 * A log that a thread can read: as its spider writes it, complete in the archive, packed and small enough to pass
 * along, or in a spool. `seal` is the key of an encrypted file.
 */
export type LogFile =
  | { kind: 'plain'; path: string; seal?: FileSeal | null }
  | { kind: 'frames'; path: string; seal?: FileSeal | null }
  | { kind: 'packed'; packed: Uint8Array }
  | ({ kind: 'spool' } & SpoolFiles)

/** Consecutive bytes of a log. Their memory is reused or freed when the next block is requested. */
export interface LogBlock {
  offset: number
  bytes: Buffer
}

/** An open log. Synchronous, so use it only in threads. */
export interface OpenLog {
  sizeBytes: number
  /** The number of newlines in each FRAME_RAW_BYTES of the log. Absent if unknown. */
  newlines?: number[]
  blocks(from: number, to: number): Iterable<LogBlock>
  close(): void
}

/** Returns a copy that the caller can keep. */
export function readBytes(log: OpenLog, from: number, to: number): Buffer {
  const parts: Buffer[] = []
  for (const { bytes } of log.blocks(from, Math.min(to, log.sizeBytes))) parts.push(Buffer.from(bytes))
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
}

/** Throws LOG_DAMAGED or the system's error. */
export async function openLogFile(file: LogFile): Promise<OpenLog> {
  if (file.kind === 'packed') return inMemory(unpackSmallLog(file.packed))
  if (file.kind === 'spool') return openSpool(file)
  const descriptor = openSync(file.path, 'r')
  try {
    const bytes = fileBytes(descriptor, fstatSync(descriptor).size, file.seal ?? null)
    const { sizeBytes } = bytes
    const close = () => closeSync(descriptor)
    if (file.kind === 'plain') {
      return { sizeBytes, blocks: (from, to) => plainBlocks(bytes, from, Math.min(to, sizeBytes)), close }
    }
    const readAt = async (offset: number, length: number) => readExactly(bytes, offset, length)
    const { frames, newlines } = await readEnd(sizeBytes, readAt)
    const map = mapFrames(frames)
    const blocks = (from: number, to: number) => frameBlocks(bytes, map, from, to)
    return { sizeBytes: rawSizeOf(map), newlines, blocks, close }
  } catch (error) {
    closeSync(descriptor)
    throw error
  }
}

function openSpool({ framesPath, frames, restPath, restAt, restBytes }: SpoolFiles): OpenLog {
  const map = mapFrames(frames)
  const framesBytes = rawSizeOf(map)
  const descriptors = new Map<string, number>()
  const open = (path: string) => {
    const descriptor = descriptors.get(path) ?? openSync(path, 'r')
    descriptors.set(path, descriptor)
    return fileBytes(descriptor, fstatSync(descriptor).size, null)
  }
  return {
    sizeBytes: framesBytes + restBytes,
    *blocks(from, to) {
      if (from < framesBytes) yield* frameBlocks(open(framesPath), map, from, to)
      const start = Math.max(from, framesBytes)
      if (to <= start) return
      const rest = open(restPath)
      // The header states where the file starts in the log.
      if (Number(readExactly(rest, 0, restAt).readBigUInt64LE()) !== framesBytes) throw damaged('it grew meanwhile')
      yield { offset: start, bytes: readExactly(rest, restAt + start - framesBytes, to - start) }
    },
    close: () => descriptors.forEach((descriptor) => closeSync(descriptor))
  }
}

function inMemory(bytes: Buffer): OpenLog {
  return {
    sizeBytes: bytes.length,
    *blocks(from, to) {
      yield { offset: from, bytes: bytes.subarray(from, to) }
    },
    close: () => freeBuffer(bytes)
  }
}

function* plainBlocks(bytes: FileBytes, from: number, to: number): Generator<LogBlock> {
  // All blocks share a buffer, because each is processed before the next is requested.
  const buffer = Buffer.allocUnsafe(Math.min(FRAME_RAW_BYTES, Math.max(1, to - from)))
  for (let offset = from; offset < to; ) {
    const length = bytes.read(buffer, offset, Math.min(buffer.length, to - offset))
    if (length === 0) return
    yield { offset, bytes: buffer.subarray(0, length) }
    offset += length
  }
}

function* frameBlocks(bytes: FileBytes, map: FrameMap, from: number, to: number): Generator<LogBlock> {
  const end = Math.min(to, rawSizeOf(map))
  if (from >= end) return
  for (let frame = frameAt(map, from); frame < map.rawAt.length - 1 && map.rawAt[frame]! < end; frame += 1) {
    const rawStart = map.rawAt[frame]!
    const raw = readFrame(bytes, map, frame, end - rawStart)
    const offset = Math.max(rawStart, from)
    yield { offset, bytes: raw.subarray(offset - rawStart, end - rawStart) }
    freeBuffer(raw)
  }
}

/**
 * If at most this much of a frame is wanted (the end of a line), the rest is not unpacked, because unpacking the whole
 * frame costs five times as much.
 */
const FRAME_START_BYTES = 65_536
const PACKED_START_BYTES = 32_768

/** At least the first `wanted` bytes of a frame. Verifies the checksum only if all of it is read. */
function readFrame(bytes: FileBytes, { packedAt, rawAt }: FrameMap, frame: number, wanted: number): Buffer {
  const at = packedAt[frame]!
  const packedBytes = packedAt[frame + 1]! - at
  if (wanted <= FRAME_START_BYTES && packedBytes > PACKED_START_BYTES) {
    const start = unpackFrameStartSync(readExactly(bytes, at, PACKED_START_BYTES))
    if (start.length >= wanted) return start
  }
  const packed = readExactly(bytes, at, packedBytes)
  try {
    return unpackFrameSync(packed, rawAt[frame + 1]! - rawAt[frame]!)
  } finally {
    freeBuffer(packed)
  }
}

function readExactly(bytes: FileBytes, offset: number, length: number): Buffer {
  const buffer = Buffer.allocUnsafe(length)
  if (bytes.read(buffer, offset, length) < length) throw damaged('it ends too early')
  return buffer
}

const NEWLINE = 0x0a
/** How much to read at a time beyond `to`, to reach the end of the last line. */
const STEP_BYTES = 65_536

/** Yields the lines that start at or after `from` and before `to`. Consecutive ranges thus contain each line once. */
export function* wholeLines(log: OpenLog, from: number, to: number): Generator<LogBlock> {
  let isInside = from === 0
  let endsAtNewline = true
  for (const { offset, bytes } of log.blocks(isInside ? from : from - 1, to)) {
    const skipped = isInside ? 0 : bytes.indexOf(NEWLINE) + 1
    if (!isInside && skipped === 0) continue
    isInside = true
    endsAtNewline = bytes[bytes.length - 1] === NEWLINE
    if (skipped < bytes.length) yield { offset: offset + skipped, bytes: bytes.subarray(skipped) }
  }
  for (let at = to; isInside && !endsAtNewline && at < log.sizeBytes; at += STEP_BYTES) {
    for (const { offset, bytes } of log.blocks(at, Math.min(at + STEP_BYTES, log.sizeBytes))) {
      const newlineAt = bytes.indexOf(NEWLINE)
      endsAtNewline = newlineAt >= 0
      yield { offset, bytes: endsAtNewline ? bytes.subarray(0, newlineAt + 1) : bytes }
      if (endsAtNewline) return
    }
  }
}

import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { countNewlines } from '../scan/count-newlines.ts'
import { damaged, encodeEnd, FRAME_RAW_BYTES, type FrameSizes, packFrameSync, unpackFrameSync } from './frames.ts'
import type { SpoolFiles } from './spool.ts'
import { freeBuffer } from '../../../runtime/byte-window.ts'

export type SealSource = { kind: 'plain'; path: string; sizeBytes: number } | ({ kind: 'spool' } & SpoolFiles)

export interface SealedLog {
  rawBytes: number
  packedBytes: number
  newlines: number
}

/** Writes a new file at `target`. Synchronous, for threads. Throws LOG_DAMAGED or the system's error. */
export function sealLog(source: SealSource, target: string): SealedLog {
  const file = openSync(target, 'wx', 0o600)
  try {
    const frames: FrameSizes[] = []
    const newlines: number[] = []
    for (const { raw, packed } of source.kind === 'plain' ? plainFrames(source) : spoolFrames(source)) {
      writeAll(file, packed)
      frames.push({ packedBytes: packed.length, rawBytes: raw.length })
      newlines.push(countNewlines(raw, 0, raw.length))
      freeBuffer(packed)
    }
    const end = encodeEnd(frames, newlines)
    writeAll(file, end)
    const sum = (numbers: number[]) => numbers.reduce((total, each) => total + each, 0)
    return {
      rawBytes: sum(frames.map(({ rawBytes }) => rawBytes)),
      packedBytes: sum(frames.map(({ packedBytes }) => packedBytes)) + end.length,
      newlines: sum(newlines)
    }
  } finally {
    closeSync(file)
  }
}

interface Frame {
  raw: Buffer
  packed: Buffer
}

/** Shared by all logs of the thread, because a new buffer for each would burden the garbage collector. */
let frameBuffer: Buffer | null = null

function* plainFrames({ path, sizeBytes }: { path: string; sizeBytes: number }): Generator<Frame> {
  const file = openSync(path, 'r')
  frameBuffer ??= Buffer.allocUnsafe(FRAME_RAW_BYTES)
  try {
    for (let at = 0; at < sizeBytes; ) {
      const raw = readFully(file, frameBuffer, at, Math.min(FRAME_RAW_BYTES, sizeBytes - at))
      yield { raw, packed: packFrameSync(raw) }
      at += raw.length
    }
  } finally {
    closeSync(file)
  }
}

/** Copies packed frames unchanged. Unpacks them only to verify them and count newlines. */
function* spoolFrames({ framesPath, frames, restPath, restAt, restBytes }: SpoolFiles): Generator<Frame> {
  if (frames.length > 0) {
    const file = openSync(framesPath, 'r')
    try {
      let at = 0
      for (const { packedBytes, rawBytes } of frames) {
        const packed = readFully(file, Buffer.allocUnsafe(packedBytes), at, packedBytes)
        const raw = unpackFrameSync(packed, rawBytes)
        yield { raw, packed }
        freeBuffer(raw)
        at += packedBytes
      }
    } finally {
      closeSync(file)
    }
  }
  if (restBytes === 0) return
  const file = openSync(restPath, 'r')
  try {
    // The file starts with its position in the log. If the copy has grown since, the file holds the rest of another
    // frame.
    const place = readFully(file, Buffer.allocUnsafe(restAt), 0, restAt)
    const framesBytes = frames.reduce((sum, { rawBytes }) => sum + rawBytes, 0)
    if (Number(place.readBigUInt64LE()) !== framesBytes) throw damaged('its copy grew while it was archived')
    const raw = readFully(file, Buffer.allocUnsafe(restBytes), restAt, restBytes)
    yield { raw, packed: packFrameSync(raw) }
  } finally {
    closeSync(file)
  }
}

function readFully(file: number, buffer: Buffer, at: number, length: number): Buffer {
  for (let filled = 0; filled < length; ) {
    const count = readSync(file, buffer, filled, length - filled, at + filled)
    if (count === 0) throw damaged('it became shorter while it was archived')
    filled += count
  }
  return buffer.subarray(0, length)
}

function writeAll(file: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written)
}

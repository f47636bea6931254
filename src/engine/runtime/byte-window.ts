import { MAX_LOG_CHUNK_BYTES } from '../../shared/contract/index.ts'

/** One byte more than a chunk. The byte before the tail shows whether the tail begins at the start of a line. */
export const MAX_TAIL_BYTES = MAX_LOG_CHUNK_BYTES + 1

/** A range of a file. A negative `offset` counts from the end of the file, by at most MAX_TAIL_BYTES. */
export interface WantedBytes {
  offset: number
  limitBytes: number
}

/** A piece of a log, and the size of the whole log at that time. Has the same shape as the node client's LogRange. */
export interface LogBytes {
  offset: number
  sizeBytes: number
  bytes: Uint8Array
  /** Changes when another file takes this name. */
  fileId?: string | undefined
}

export interface ByteWindow {
  append(piece: Uint8Array): void
  result(): LogBytes
  /** True when the bytes of the range are complete. Further pieces can then change only the size. */
  isFull(): boolean
}

export function createByteWindow(wanted: WantedBytes): ByteWindow {
  return wanted.offset < 0
    ? keepTail(Math.min(-wanted.offset, MAX_TAIL_BYTES), wanted.limitBytes)
    : keepFrom(wanted.offset, wanted.limitBytes)
}

function keepFrom(offset: number, limitBytes: number): ByteWindow {
  const pieces: Uint8Array[] = []
  let keptBytes = 0
  let seenBytes = 0
  return {
    append(piece) {
      const from = Math.max(0, offset - seenBytes)
      const kept = piece.subarray(from, from + limitBytes - keptBytes)
      seenBytes += piece.length
      // Copies the piece, which can be a view of a larger buffer that would otherwise stay in memory.
      if (kept.length > 0) pieces.push(new Uint8Array(kept))
      keptBytes += kept.length
    },
    result: () => ({ offset: Math.min(offset, seenBytes), sizeBytes: seenBytes, bytes: concat(pieces) }),
    isFull: () => keptBytes >= limitBytes
  }
}

function keepTail(tailBytes: number, limitBytes: number): ByteWindow {
  let pieces: Uint8Array[] = []
  let keptBytes = 0
  let seenBytes = 0
  return {
    append(piece) {
      pieces.push(new Uint8Array(piece))
      keptBytes += piece.length
      seenBytes += piece.length
      // Joins the pieces only after the size has doubled, so that the work stays linear.
      if (keptBytes < tailBytes * 2 + 65_536) return
      const tail = new Uint8Array(concat(pieces).subarray(-tailBytes))
      pieces = [tail]
      keptBytes = tail.length
    },
    result: () => ({
      offset: Math.max(0, seenBytes - tailBytes),
      sizeBytes: seenBytes,
      bytes: concat(pieces).subarray(-tailBytes).slice(0, limitBytes)
    }),
    isFull: () => false
  }
}

function concat(pieces: Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(pieces))
}

/** The position of a range in a file of this size. `end` is the byte after the range. */
export function placeRange({ offset, limitBytes }: WantedBytes, sizeBytes: number): { start: number; end: number } {
  const start = offset < 0 ? Math.max(0, sizeBytes - Math.min(-offset, MAX_TAIL_BYTES)) : Math.min(offset, sizeBytes)
  return { start, end: Math.min(sizeBytes, start + limitBytes) }
}

export function cutBytes(whole: Uint8Array, wanted: WantedBytes): LogBytes {
  const { start, end } = placeRange(wanted, whole.length)
  return { offset: start, sizeBytes: whole.length, bytes: whole.subarray(start, end) }
}

/** Reads a log whose last part is already known, without requesting that part again. */
export const fromTail =
  (tail: LogBytes, read: (range: WantedBytes) => Promise<LogBytes | null>) =>
  async (range: WantedBytes): Promise<LogBytes | null> => {
    const from = range.offset - tail.offset
    if (from < 0 || from > tail.bytes.length) return read(range)
    return { ...tail, offset: range.offset, bytes: tail.bytes.subarray(from, from + range.limitBytes) }
  }

/**
 * Frees the memory of a buffer. Without this, megabyte buffers make the garbage collector run so often that it takes a
 * third of the time in threads that read whole logs. Does nothing for small buffers, which may share their memory.
 */
export function freeBuffer({ buffer }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength > Buffer.poolSize) buffer.transfer(0)
}

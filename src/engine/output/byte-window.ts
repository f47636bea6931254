/** A range of a file: `offset` negative means that many bytes before its end. */
export interface WantedBytes {
  offset: number
  limitBytes: number
}

/** A piece of a log and the size of the whole at that moment; the shape of the node client's LogRange. */
export interface LogBytes {
  offset: number
  sizeBytes: number
  bytes: Uint8Array
}

/** Fed with a whole file piece by piece, it keeps one range of it and nothing else. */
export interface ByteWindow {
  append(piece: Uint8Array): void
  /** The range, as far as the file has been seen. */
  result(): LogBytes
  /** Nothing that follows can change the bytes of the range; only the size is not known yet. */
  isFull(): boolean
}

export function createByteWindow(wanted: WantedBytes): ByteWindow {
  return wanted.offset < 0 ? keepTail(-wanted.offset, wanted.limitBytes) : keepFrom(wanted.offset, wanted.limitBytes)
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
      // A copy: the piece may be a view of a larger buffer that would stay in memory.
      if (kept.length > 0) pieces.push(Uint8Array.from(kept))
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
      pieces.push(Uint8Array.from(piece))
      keptBytes += piece.length
      seenBytes += piece.length
      // Joined only when it has doubled, so that the work stays linear.
      if (keptBytes < tailBytes * 2 + 65_536) return
      const tail = Uint8Array.from(concat(pieces).subarray(-tailBytes))
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

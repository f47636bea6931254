import type { LogRange } from '../node-client.ts'
import type { AnswerHead } from './connection.ts'

export interface WantedRange {
  /** Negative: from that many bytes before the end. */
  offset: number
  limitBytes: number
}

export interface LogRangeReader {
  /** The Range header to send; null: ask for the file without one. */
  rangeHeader: string
  receive: (head: AnswerHead) => (piece: Uint8Array) => 'more' | 'enough'
  /** After the answer: the range, null when there is no such file, or `unexpected` with a status that says neither. */
  result(): LogRange | null | 'unexpected'
}

/**
 * Reads one range of a static file over HTTP: 206 from Scrapyd, 416 past the end, and 200 from proxies that ignore
 * Range, where what was not asked for is skipped without being kept. Holds at most `limitBytes` in memory.
 */
export function createLogRangeReader(wanted: WantedRange): LogRangeReader {
  const fromEnd = wanted.offset < 0
  const kept = fromEnd ? keepHead(-wanted.offset, wanted.limitBytes) : null
  const rangeHeader = fromEnd
    ? `bytes=${wanted.offset}`
    : `bytes=${wanted.offset}-${wanted.offset + Math.max(1, wanted.limitBytes) - 1}`
  let head: AnswerHead | null = null
  let seenBytes = 0
  let part: { offset: number; sizeBytes: number } | null = null
  const window = kept ?? keepFrom(wanted.offset, wanted.limitBytes)
  const partial = keepFrom(0, wanted.limitBytes)

  return {
    rangeHeader,
    receive(answer) {
      head = answer
      part = answer.status === 206 ? readContentRange(answer.headers['content-range']) : null
      const wholeSize = answer.status === 200 ? readLength(answer.headers['content-length']) : null
      return (piece) => {
        if (answer.status === 206) {
          partial.take(piece, seenBytes)
          seenBytes += piece.length
          return partial.isFull() ? 'enough' : 'more'
        }
        if (answer.status !== 200) return 'enough'
        window.take(piece, seenBytes)
        seenBytes += piece.length
        // Without a Content-Length the rest must be counted to know the size.
        if (!fromEnd && wholeSize !== null && window.isFull()) {
          seenBytes = wholeSize
          return 'enough'
        }
        return 'more'
      }
    },
    result() {
      switch (head?.status) {
        case 404:
          return null
        case 416: {
          const sizeBytes = readContentRange(head.headers['content-range'])?.sizeBytes ?? 0
          return { offset: sizeBytes, sizeBytes, bytes: new Uint8Array(0) }
        }
        case 206:
          if (part === null) return 'unexpected'
          return { ...part, bytes: partial.bytes() }
        case 200: {
          const offset = fromEnd ? Math.max(0, seenBytes + wanted.offset) : Math.min(wanted.offset, seenBytes)
          return { offset, sizeBytes: seenBytes, bytes: window.bytes() }
        }
        default:
          return 'unexpected'
      }
    }
  }
}

interface Keeper {
  take(piece: Uint8Array, at: number): void
  isFull(): boolean
  bytes(): Uint8Array
}

/** Keeps `limitBytes` from `offset` on. */
function keepFrom(offset: number, limitBytes: number): Keeper {
  const pieces: Uint8Array[] = []
  let sizeBytes = 0
  return {
    take(piece, at) {
      const from = Math.max(0, offset - at)
      const wanted = piece.subarray(from, from + limitBytes - sizeBytes)
      if (from >= piece.length || wanted.length === 0) return
      // A copy: the piece may be a view of a larger buffer that would stay in memory.
      pieces.push(Uint8Array.from(wanted))
      sizeBytes += wanted.length
    },
    isFull: () => sizeBytes >= limitBytes,
    bytes: () => concat(pieces)
  }
}

/** Keeps the last `tailBytes`, of which the first `limitBytes` are given. */
function keepHead(tailBytes: number, limitBytes: number): Keeper {
  let pieces: Uint8Array[] = []
  let sizeBytes = 0
  return {
    take(piece) {
      pieces.push(Uint8Array.from(piece))
      sizeBytes += piece.length
      // Joined only when it has doubled, so that the work stays linear.
      if (sizeBytes < tailBytes * 2 + 65_536) return
      const tail = concat(pieces).subarray(-tailBytes)
      pieces = [tail]
      sizeBytes = tail.length
    },
    isFull: () => false,
    bytes: () => concat(pieces).subarray(-tailBytes).subarray(0, limitBytes)
  }
}

function concat(pieces: Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(pieces))
}

function readContentRange(header: string | undefined): { offset: number; sizeBytes: number } | null {
  const match = /^bytes (?:(\d{1,15})-\d{1,15}|\*)\/(\d{1,15})$/.exec(header?.trim() ?? '')
  return match ? { offset: Number(match[1] ?? match[2]), sizeBytes: Number(match[2]) } : null
}

function readLength(header: string | undefined): number | null {
  return header !== undefined && /^\d{1,15}$/.test(header) ? Number(header) : null
}

import type { LogRange } from '../node-client.ts'
import type { AnswerHead, NodeRequest } from './connection.ts'

/** Sends a GET of the log with this Range header. */
export type AskLog = (rangeHeader: string, receive: NodeRequest['receive']) => Promise<AnswerHead>

/**
 * Reads one range of a static file over HTTP: 206 from Scrapyd, 416 past its end, and 200 from proxies that ignore Range,
 * where what was not asked for is skipped without being kept. Holds at most a few times `limitBytes` (or the distance
 * to the end) in memory. Resolves null for 404; `unexpected` is called with an answer that is none of these, and throws.
 */
export async function readLogRange(
  ask: AskLog,
  wanted: { offset: number; limitBytes: number },
  unexpected: (head: AnswerHead) => Error
): Promise<LogRange | null> {
  if (wanted.offset >= 0) return readFrom(wanted.offset)
  // Twisted answers `bytes=-N` with status 500 when the file has fewer than N bytes: the size must be known first.
  const tail = keepTail(-wanted.offset, wanted.limitBytes)
  const head = await ask('bytes=0-0', (answer) => (answer.status === 200 ? tail.take : () => 'enough'))
  if (head.status === 200) {
    const sizeBytes = tail.sizeBytes()
    return { offset: Math.max(0, sizeBytes + wanted.offset), sizeBytes, bytes: tail.bytes() }
  }
  if (head.status === 404) return null
  const sizeBytes = sizeOf(head)
  if (sizeBytes === null) throw unexpected(head)
  return readFrom(Math.max(0, sizeBytes + wanted.offset))

  async function readFrom(offset: number): Promise<LogRange | null> {
    let window = keepWindow(0, wanted.limitBytes, null)
    const last = offset + Math.max(1, wanted.limitBytes) - 1
    const answer = await ask(`bytes=${offset}-${last}`, (start) => {
      if (start.status === 200) window = keepWindow(offset, wanted.limitBytes, readLength(start))
      return start.status === 200 || start.status === 206 ? window.take : () => 'enough'
    })
    if (answer.status === 404) return null
    if (answer.status === 200) {
      const size = window.sizeBytes()
      return { offset: Math.min(offset, size), sizeBytes: size, bytes: window.bytes() }
    }
    const size = sizeOf(answer)
    if (size === null) throw unexpected(answer)
    if (answer.status === 416) return { offset: size, sizeBytes: size, bytes: new Uint8Array(0) }
    return { offset: contentRange(answer)?.offset ?? offset, sizeBytes: size, bytes: window.bytes() }
  }
}

type Verdict = 'more' | 'enough'

/** Keeps `limitBytes` from `offset` on. Reads on to the end when only that tells the size. */
function keepWindow(offset: number, limitBytes: number, knownSize: number | null) {
  const pieces: Uint8Array[] = []
  let keptBytes = 0
  let seenBytes = 0
  return {
    take(piece: Uint8Array): Verdict {
      const from = Math.max(0, offset - seenBytes)
      const kept = piece.subarray(from, from + limitBytes - keptBytes)
      seenBytes += piece.length
      // A copy: the piece may be a view of a larger buffer that would stay in memory.
      if (kept.length > 0) pieces.push(Uint8Array.from(kept))
      keptBytes += kept.length
      return knownSize !== null && keptBytes >= limitBytes ? 'enough' : 'more'
    },
    sizeBytes: () => knownSize ?? seenBytes,
    bytes: () => concat(pieces)
  }
}

/** Keeps the last `tailBytes`, of which the first `limitBytes` are given. */
function keepTail(tailBytes: number, limitBytes: number) {
  let pieces: Uint8Array[] = []
  let keptBytes = 0
  let seenBytes = 0
  return {
    take(piece: Uint8Array): Verdict {
      pieces.push(Uint8Array.from(piece))
      keptBytes += piece.length
      seenBytes += piece.length
      // Joined only when it has doubled, so that the work stays linear.
      if (keptBytes >= tailBytes * 2 + 65_536) {
        const tail = Uint8Array.from(concat(pieces).subarray(-tailBytes))
        pieces = [tail]
        keptBytes = tail.length
      }
      return 'more'
    },
    sizeBytes: () => seenBytes,
    bytes: () => concat(pieces).subarray(-tailBytes).slice(0, limitBytes)
  }
}

function concat(pieces: Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(pieces))
}

/** The size of the whole file, from a 206 or 416. */
function sizeOf(head: AnswerHead): number | null {
  if (head.status === 206) return contentRange(head)?.sizeBytes ?? null
  return head.status === 416 ? (contentRange(head)?.sizeBytes ?? 0) : null
}

function contentRange(head: AnswerHead): { offset: number; sizeBytes: number } | null {
  const match = /^bytes (?:(\d{1,15})-\d{1,15}|\*)\/(\d{1,15})$/.exec(head.headers['content-range']?.trim() ?? '')
  return match ? { offset: Number(match[1] ?? match[2]), sizeBytes: Number(match[2]) } : null
}

function readLength(head: AnswerHead): number | null {
  const header = head.headers['content-length']
  return header !== undefined && /^\d{1,15}$/.test(header) ? Number(header) : null
}

import { createByteWindow, type WantedBytes } from '../../runtime/byte-window.ts'
import type { LogRange } from '../node-client.ts'
import type { AnswerHead, NodeRequest } from './connection.ts'

const PROBE_MAX_BYTES = 65_536

export type AskLog = (rangeHeader: string, receive: NodeRequest['receive']) => Promise<AnswerHead>

/**
 * Reads a range of a static file over HTTP. Scrapyd responds with 206, or 416 past the end. Proxies that ignore
 * Range respond with 200, and we skip their extra bytes. null: 404. Throws the error from `unexpected` otherwise.
 */
export async function fetchLogRange(
  ask: AskLog,
  wanted: WantedBytes,
  unexpected: (head: AnswerHead) => Error
): Promise<LogRange | null> {
  if (wanted.offset >= 0) return readFrom(wanted.offset)
  // Twisted responds to `bytes=-N` with status 500 if the file has fewer than N bytes. Reading the start reveals the
  // size. Most logs are shorter than the requested tail, so the probe usually reads the whole log.
  const probeBytes = Math.min(-wanted.offset, wanted.limitBytes, PROBE_MAX_BYTES)
  const tail = createByteWindow(wanted)
  const head = await ask(`bytes=0-${probeBytes - 1}`, (answer) => (piece) => {
    if ((answer.status !== 200 && answer.status !== 206) || isPage(answer)) return 'enough'
    tail.append(piece)
    return 'more'
  })
  if (isPage(head)) throw unexpected(head)
  if (head.status === 200) return tail.result()
  if (head.status === 404) return null
  const sizeBytes = sizeOf(head) ?? (head.status === 416 ? 0 : null)
  if (sizeBytes === null) throw unexpected(head)
  const begun = tail.result()
  if (contentRange(head)?.offset === 0 && begun.sizeBytes === sizeBytes) return begun
  return readFrom(Math.max(0, sizeBytes + wanted.offset))

  async function readFrom(offset: number): Promise<LogRange | null> {
    const { limitBytes } = wanted
    let window = createByteWindow({ offset: 0, limitBytes })
    let wholeSize: number | null = null
    const answer = await ask(`bytes=${offset}-${offset + Math.max(1, limitBytes) - 1}`, (start) => {
      if (start.status === 200) {
        window = createByteWindow({ offset, limitBytes })
        wholeSize = contentLength(start)
      }
      return (piece) => {
        if ((start.status !== 200 && start.status !== 206) || isPage(start)) return 'enough'
        window.append(piece)
        // Without a declared length, only reading the whole file reveals its size.
        return window.isFull() && (start.status === 206 || wholeSize !== null) ? 'enough' : 'more'
      }
    })
    if (answer.status === 404) return null
    if (isPage(answer)) throw unexpected(answer)
    const read = window.result()
    if (answer.status === 200) return { ...read, sizeBytes: wholeSize ?? read.sizeBytes }
    const size = sizeOf(answer)
    if (answer.status === 416) {
      // A proxy that does not report the size must not make the log appear shorter than it was.
      const end = size ?? offset
      return { offset: end, sizeBytes: end, bytes: new Uint8Array(0) }
    }
    if (size === null) throw unexpected(answer)
    return { offset: contentRange(answer)?.offset ?? offset, sizeBytes: size, bytes: read.bytes }
  }
}

/** Scrapyd serves logs and items as text. HTML is a login or error page from a proxy. */
function isPage({ status, headers }: AnswerHead): boolean {
  return (
    (status === 200 || status === 206) && headers['content-type']?.trim().toLowerCase().startsWith('text/html') === true
  )
}

function sizeOf(head: AnswerHead): number | null {
  return head.status === 206 || head.status === 416 ? (contentRange(head)?.sizeBytes ?? null) : null
}

function contentRange(head: AnswerHead): { offset: number; sizeBytes: number } | null {
  const match = /^bytes (?:(\d{1,15})-\d{1,15}|\*)\/(\d{1,15})$/.exec(head.headers['content-range']?.trim() ?? '')
  return match ? { offset: Number(match[1] ?? match[2]), sizeBytes: Number(match[2]) } : null
}

function contentLength(head: AnswerHead): number | null {
  const header = head.headers['content-length']
  return header !== undefined && /^\d{1,15}$/.test(header) ? Number(header) : null
}

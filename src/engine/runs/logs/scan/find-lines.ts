import { countNewlines } from './count-newlines.ts'
import type { LogBlock } from './log-file.ts'
import type { LineMatcher } from './line-matcher.ts'

/** A matching line. Offsets are bytes of the log, except `matchAt`, which counts characters of `text`. */
export interface FoundLine {
  offset: number
  linesBefore: number
  text: string
  matchAt: number
  matchLength: number
}

const NEWLINE = 0x0a
/** Longer lines are searched in pieces of this size. */
const MAX_LINE_BYTES = 4_194_304
const MAX_TEXT_CHARS = 500
const CONTEXT_CHARS = 100

/**
 * Calls `onLine` for each matching line in order. `onLine` returns false to end the search. The blocks are
 * consecutive and together contain whole lines, but a line can be split between blocks.
 */
export function findLines(
  blocks: Iterable<LogBlock>,
  matcher: LineMatcher,
  options: { countsLines: boolean; onLine: (line: FoundLine) => boolean; isStopped: () => boolean }
): { lines: number; isEnded: boolean } {
  const { countsLines, onLine, isStopped } = options
  let lines = 0
  let carried: Buffer[] = []
  let carriedAt = 0
  let carriedBytes = 0

  for (const { offset, bytes } of blocks) {
    if (isStopped()) return { lines, isEnded: true }
    const firstEnd = bytes.indexOf(NEWLINE)
    if (firstEnd < 0 && carriedBytes + bytes.length <= MAX_LINE_BYTES) {
      carry(offset, bytes)
      continue
    }
    const bodyAt = carriedBytes === 0 ? 0 : firstEnd < 0 ? bytes.length : firstEnd + 1
    if (carriedBytes > 0) {
      const line = Buffer.concat([...carried, bytes.subarray(0, bodyAt)])
      if (!search(carriedAt, line)) return { lines, isEnded: true }
      carried = []
      carriedBytes = 0
    }
    const bodyEnd = Math.max(bodyAt, bytes.lastIndexOf(NEWLINE) + 1)
    if (bodyEnd > bodyAt && !search(offset + bodyAt, bytes.subarray(bodyAt, bodyEnd))) return { lines, isEnded: true }
    if (bodyEnd < bytes.length) carry(offset + bodyEnd, bytes.subarray(bodyEnd))
  }
  if (carriedBytes > 0 && !search(carriedAt, Buffer.concat(carried))) return { lines, isEnded: true }
  return { lines, isEnded: false }

  function carry(offset: number, bytes: Buffer): void {
    if (carriedBytes === 0) carriedAt = offset
    // Copies the bytes, because the block's memory is reused.
    carried.push(Buffer.from(bytes))
    carriedBytes += bytes.length
  }

  function search(offset: number, bytes: Buffer): boolean {
    let countedTo = 0
    let newlines = 0
    const goesOn = matcher.find(bytes, ({ lineStart, text, matchAt, matchLength }) => {
      if (countsLines) {
        newlines += countNewlines(bytes, countedTo, lineStart)
        countedTo = lineStart
      }
      const from = matchAt > MAX_TEXT_CHARS - CONTEXT_CHARS ? matchAt - CONTEXT_CHARS : 0
      return onLine({
        offset: offset + lineStart,
        linesBefore: lines + newlines,
        text: text.slice(from, from + MAX_TEXT_CHARS),
        matchAt: matchAt - from,
        matchLength
      })
    })
    if (countsLines) lines += newlines + countNewlines(bytes, countedTo, bytes.length)
    return goesOn
  }
}

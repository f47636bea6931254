import { isAscii } from 'node:buffer'
import { certainText, termOfExpression } from './text-terms.ts'
import { TextFinder } from './text-finder.ts'

export interface LineQuery {
  text: string
  isRegex: boolean
  matchesCase: boolean
}

/** A line with a match. Positions in `text` count characters. Other positions count bytes of the searched data. */
export interface LineMatch {
  lineStart: number
  text: string
  matchAt: number
  matchLength: number
}

export interface LineMatcher {
  /** Reports each matching line once, at its first match. If `onMatch` returns false, stops and returns false. */
  find(bytes: Buffer, onMatch: (match: LineMatch) => boolean): boolean
}

const NEWLINE = 0x0a

/** Throws SyntaxError for an invalid expression. */
export function createMatcher({ text, isRegex, matchesCase }: LineQuery): LineMatcher {
  const ignoresCase = !matchesCase
  // Only a regular expression can ignore the case of letters outside ASCII.
  if (!isRegex && (matchesCase || isAscii(Buffer.from(text)) || !/\p{L}/u.test(text)))
    return textMatcher(new TextFinder(text, { ignoresCase }), text.length)
  const source = isRegex ? text : text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  const isUnicode = /[^\u0000-\u007f]|\\[pPu]/.test(source)
  const flags = `${ignoresCase ? 'i' : ''}m${isUnicode ? 'u' : ''}`
  const expression = { everywhere: new RegExp(source, `${flags}g`), inLine: new RegExp(source, flags) }
  const certain = certainText(termOfExpression(source, { ignoresCase, isUnicode }))
  return expressionMatcher(expression, certain === null ? null : new TextFinder(certain, { ignoresCase }))
}

function textMatcher(finder: TextFinder, matchLength: number): LineMatcher {
  return {
    find(bytes, onMatch) {
      finder.open(bytes)
      for (let at = finder.next(0); at >= 0; ) {
        const lineStart = startOfLine(bytes, at)
        const newlineAt = bytes.indexOf(NEWLINE, at)
        const lineEnd = newlineAt < 0 ? bytes.length : newlineAt
        const line = bytes.toString('utf8', lineStart, lineEnd)
        const matchAt = lineStart === at ? 0 : bytes.toString('utf8', lineStart, at).length
        if (!onMatch({ lineStart, text: line, matchAt, matchLength })) return false
        if (newlineAt < 0) return true
        at = finder.next(newlineAt + 1)
      }
      return true
    }
  }
}

/**
 * Searches all lines together, which is many times faster than searching line by line. A match can then span lines
 * (`[^x]+`, `\s`), so it is confirmed on its line alone. If few lines contain the text that every match must contain,
 * the other lines are skipped.
 */
function expressionMatcher(
  { everywhere, inLine }: { everywhere: RegExp; inLine: RegExp },
  certain: TextFinder | null
): LineMatcher {
  return {
    find(whole, onMatch) {
      certain?.open(whole)
      let pieceEnd = 0
      let linesOfPiece = 0
      for (let from = 0; from < whole.length; ) {
        let lineEnd: number | null = null
        if (certain !== null) {
          const found = certain.next(from)
          if (found < 0) return true
          from = startOfLine(whole, found)
          lineEnd = endOfLine(whole, found)
        }
        if (from >= pieceEnd) {
          pieceEnd = endOfPiece(whole, from)
          linesOfPiece = 0
        }
        linesOfPiece += 1
        const to = lineEnd === null || linesOfPiece > MANY_LINES ? pieceEnd : lineEnd
        if (!findWithin(whole, from, to, onMatch)) return false
        from = to
      }
      return true
    }
  }

  function findWithin(whole: Buffer, from: number, to: number, onMatch: (match: LineMatch) => boolean): boolean {
    return findIn(whole.subarray(from, to), (match) => onMatch({ ...match, lineStart: match.lineStart + from }))
  }

  function findIn(bytes: Buffer, onMatch: (match: LineMatch) => boolean): boolean {
    const text = bytes.toString('utf8')
    const byteOf = text.length === bytes.length ? (at: number) => at : placesIn(text, bytes)
    everywhere.lastIndex = 0
    for (let match = everywhere.exec(text); match !== null; match = everywhere.exec(text)) {
      if (match.index === text.length && text.endsWith('\n')) return true
      const lineStart = match.index === 0 ? 0 : text.lastIndexOf('\n', match.index - 1) + 1
      const newlineAt = text.indexOf('\n', match.index)
      const lineEnd = newlineAt < 0 ? text.length : newlineAt
      const line = text.slice(lineStart, lineEnd)
      const own = match.index + match[0].length <= lineEnd ? match : inLine.exec(line)
      if (own !== null) {
        const matchAt = own === match ? match.index - lineStart : own.index
        const found = { text: line, matchAt, matchLength: own[0].length }
        if (!onMatch({ lineStart: byteOf(lineStart), ...found })) return false
      }
      if (newlineAt < 0) return true
      everywhere.lastIndex = newlineAt + 1
    }
    return true
  }
}

/** The size of a decoded piece. Small, so that its text is short-lived garbage, which costs neither memory nor time. */
const PIECE_BYTES = 65_536
/** Above this number of lines, searching them one by one takes as long as searching the whole piece. */
const MANY_LINES = 64

const startOfLine = (bytes: Buffer, at: number): number => (at === 0 ? 0 : bytes.lastIndexOf(NEWLINE, at - 1) + 1)

function endOfLine(bytes: Buffer, at: number): number {
  const newlineAt = bytes.indexOf(NEWLINE, at)
  return newlineAt < 0 ? bytes.length : newlineAt + 1
}

function endOfPiece(bytes: Buffer, from: number): number {
  if (bytes.length - from <= PIECE_BYTES) return bytes.length
  const before = bytes.lastIndexOf(NEWLINE, from + PIECE_BYTES)
  if (before >= from) return before + 1
  const after = bytes.indexOf(NEWLINE, from + PIECE_BYTES)
  return after < 0 ? bytes.length : after + 1
}

/** Maps the start of a line in the text to its byte. Text and bytes have the same newlines, even for invalid UTF-8. */
function placesIn(text: string, bytes: Buffer): (lineStart: number) => number {
  let chars = 0
  let at = 0
  return (lineStart) => {
    while (chars < lineStart) {
      chars = text.indexOf('\n', chars) + 1
      at = bytes.indexOf(NEWLINE, at) + 1
    }
    return at
  }
}

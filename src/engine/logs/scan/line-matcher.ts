/** What to look for in lines. */
export interface LineQuery {
  text: string
  isRegex: boolean
  matchesCase: boolean
}

/** A line with a match; positions in `text` are characters, the others bytes of what was searched. */
export interface LineMatch {
  lineStart: number
  text: string
  matchAt: number
  matchLength: number
}

/** Looks through whole lines. */
export interface LineMatcher {
  /** Each line with a match once, at its first match. `onMatch` returns false to end. Returns false if it did. */
  find(bytes: Buffer, onMatch: (match: LineMatch) => boolean): boolean
}

const NEWLINE = 0x0a

/** Throws SyntaxError for an expression that is not valid. */
export function createMatcher({ text, isRegex, matchesCase }: LineQuery): LineMatcher {
  if (!isRegex && (matchesCase || !/\p{L}/u.test(text))) return literalMatcher(text)
  const source = isRegex ? text : text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  const flags = `${matchesCase ? '' : 'i'}m${/[^\u0000-\u007f]|\\[pPu]/.test(source) ? 'u' : ''}`
  return expressionMatcher(new RegExp(source, `${flags}g`), new RegExp(source, flags))
}

function literalMatcher(text: string): LineMatcher {
  const needle = Buffer.from(text)
  return {
    find(bytes, onMatch) {
      for (let at = bytes.indexOf(needle); at >= 0; ) {
        const lineStart = at === 0 ? 0 : bytes.lastIndexOf(NEWLINE, at - 1) + 1
        const newlineAt = bytes.indexOf(NEWLINE, at)
        const lineEnd = newlineAt < 0 ? bytes.length : newlineAt
        const line = bytes.toString('utf8', lineStart, lineEnd)
        const matchAt = lineStart === at ? 0 : bytes.toString('utf8', lineStart, at).length
        if (!onMatch({ lineStart, text: line, matchAt, matchLength: text.length })) return false
        if (newlineAt < 0) return true
        at = bytes.indexOf(needle, newlineAt + 1)
      }
      return true
    }
  }
}

/**
 * The expression is searched in all lines at once, which is many times faster than line by line. A match may then reach
 * beyond its line (`[^x]+`, `\s`): the line decides alone, and the search goes on behind it.
 */
function expressionMatcher(everywhere: RegExp, inLine: RegExp): LineMatcher {
  return {
    find(whole, onMatch) {
      // In small pieces: their text is short-lived garbage then, which costs neither memory nor time.
      for (let from = 0; from < whole.length; ) {
        const to = endOfPiece(whole, from)
        const isOver = !findIn(whole.subarray(from, to), (match) =>
          onMatch({ ...match, lineStart: match.lineStart + from })
        )
        if (isOver) return false
        from = to
      }
      return true
    }
  }

  function findIn(bytes: Buffer, onMatch: (match: LineMatch) => boolean): boolean {
    const text = bytes.toString('utf8')
    const byteOf = text.length === bytes.length ? (at: number) => at : placesIn(text, bytes)
    everywhere.lastIndex = 0
    for (let match = everywhere.exec(text); match !== null; match = everywhere.exec(text)) {
      // After the last newline there is no line.
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

const PIECE_BYTES = 65_536

/** Whole lines. */
function endOfPiece(bytes: Buffer, from: number): number {
  if (bytes.length - from <= PIECE_BYTES) return bytes.length
  const before = bytes.lastIndexOf(NEWLINE, from + PIECE_BYTES)
  if (before >= from) return before + 1
  const after = bytes.indexOf(NEWLINE, from + PIECE_BYTES)
  return after < 0 ? bytes.length : after + 1
}

/**
 * The byte at which a line starts, for ascending starts of lines in the decoded text. Newlines are the same in both,
 * even where the bytes are not UTF-8.
 */
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

/**
 * Strings that every match contains (all of them, or at least one), byte for byte except for the case of ASCII letters.
 */
export type TextTerm = { text: string; isStart: boolean; isEnd: boolean } | { all: TextTerm[] } | { any: TextTerm[] }

export const ANYTHING: TextTerm = { all: [] }

interface Dialect {
  ignoresCase: boolean
  isUnicode: boolean
}

function isCertain(char: string, { ignoresCase, isUnicode }: Dialect): boolean {
  // No match contains a line end. Invalid UTF-8 decodes to U+FFFD, and a surrogate is half a character.
  if (char.length === 1 && /[\n\r\ufffd\ud800-\udfff]/.test(char)) return false
  if (!ignoresCase) return true
  // k and s also match the Kelvin sign and the long s.
  if (char <= '\u007f') return !(isUnicode && /[ks]/i.test(char))
  return char.toLowerCase() === char.toUpperCase()
}

export function termOfText(text: string, dialect: Dialect): TextTerm {
  const runs = new Runs()
  for (const char of text) runs.add(isCertain(char, dialect) ? char : null)
  return { all: runs.end() }
}

/** The longest contiguous text that every match contains. Null: none is worth searching for. */
export function certainText(term: TextTerm): string | null {
  if ('any' in term) return null
  if ('text' in term) return term.text.length < MIN_CERTAIN_CHARS ? null : term.text
  return term.all.map(certainText).reduce((longest, text) => {
    return text !== null && text.length > (longest?.length ?? 0) ? text : longest
  }, null)
}

/** The minimum length of a string worth searching for. Shorter ones occur in most lines. */
const MIN_CERTAIN_CHARS = 3

class Runs {
  readonly #found: TextTerm[] = []
  #text = ''
  #isStart = false

  /** Null: unknown text. */
  add(char: string | null): void {
    if (char === null) this.#flush(false)
    else this.#text += char
  }

  addWordBoundary(): void {
    if (this.#text !== '') {
      const last = this.#text
      this.#flush(true)
      // The text continues across the boundary, so the joined text is certain, too.
      this.#text = last
    }
    this.#isStart = this.#text === ''
  }

  addTerm(term: TextTerm): void {
    this.#flush(false)
    this.#found.push(term)
  }

  end(): TextTerm[] {
    this.#flush(false)
    return this.#found
  }

  #flush(isEnd: boolean): void {
    if (this.#text !== '') this.#found.push({ text: this.#text, isStart: this.#isStart, isEnd })
    this.#text = ''
    this.#isStart = false
  }
}

/**
 * Finds the text that every match of a valid regular expression contains. Parts that it cannot interpret require no
 * text.
 */
export function termOfExpression(source: string, dialect: Dialect): TextTerm {
  const chars = Array.from(source)
  let at = 0
  // If the Kelvin sign counts as a K, word boundaries can be at other positions.
  const knowsBoundaries = !(dialect.ignoresCase && dialect.isUnicode)
  let gaveUp = false
  const term = readAlternatives()
  return gaveUp ? ANYTHING : term

  function readAlternatives(): TextTerm {
    const branches = [readSequence()]
    while (chars[at] === '|') {
      at += 1
      branches.push(readSequence())
    }
    return branches.length === 1 ? branches[0]! : { any: branches }
  }

  function readSequence(): TextTerm {
    const runs = new Runs()
    while (at < chars.length && chars[at] !== '|' && chars[at] !== ')') {
      const atom = readAtom()
      if (atom === 'nothing') continue
      if (atom === 'boundary') {
        if (knowsBoundaries) runs.addWordBoundary()
        continue
      }
      const times = readQuantifier()
      if (times !== 'once') runs.add(null)
      if (times === 'maybe') continue
      if (typeof atom !== 'string') runs.addTerm(atom)
      else if (times === 'once') runs.add(atom)
      else runs.addTerm({ text: atom, isStart: false, isEnd: false })
    }
    return { all: runs.end() }
  }

  function readAtom(): string | TextTerm | 'nothing' | 'boundary' {
    const char = chars[at++]!
    if (char === '(') return readGroup()
    if (char === '[') return readClass()
    if (char === '\\') return readEscape()
    if (char === '.') return ANYTHING
    if (char === '^' || char === '$') return 'nothing'
    return certain(char)
  }

  function certain(char: string): string | TextTerm {
    return isCertain(char, dialect) ? char : ANYTHING
  }

  function readGroup(): TextTerm | 'nothing' {
    let looks = false
    let isOtherDialect = false
    if (chars[at] === '?') {
      const head = /^\?(?:<[=!]|<[^>]*>|[=!:]|[a-z-]+:)/.exec(chars.slice(at).join(''))?.[0]
      if (head === undefined) return giveUp()
      looks = /^\?<?[=!]/.test(head)
      isOtherDialect = /^\?[a-z-]/.test(head)
      at += Array.from(head).length
    }
    const inside = readAlternatives()
    at += 1
    if (isOtherDialect) return ANYTHING
    if (!looks) return inside
    // The text of a lookaround need not be in the line.
    readQuantifier()
    return 'nothing'
  }

  function readClass(): TextTerm {
    for (; at < chars.length; at += 1) {
      if (chars[at] === '\\') at += 1
      else if (chars[at] === ']') break
    }
    at += 1
    return ANYTHING
  }

  function readEscape(): string | TextTerm | 'nothing' | 'boundary' {
    const char = chars[at++]
    if (char === 'b') return 'boundary'
    if (char === 'B') return 'nothing'
    if (char === 't') return '\t'
    if (char === undefined) return ANYTHING
    // Escaped punctuation is literal. Other escapes have a meaning and perhaps further characters.
    if (/[^\w\s]/.test(char)) return certain(char)
    const rest = chars.slice(at).join('')
    const more = /^(?:x[\da-fA-F]{2}|u\{[\da-fA-F]+\}|u[\da-fA-F]{4}|c[a-zA-Z]|k<[^>]*>|[pP]\{[^}]*\}|\d+)/.exec(
      char + rest
    )
    if (more !== null) at += Array.from(more[0]).length - 1
    return ANYTHING
  }

  function readQuantifier(): 'once' | 'maybe' | 'more' {
    const found = /^(?:[*+?]|\{(\d+)(?:,\d*)?\})\??/.exec(chars.slice(at).join(''))
    if (found === null) return 'once'
    at += found[0].length
    const isOptional = found[0].startsWith('*') || found[0].startsWith('?') || Number(found[1] ?? 1) === 0
    return isOptional ? 'maybe' : 'more'
  }

  function giveUp(): TextTerm {
    gaveUp = true
    at = chars.length
    return ANYTHING
  }
}

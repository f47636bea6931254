/**
 * What a stretch of a log contains, so that a search can rule it out without reading it: the bits of its trigrams, and
 * those of its words: five characters in a row, or a whole word that is shorter. ASCII letters count as lower case, so
 * one filter serves searches with and without case.
 *
 * Trigrams alone cannot tell ids apart: every trigram of digits is in nearly every MiB. Fives of word characters can.
 */

/** Bits of trigrams, then bits of fives and words. */
const TRIGRAM_BITS = 1 << 16
const WORD_BITS = 1 << 17
export const FILTER_BITS = TRIGRAM_BITS + WORD_BITS
export const FILTER_BYTES = FILTER_BITS / 8
const LINE_END = Uint8Array.of(0x0a)

/** For each byte: in lower case, and 256 more where it is a character of a word (`\\b` of a regular expression). */
const WORD = 256
const FOLDED = new Uint16Array(256)
for (let byte = 0; byte < 256; byte += 1) {
  const folded = byte >= 0x41 && byte <= 0x5a ? byte + 32 : byte
  FOLDED[byte] = folded + (/[a-z0-9_]/.test(String.fromCharCode(folded)) ? WORD : 0)
}

const trigramBit = (three: number): number => Math.imul(three, 0x9e3779b1) >>> 16
const wordBit = (hash: number): number => TRIGRAM_BITS + (Math.imul(hash ^ (hash >>> 15), 0x85ebca6b) >>> 15)
const fiveHash = (first: number, four: number): number => Math.imul(four, 0x27d4eb2f) + Math.imul(first, 0x165667b1)
/** Of words that have no five. */
const shortHash = (length: number, four: number): number =>
  length === 4 ? Math.imul(four, 0x2c1b3c6d) : Math.imul((four & 0xffffff) + 1, 0x297a2d39)

/** Collects the bits of one block after the other. */
export class FilterBuilder {
  /** A byte per bit: without a read before each write this is several times faster. */
  readonly #seen = new Uint8Array(FILTER_BITS)
  /** The last four bytes, and how many characters of a word were last: what is added next continues there. */
  #four = 0
  #run = 0

  add(bytes: Uint8Array): void {
    const seen = this.#seen
    let four = this.#four
    let run = this.#run
    for (let at = 0; at < bytes.length; at += 1) {
      const folded = FOLDED[bytes[at]!]!
      if (folded < WORD) {
        if (run === 4 || run === 3) seen[wordBit(shortHash(run, four))] = 1
        run = 0
        four = (four << 8) | folded
      } else {
        const first = four >>> 24
        four = (four << 8) | (folded - WORD)
        run += 1
        if (run > 4) seen[wordBit(fiveHash(first, four))] = 1
      }
      // What the first two bytes set is in no text, and harmless.
      seen[trigramBit(four & 0xffffff)] = 1
    }
    this.#four = four
    this.#run = run
  }

  /** A text ends here: what is added next is another one. */
  end(): void {
    this.add(LINE_END)
    this.#four = 0
  }

  /** The filter; the builder starts with an empty one again. */
  take(): Uint8Array {
    this.end()
    const seen = this.#seen
    const filter = new Uint8Array(FILTER_BYTES)
    for (let byte = 0, bit = 0; byte < FILTER_BYTES; byte += 1, bit += 8) {
      filter[byte] =
        seen[bit]! |
        (seen[bit + 1]! << 1) |
        (seen[bit + 2]! << 2) |
        (seen[bit + 3]! << 3) |
        (seen[bit + 4]! << 4) |
        (seen[bit + 5]! << 5) |
        (seen[bit + 6]! << 6) |
        (seen[bit + 7]! << 7)
    }
    seen.fill(0)
    return filter
  }

  /** Continues a filter that was taken. */
  load(filter: Uint8Array): void {
    const seen = this.#seen
    for (let bit = 0; bit < FILTER_BITS; bit += 1) seen[bit]! |= (filter[bit >> 3]! >> (bit & 7)) & 1
  }
}

/** The bits that every block with this text has set. `isStart`, `isEnd`: no word's character is beyond that end. */
export function bitsOf(text: Uint8Array, { isStart = false, isEnd = false } = {}): number[] {
  const folded = Array.from(text, (byte) => FOLDED[byte]!)
  const words: number[] = []
  const trigrams: number[] = []
  let run = 0
  let four = 0
  for (let at = 0; at <= folded.length; at += 1) {
    const isWord = at < folded.length && folded[at]! >= WORD
    if (!isWord) {
      const isWhole = (run < at || isStart) && (at < folded.length || isEnd)
      if (isWhole && (run === 3 || run === 4)) words.push(wordBit(shortHash(run, four)))
      run = 0
      if (at === folded.length) break
    }
    const first = four >>> 24
    four = (four << 8) | (folded[at]! & 255)
    if (isWord) run += 1
    if (run > 4) words.push(wordBit(fiveHash(first, four)))
    if (at >= 2) trigrams.push(trigramBit(four & 0xffffff))
  }
  return [...new Set([...words, ...trigrams])]
}

export const hasBit = (filter: Uint8Array, bit: number): boolean => ((filter[bit >> 3]! >> (bit & 7)) & 1) === 1

import type { HeadFormat } from './head-format.ts'
import { learnedFormat } from './usual-formats.ts'

/** How many pieces are examined: the format shows at the start of a log, or not at all. */
const PIECES_TO_LEARN_FROM = 16
const LINES_TO_LEARN_FROM = 500

/** The format of a log that is read in pieces: the engine's, or until that is known, the one that the text shows. */
export class GrowingFormat {
  #format: HeadFormat | null = null
  #isGiven = false
  #piecesLeft = PIECES_TO_LEARN_FROM

  /** undefined: not known yet; readers then assume Scrapy's own. */
  get current(): HeadFormat | undefined {
    return this.#format ?? undefined
  }

  /** Returns whether this piece changes the format. */
  read({ format, text }: { format?: HeadFormat | undefined; text: string }): boolean {
    const next = format ?? (this.#isGiven || this.#piecesLeft === 0 ? null : this.#learn(text))
    this.#isGiven ||= format !== undefined
    if (next === null || JSON.stringify(next) === JSON.stringify(this.#format)) return false
    this.#format = next
    return true
  }

  #learn(text: string): HeadFormat | null {
    this.#piecesLeft -= 1
    const learned = learnedFormat(text.split(/\r?\n/, LINES_TO_LEARN_FROM))
    // A log starts in Scrapy's own format until settings are loaded, and tracebacks may contain any format.
    return learned?.kind === 'scrapy' && this.#format !== null ? null : learned
  }
}

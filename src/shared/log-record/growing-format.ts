import type { HeadFormat } from './head-format.ts'
import { learnedFormat } from './usual-formats.ts'

const PIECES_TO_LEARN_FROM = 16
const LINES_TO_LEARN_FROM = 500

/**
 * The format of a log that is read in pieces. Uses the engine's format when it is known, and otherwise learns the
 * format.
 */
export class GrowingFormat {
  #format: HeadFormat | null = null
  #isGiven = false
  #piecesLeft = PIECES_TO_LEARN_FROM

  /** undefined: the format is not known yet. Until it is, readers assume Scrapy's own format. */
  get current(): HeadFormat | undefined {
    return this.#format ?? undefined
  }

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
    // Do not return to Scrapy's own format. A log uses it until settings are loaded, and tracebacks can contain any
    // format.
    return learned?.kind === 'scrapy' && this.#format !== null ? null : learned
  }
}

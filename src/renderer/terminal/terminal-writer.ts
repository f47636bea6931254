/** What the writer needs of xterm's Terminal: `done` runs when the terminal has parsed the text. */
export interface TerminalSink {
  write(text: string, done: () => void): void
}

const PAUSE_ABOVE_CHARS = 100_000
const RESUME_BELOW_CHARS = 5_000

/**
 * Flow control between a fast log and the terminal's parser: `write` resolves immediately while little is unparsed;
 * above 100,000 unparsed characters it resolves only when fewer than 5,000 are left. A caller that awaits it pulls
 * nothing from the engine meanwhile. (xterm would buffer up to 50 MB and freeze the window.)
 */
export class TerminalWriter {
  readonly #sink: TerminalSink
  #unparsedChars = 0
  #waiting: Array<() => void> = []

  constructor(sink: TerminalSink) {
    this.#sink = sink
  }

  get unparsedChars(): number {
    return this.#unparsedChars
  }

  write(text: string): Promise<void> {
    this.#unparsedChars += text.length
    this.#sink.write(text, () => {
      this.#unparsedChars -= text.length
      if (this.#unparsedChars < RESUME_BELOW_CHARS) this.#resume()
    })
    if (this.#unparsedChars <= PAUSE_ABOVE_CHARS && this.#waiting.length === 0) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** Releases all callers: the terminal is gone and will not call back. */
  close(): void {
    this.#resume()
  }

  #resume(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}

import { readFileSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { z } from 'zod'
import { type Clock, type Timer } from '../../engine/runtime/clock.ts'
import type { Logger } from '../../engine/runtime/logger.ts'

/** So many different questions, and so much text in all; one answer may be a quarter of that. */
const MOST = 200
const MOST_CHARACTERS = 4_000_000
const MOST_OF_ONE = MOST_CHARACTERS / 4
/** Answers follow each other while somebody looks; the file follows them later. */
const WRITE_AFTER_MS = 10_000

const File = z.object({
  asOfMs: z.number(),
  answers: z.array(z.tuple([z.string(), z.string()])).max(MOST)
})

/**
 * What is shown of an engine that does not respond: its last answers, and as of when all of them were right. They are
 * in a file that only this user can read, for the next start of the app. The newest are kept.
 */
export class LastAnswers {
  readonly #path: string
  readonly #clock: Clock
  readonly #logger: Logger
  /** As JSON, so that they are as large as they are in the file. */
  readonly #answers = new Map<string, string>()
  #characters = 0
  #asOfMs: number | null = null
  #timer: Timer | null = null
  #writing = Promise.resolve()

  constructor(path: string, { clock, logger }: { clock: Clock; logger: Logger }) {
    this.#path = path
    this.#clock = clock
    this.#logger = logger
    try {
      const { asOfMs, answers } = File.parse(JSON.parse(readFileSync(path, 'utf8')))
      this.#asOfMs = asOfMs
      for (const [key, text] of answers) this.#put(key, text)
    } catch (error) {
      // What is damaged is only missing until the engine responds.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        logger.warn({ err: error }, 'The last state of a remote engine could not be read')
    }
  }

  /** null: there are none. */
  get asOfMs(): number | null {
    return this.#asOfMs
  }

  /** All that anybody looks at was asked again, or has not changed. */
  markCurrent(): void {
    if (this.#answers.size === 0) return
    this.#asOfMs = this.#clock.nowMs()
    this.#writeLater()
  }

  /** The questions that were asked last, the newest first. */
  newest(count: number): string[] {
    return [...this.#answers.keys()].slice(-count).toReversed()
  }

  /** undefined: this was never asked, or is too long ago. */
  get(key: string): unknown {
    const text = this.#answers.get(key)
    return text === undefined ? undefined : (JSON.parse(text) as unknown)
  }

  set(key: string, answer: unknown): void {
    const text = JSON.stringify(answer)
    this.#remove(key)
    if (text === undefined || text.length > MOST_OF_ONE) return
    this.#put(key, text)
    this.#asOfMs ??= this.#clock.nowMs()
    this.#writeLater()
  }

  /** Those of somebody else are not shown. */
  async clear(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = null
    this.#answers.clear()
    this.#characters = 0
    this.#asOfMs = null
    await this.#inTurn(() => rm(this.#path, { force: true }))
  }

  /** Writes what is not written yet. */
  async stop(): Promise<void> {
    if (this.#timer !== null) this.#write()
    await this.#writing
  }

  #put(key: string, text: string): void {
    this.#answers.set(key, text)
    this.#characters += key.length + text.length
    while (this.#answers.size > MOST || this.#characters > MOST_CHARACTERS) {
      const [oldest] = this.#answers.keys()
      this.#remove(oldest!)
    }
  }

  #remove(key: string): void {
    const text = this.#answers.get(key)
    if (text === undefined) return
    this.#characters -= key.length + text.length
    this.#answers.delete(key)
  }

  #writeLater(): void {
    this.#timer ??= this.#clock.setTimer(WRITE_AFTER_MS, () => this.#write())
  }

  #write(): void {
    this.#timer?.cancel()
    this.#timer = null
    const text = JSON.stringify({ asOfMs: this.#asOfMs, answers: [...this.#answers] })
    void this.#inTurn(async () => {
      await writeFile(`${this.#path}.new`, text, { mode: 0o600 })
      await rename(`${this.#path}.new`, this.#path)
    })
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    this.#writing = this.#writing
      .then(work)
      .catch((error: unknown) => this.#logger.warn({ err: error }, 'The last state of an engine was not written'))
    return this.#writing
  }
}

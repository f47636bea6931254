import { type ErrorFingerprint, fingerprintOf } from '../understanding/error-fingerprint.ts'
import type { LoggedError } from '../understanding/error-record.ts'

/** The same error, as often as one run logged it. */
export interface RunError {
  fingerprint: ErrorFingerprint
  count: number
  /** As the log's text says (see LogFigures); null: it says no time. */
  firstAtMs: number | null
  lastAtMs: number | null
  /** Of the first one: where its line begins, in bytes, and which line it is. */
  offset: number
  line: number
  message: string
}

/** A run with more kinds of errors than this has one problem, not hundreds: the rest is not grouped. */
const MOST_KINDS = 100
const MAX_MESSAGE_CHARS = 500

/** What a signal raises in a spider, and what it was doing then. */
const INTERRUPTION =
  /^(?:KeyboardInterrupt|(?:asyncio|twisted|concurrent)\.[\w.]+\.CancelledError|scrapy\.exceptions\.DownloadCancelledError)$/
const isInterruption = ({ exceptions }: LoggedError) => exceptions.some(({ type }) => INTERRUPTION.test(type))

/** The errors that one run has logged so far, the same ones counted together. */
export class RunErrors {
  readonly #kinds = new Map<string, RunError>()
  #changed = new Set<string>()
  /** Only at its end is it known whether we stopped the run. */
  #interruptions: LoggedError[] = []

  add(errors: readonly LoggedError[]): void {
    this.#count(errors.filter((error) => !isInterruption(error)))
    this.#interruptions.push(...errors.filter(isInterruption).slice(0, MOST_KINDS - this.#interruptions.length))
  }

  /** The run has ended, and we did not stop it. */
  addInterruptions(): void {
    this.#count(this.#interruptions.splice(0))
  }

  #count(errors: readonly LoggedError[]): void {
    for (const error of errors) {
      const fingerprint = fingerprintOf(error)
      const known = this.#kinds.get(fingerprint.id)
      if (known !== undefined) {
        known.count += 1
        known.lastAtMs = error.atMs ?? known.lastAtMs
      } else if (this.#kinds.size < MOST_KINDS) {
        const { atMs, offset, line, message } = error
        const first = { fingerprint, count: 1, firstAtMs: atMs, lastAtMs: atMs, offset, line }
        this.#kinds.set(fingerprint.id, { ...first, message: message.slice(0, MAX_MESSAGE_CHARS) })
      } else continue
      this.#changed.add(fingerprint.id)
    }
  }

  get hasChanged(): boolean {
    return this.#changed.size > 0
  }

  /** These could not be recorded: they are taken again. */
  giveBack(fingerprintIds: readonly string[]): void {
    for (const id of fingerprintIds) this.#changed.add(id)
  }

  /** Those that are new or more than when this was called last. */
  takeChanged(): RunError[] {
    const changed = [...this.#changed].map((id) => ({ ...this.#kinds.get(id)! }))
    this.#changed = new Set()
    return changed
  }
}

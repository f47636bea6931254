import { INTERRUPTION } from '../log-parser/closing-stats.ts'
import { type ErrorFingerprint, fingerprintOf } from '../log-parser/error-fingerprint.ts'
import type { LoggedError } from '../log-parser/error-record.ts'

export interface RunError {
  fingerprint: ErrorFingerprint
  count: number
  /** In the log's time (see LogFigures). Null: the log has no times. */
  firstAtMs: number | null
  lastAtMs: number | null
  /** Position of the first error: the byte offset of its line, and the line number. */
  offset: number
  line: number
  message: string
}

/** The maximum number of error kinds. A run with more has one problem, not hundreds, so further kinds are dropped. */
const MOST_KINDS = 100
const MAX_MESSAGE_CHARS = 500

const isInterruption = ({ exceptions }: LoggedError) => exceptions.some(({ type }) => INTERRUPTION.test(type))

export class RunErrors {
  readonly #kinds = new Map<string, RunError>()
  #changed = new Set<string>()
  /** Kept separately, because only the end of the run shows whether we stopped it. */
  readonly #interruptions = new Map<string, RunError>()

  add(errors: readonly LoggedError[]): void {
    for (const error of errors) {
      if (isInterruption(error)) count(error, this.#interruptions)
      else this.#mark(count(error, this.#kinds))
    }
  }

  hasMessage(start: string): boolean {
    return [...this.#kinds.values()].some(({ message }) => message.startsWith(start))
  }

  /** Call this at the end of a run that we did not stop. */
  addInterruptions(): void {
    for (const [id, one] of this.#interruptions) {
      const known = this.#kinds.get(id)
      if (known !== undefined) known.count += one.count
      else if (this.#kinds.size < MOST_KINDS) this.#kinds.set(id, one)
      else continue
      this.#mark(id)
    }
    this.#interruptions.clear()
  }

  #mark(fingerprintId: string | null): void {
    if (fingerprintId !== null) this.#changed.add(fingerprintId)
  }

  get hasChanged(): boolean {
    return this.#changed.size > 0
  }

  giveBack(fingerprintIds: readonly string[]): void {
    for (const id of fingerprintIds) this.#changed.add(id)
  }

  takeChanged(): RunError[] {
    const changed = [...this.#changed].map((id) => ({ ...this.#kinds.get(id)! }))
    this.#changed = new Set()
    return changed
  }
}

/** Returns the id of the error's kind. Null: there are too many kinds. */
function count(error: LoggedError, kinds: Map<string, RunError>): string | null {
  const fingerprint = fingerprintOf(error)
  const known = kinds.get(fingerprint.id)
  if (known !== undefined) {
    known.count += 1
    known.lastAtMs = error.atMs ?? known.lastAtMs
    return fingerprint.id
  }
  if (kinds.size >= MOST_KINDS) return null
  const { atMs, offset, line, message } = error
  const first = { fingerprint, count: 1, firstAtMs: atMs, lastAtMs: atMs, offset, line }
  kinds.set(fingerprint.id, { ...first, message: message.slice(0, MAX_MESSAGE_CHARS) })
  return fingerprint.id
}

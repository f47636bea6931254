import type { HeadFormat } from '../../shared/log-record.ts'
import { type LogLine, readHead } from './log-line.ts'
import type { Appended } from './log-window.ts'

/**
 * The lines of several logs in one order: those that are there when the view opens by the time that they state, later
 * ones as they arrive. A record stays together with the lines that belong to it.
 */
export class MergedLines {
  readonly #maxLines: number
  readonly #sourceOf = new WeakMap<LogLine, number>()
  /** Per log: whether its first lines have come. */
  readonly #hasBegun: boolean[]
  #early: { line: LogLine; at: string; order: number }[] | null = []
  #lines: LogLine[] = []
  /** Of the record that each log is in. */
  readonly #lastAt: string[]

  constructor(sources: number, maxLines = 20_000) {
    this.#maxLines = maxLines
    this.#hasBegun = Array.from({ length: sources }, () => false)
    this.#lastAt = Array.from({ length: sources }, () => '')
  }

  get lines(): readonly LogLine[] {
    return this.#lines
  }

  /** Which log a line is from. */
  sourceOf(line: LogLine): number {
    return this.#sourceOf.get(line) ?? 0
  }

  /** The first lines of all logs are held back until each has some, or `begin` is called. */
  add(source: number, lines: readonly LogLine[], format?: HeadFormat): Appended {
    for (const line of lines) this.#sourceOf.set(line, source)
    this.#hasBegun[source] = true
    if (this.#early === null) return this.#append([...lines])
    for (const line of lines) {
      if (!line.continues) this.#lastAt[source] = timeOf(line, format)
      this.#early.push({ line, at: this.#lastAt[source]!, order: this.#early.length })
    }
    return this.#hasBegun.every(Boolean) ? this.begin() : NOTHING
  }

  /** A log may have no lines yet, and nobody waits for it longer. */
  begin(): Appended {
    const early = this.#early ?? []
    this.#early = null
    early.sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : one.order - other.order))
    return this.#append(early.map(({ line }) => line))
  }

  #append(lines: LogLine[]): Appended {
    for (const line of lines) this.#lines.push(line)
    const excess = this.#lines.length - this.#maxLines
    if (excess <= 0) return { added: lines.length, dropped: 0, skippedBytes: 0 }
    const dropped = Math.min(this.#lines.length, excess + Math.floor(this.#maxLines / 10))
    this.#lines.splice(0, dropped)
    return { added: lines.length, dropped, skippedBytes: 0 }
  }
}

const NOTHING: Appended = { added: 0, dropped: 0, skippedBytes: 0 }

/** Sortable; empty: it states none. */
function timeOf({ raw }: LogLine, format: HeadFormat | undefined): string {
  const head = readHead(raw, format)
  return head === null ? '' : `${head.date} ${head.time}.${head.fraction.padEnd(9, '0')}`
}

import type { LogChunk } from '../../shared/contract/index.ts'
import { type LogLevel, type LogLine, MAX_LINE_CHARS, parseLogLine } from './log-line.ts'

/** A chunk of the log, in file order. */
export type LogPiece = Readonly<Pick<LogChunk, 'offset' | 'nextOffset' | 'text'>>

export interface Appended {
  /** Lines completed by this chunk. */
  readonly lines: readonly LogLine[]
  /** Lines dropped from the beginning to stay within the limit. */
  readonly droppedCount: number
  /** The file became shorter, so it is another one: what was held is gone, and `lines` are its beginning. */
  readonly startsOver: boolean
}

const NOTHING_ADDED: Appended = { lines: [], droppedCount: 0, startsOver: false }

/**
 * The part of a log that the window holds: at most `maxLines` lines (plus one chunk). Whole chunks are dropped from the
 * beginning, so that `firstOffset` is always an exact offset from which to read older lines.
 */
export class LogBuffer {
  readonly #maxLines: number
  #lines: LogLine[] = []
  /** Chunks from oldest to newest: where each starts, and how many lines began in it. */
  #pieces: Array<{ offset: number; lineCount: number }> = []
  #unfinished = ''
  #nextOffset: number | null = null
  readonly #counts: Record<LogLevel, number> = { DEBUG: 0, INFO: 0, WARNING: 0, ERROR: 0 }

  constructor(maxLines = 50_000) {
    this.#maxLines = maxLines
  }

  get lines(): readonly LogLine[] {
    return this.#lines
  }

  /** Byte offset of the first line held; null before the first chunk. */
  get firstOffset(): number | null {
    return this.#pieces[0]?.offset ?? null
  }

  /** Where the log continues after what is held; null before the first chunk. */
  get nextOffset(): number | null {
    return this.#nextOffset
  }

  /** Room for a few more lines is not worth rewriting the whole terminal. */
  get isFull(): boolean {
    return this.lineRoom < this.#maxLines / 50 || this.lineRoom === 0
  }

  /** How many lines can still be prepended. */
  get lineRoom(): number {
    return Math.max(0, this.#maxLines - this.#lines.length)
  }

  get counts(): Readonly<Record<LogLevel, number>> {
    return this.#counts
  }

  /** Adds the next chunk. A chunk seen before (when a resumed stream overlaps) adds nothing. */
  append(piece: LogPiece & Pick<LogChunk, 'sizeBytes'>): Appended {
    const startsOver = piece.sizeBytes < (this.#nextOffset ?? 0)
    if (startsOver) this.#clear()
    if (piece.offset < (this.#nextOffset ?? 0)) return NOTHING_ADDED
    this.#nextOffset = piece.nextOffset
    const parts = (this.#unfinished + piece.text).split('\n')
    this.#unfinished = parts.pop() as string
    // A log that never ends its line is shown anyway, and cannot fill the memory.
    if (this.#unfinished.length > MAX_LINE_CHARS) {
      parts.push(this.#unfinished)
      this.#unfinished = ''
    }
    const lines = this.#parse(parts, this.#lines.at(-1)?.level ?? 'INFO')
    this.#pieces.push({ offset: piece.offset, lineCount: lines.length })
    for (const line of lines) this.#lines.push(line)
    return { lines, droppedCount: this.#dropOldest(), startsOver }
  }

  /** The last line of a log that does not end with a newline; call it when the log is complete. */
  finish(): Appended {
    if (this.#unfinished === '') return NOTHING_ADDED
    const lines = this.#parse([this.#unfinished], this.#lines.at(-1)?.level ?? 'INFO')
    this.#unfinished = ''
    this.#lines.push(...lines)
    const last = this.#pieces.at(-1)
    if (last !== undefined) last.lineCount += lines.length
    return { lines, droppedCount: 0, startsOver: false }
  }

  /** Prepends older text, which must end at `firstOffset`. */
  prepend(piece: LogPiece): void {
    const parts = piece.text.split('\n')
    const tail = parts.pop() as string
    const first = this.#lines[0]
    // The window began in the middle of a line: joins its two halves.
    if (tail !== '' && first !== undefined) {
      const joined = parseLogLine(tail + first.text, 'INFO')
      this.#count(first, -1)
      this.#count(joined, 1)
      this.#lines[0] = joined
    } else if (tail !== '') parts.push(tail)
    const lines = this.#parse(parts, 'INFO')
    this.#relabelBeginning(lines.at(-1)?.level ?? 'INFO')
    this.#lines = lines.concat(this.#lines)
    this.#pieces.unshift({ offset: piece.offset, lineCount: lines.length })
  }

  /** A traceback whose first line was unknown takes the level of the line now above it. */
  #relabelBeginning(above: LogLevel): void {
    for (let at = 0; this.#lines[at]?.continues; at += 1) {
      const line = this.#lines[at] as LogLine
      this.#count(line, -1)
      this.#lines[at] = { ...line, level: above }
      this.#count(this.#lines[at] as LogLine, 1)
    }
  }

  #clear(): void {
    this.#lines = []
    this.#pieces = []
    this.#unfinished = ''
    this.#nextOffset = null
    Object.assign(this.#counts, { DEBUG: 0, INFO: 0, WARNING: 0, ERROR: 0 })
  }

  #parse(parts: readonly string[], above: LogLevel): LogLine[] {
    let level = above
    return parts.map((part) => {
      const line = parseLogLine(part.endsWith('\r') ? part.slice(0, -1) : part, level)
      level = line.level
      this.#count(line, 1)
      return line
    })
  }

  #dropOldest(): number {
    let dropped = 0
    let oldest = this.#pieces[0]
    while (
      this.#pieces.length > 1 &&
      oldest !== undefined &&
      this.#lines.length - dropped - oldest.lineCount >= this.#maxLines
    ) {
      dropped += oldest.lineCount
      this.#pieces.shift()
      oldest = this.#pieces[0]
    }
    for (const line of this.#lines.slice(0, dropped)) this.#count(line, -1)
    if (dropped > 0) this.#lines = this.#lines.slice(dropped)
    return dropped
  }

  /** Levels count messages, not the lines of their tracebacks: `ERROR 2` means two errors. */
  #count(line: LogLine, by: 1 | -1): void {
    if (!line.continues) this.#counts[line.level] += by
  }
}

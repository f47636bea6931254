import type { LogChunk } from '../../shared/contract/index.ts'
import { GrowingFormat, type HeadFormat } from '../../shared/log-record.ts'
import { type LogLevel, type LogLine, readLine } from './log-line.ts'

export type LogPiece = Readonly<Pick<LogChunk, 'offset' | 'nextOffset' | 'text' | 'format'>>

export interface Appended {
  readonly added: number
  readonly dropped: number
  /** Bytes skipped before this piece because the log grew faster than the view. All earlier lines are dropped. */
  readonly skippedBytes: number
}

/** The maximum length of an unfinished line. A longer line is shown in pieces of this size. */
const MAX_UNFINISHED_CHARS = 65_536
const NONE: Appended = { added: 0, dropped: 0, skippedBytes: 0 }

/** The loaded part of a log: at most `maxLines` consecutive lines. Both ends are exact offsets. */
export class LogWindow {
  readonly #maxLines: number
  #lines: LogLine[] = []
  #start: number | null = null
  #next = 0
  #unfinished: { text: string; offset: number } | null = null
  #counts = noCounts()
  #firstNumber: number | null = null
  readonly #format: GrowingFormat

  constructor(maxLines = 50_000, format = new GrowingFormat()) {
    this.#maxLines = maxLines
    this.#format = format
  }

  get format(): HeadFormat | undefined {
    return this.#format.current
  }

  get lines(): readonly LogLine[] {
    return this.#lines
  }

  /** The byte offset of the first loaded line. null: no lines are loaded. */
  get startOffset(): number | null {
    return this.#start
  }

  /** The byte offset up to which the log has been read. */
  get nextOffset(): number {
    return this.#next
  }

  /** Messages per level. Traceback lines do not count: `ERROR 2` means two errors. */
  get counts(): Readonly<Record<LogLevel, number>> {
    return this.#counts
  }

  /** The number of the first loaded line. null: unknown. */
  get firstNumber(): number | null {
    return this.#firstNumber
  }

  setNumber(offset: number, number: number): void {
    const index = this.indexOf(offset)
    if (index >= 0 && this.#lines[index]!.offset === offset) this.#firstNumber = number - index
  }

  clear(): void {
    this.#lines = []
    this.#start = null
    this.#next = 0
    this.#unfinished = null
    this.#counts = noCounts()
    this.#firstNumber = null
  }

  /** Adds the next piece. Ignores a piece that was already added (when a resumed stream overlaps). */
  append(piece: LogPiece & Pick<LogChunk, 'sizeBytes' | 'startsOver'>): Appended {
    if (piece.startsOver === true || piece.sizeBytes < this.#next) this.clear()
    if (this.#start !== null && piece.offset < this.#next) return NONE
    const skippedBytes = this.#start === null ? 0 : piece.offset - this.#next
    if (skippedBytes > 0) this.clear()
    if (piece.offset === 0) this.#firstNumber = 1
    this.#start ??= piece.offset
    this.#next = piece.nextOffset
    if (this.#format.read(piece)) this.#readAgain()
    const held = this.#unfinished
    const before = this.#lines.length
    this.#addLines(held === null ? piece.text : held.text + piece.text, held?.offset ?? piece.offset)
    const added = this.#lines.length - before
    return { added, dropped: this.#dropFirst(this.#lines.length - this.#maxLines), skippedBytes }
  }

  /** Call when the log is complete: adds a last line without a newline. Returns the number of added lines. */
  finish(): number {
    if (this.#unfinished === null) return 0
    this.#addLine(this.#unfinished.text, this.#unfinished.offset)
    this.#unfinished = null
    return 1
  }

  /** Inserts older text, which ends at `startOffset`. If this makes too many lines, drops the last ones. */
  prepend(piece: LogPiece): { added: number; dropped: number } {
    if (this.#format.read(piece)) this.#readAgain()
    const older = new LogWindow(Number.POSITIVE_INFINITY, this.#format)
    older.append({ ...piece, sizeBytes: piece.nextOffset })
    older.finish()
    const { lines } = older
    const level = lines.at(-1)?.level ?? 'INFO'
    // A traceback whose first line was not loaded takes the level of the line that is now above it.
    const firstHead = this.#lines.findIndex(({ continues }) => !continues)
    const relabelled = firstHead < 0 ? this.#lines.length : firstHead
    this.#lines = [
      ...lines,
      ...this.#lines.slice(0, relabelled).map((line) => ({ ...line, level })),
      ...this.#lines.slice(relabelled)
    ]
    this.#start = piece.offset
    if (this.#firstNumber !== null) this.#firstNumber -= lines.length
    if (piece.offset === 0) this.#firstNumber = 1
    for (const each of Object.keys(this.#counts) as LogLevel[]) this.#counts[each] += older.counts[each]
    return { added: lines.length, dropped: this.#dropLast(this.#lines.length - this.#maxLines) }
  }

  /** The index of the line that contains this byte. -1: it is not loaded. */
  indexOf(offset: number): number {
    if (this.#start === null || offset < this.#start || offset >= this.#next || this.#lines.length === 0) return -1
    let low = 0
    let high = this.#lines.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.#lines[middle]!.offset <= offset) low = middle
      else high = middle - 1
    }
    return low
  }

  #addLines(text: string, offset: number): void {
    this.#unfinished = null
    let at = 0
    let place = offset
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', at)) {
      const raw = text.slice(at, end)
      this.#addLine(raw.endsWith('\r') ? raw.slice(0, -1) : raw, place)
      place += bytesIn(raw) + 1
      at = end + 1
    }
    const rest = text.slice(at)
    if (rest.length > MAX_UNFINISHED_CHARS) this.#addLine(rest, place)
    else if (rest !== '') this.#unfinished = { text: rest, offset: place }
  }

  #addLine(raw: string, offset: number): void {
    const line = readLine(raw, offset, this.#lines.at(-1)?.level ?? 'INFO', this.format)
    if (!line.continues) this.#counts[line.level] += 1
    this.#lines.push(line)
  }

  #readAgain(): void {
    const lines = this.#lines
    this.#lines = []
    this.#counts = noCounts()
    for (const { raw, offset } of lines) this.#addLine(raw, offset)
  }

  #dropFirst(excess: number): number {
    if (excess <= 0) return 0
    // Drops many lines together, because each drop takes time proportional to the number of lines.
    const dropped = Math.min(this.#lines.length, excess + Math.floor(this.#maxLines / 10))
    this.#forget(this.#lines.splice(0, dropped))
    this.#start = this.#lines[0]?.offset ?? this.#unfinished?.offset ?? this.#next
    if (this.#firstNumber !== null) this.#firstNumber += dropped
    return dropped
  }

  #dropLast(excess: number): number {
    if (excess <= 0) return 0
    const dropped = this.#lines.splice(this.#lines.length - excess)
    this.#forget(dropped)
    this.#next = dropped[0]!.offset
    this.#unfinished = null
    return excess
  }

  #forget(lines: readonly LogLine[]): void {
    for (const line of lines) if (!line.continues) this.#counts[line.level] -= 1
  }
}

const noCounts = (): Record<LogLevel, number> => ({ DEBUG: 0, INFO: 0, WARNING: 0, ERROR: 0 })

function bytesIn(text: string): number {
  let bytes = text.length
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code < 0x80) continue
    // A surrogate pair takes four bytes, so each half counts as two.
    bytes += code < 0x800 || (code >= 0xd800 && code <= 0xdfff) ? 1 : 2
  }
  return bytes
}

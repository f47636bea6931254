import type { JobId } from '../../shared/contract/index.ts'
import { followLog, type LogsClient } from './follow-log.ts'
import { LOG_LEVELS, type LogLevel, plainLine, type LogLine, readHead } from './log-line.ts'
import type { ScreenRow } from './log-screen.ts'
import { highlightsIn } from './log-search.ts'
import type { ViewRow } from './log-viewport.ts'
import { type Appended, LogWindow } from './log-window.ts'
import { ACTIVE_MATCH, MATCH, SOURCE_COLOURS } from './terminal-look.ts'
import { TerminalView, type ViewSnapshot } from './terminal-view.ts'
import type { HeadFormat } from '../../shared/log-record.ts'

export interface MergedSource {
  readonly jobId: JobId
  readonly name: string
}

export interface MergedSnapshot extends ViewSnapshot {
  readonly counts: Readonly<Record<LogLevel, number>>
  readonly liveCount: number
  readonly newLineCount: number
  readonly matches: number
}

export const EMPTY_MERGED: MergedSnapshot = {
  shownLevels: new Set(LOG_LEVELS),
  counts: { DEBUG: 0, INFO: 0, WARNING: 0, ERROR: 0 },
  lineCount: 0,
  liveCount: 0,
  isFollowing: true,
  newLineCount: 0,
  isWrapping: true,
  showsTimes: true,
  matches: 0,
  lastLines: ''
}

const FIRST_BYTES = 131_072
const MAX_LAG_BYTES = 1_048_576
/** How long the view waits for logs that have no lines yet. */
const BEGIN_WITHIN_MS = 1_500
const NAME_CHARS = 24

/** Keeps both ends, because names differ at the end: the node, or the job. */
const shortened = (name: string) =>
  name.length <= NAME_CHARS ? name : `${name.slice(0, NAME_CHARS - 10)}…${name.slice(-9)}`

export class MergedView extends TerminalView<MergedSnapshot> {
  readonly #options: { logs: LogsClient; sources: readonly MergedSource[]; onChange: () => void }
  readonly #windows: LogWindow[]
  readonly #merged: MergedLines
  readonly #closing = new AbortController()
  readonly #live = new Set<number>()
  #query = ''
  #match = -1

  constructor(options: { logs: LogsClient; sources: readonly MergedSource[]; onChange: () => void }) {
    super(options.onChange, EMPTY_MERGED)
    this.#options = options
    this.#windows = options.sources.map(() => new LogWindow(20_000))
    this.#merged = new MergedLines(options.sources.length)
  }

  protected get lines(): readonly LogLine[] {
    return this.#merged.lines
  }

  override open(element: HTMLElement): void {
    super.open(element)
    this.#options.sources.forEach(({ jobId }, source) => {
      void followLog({
        logs: this.#options.logs,
        jobId,
        tailBytes: FIRST_BYTES,
        maxLagBytes: MAX_LAG_BYTES,
        onChunk: (chunk) => {
          const window = this.#windows[source]!
          const { added } = window.append(chunk)
          const last = chunk.complete ? window.finish() : 0
          this.#add(this.#merged.add(source, window.lines.slice(window.lines.length - added - last), window.format))
        },
        onState: ({ kind }) => {
          if (kind === 'live') this.#live.add(source)
          else this.#live.delete(source)
          this.invalidate()
        },
        signal: this.#closing.signal
      })
    })
    setTimeout(() => this.#add(this.#merged.begin()), BEGIN_WITHIN_MS)
  }

  override close(): void {
    this.#closing.abort()
    super.close()
  }

  protected goToStart(): void {
    this.viewport.scrollToStart()
    this.afterScroll()
  }

  /** Searches the loaded lines; 1 and -1 go to the next and the previous match. */
  find(text: string, direction: 0 | 1 | -1): void {
    this.#query = text
    if (direction === 0 || text === '') this.#match = -1
    else this.#goToMatch(direction)
    this.invalidate()
  }

  copyText(): string {
    const { shownLevels } = this.viewport
    const shown = this.lines.filter(({ level }) => shownLevels.has(level))
    return this.screen.selectedText() || shown.map(plainLine).join('\n')
  }

  #goToMatch(direction: 1 | -1): void {
    const { lines } = this
    const { shownLevels } = this.viewport
    const from = this.#match >= 0 ? this.#match : (this.viewport.topIndex ?? 0) - direction
    for (let step = 1; step <= lines.length; step += 1) {
      const index = (from + direction * step + lines.length * 2) % lines.length
      const line = lines[index]!
      if (!shownLevels.has(line.level) || !this.#isMatch(plainLine(line))) continue
      this.#match = index
      this.isFollowing = false
      this.viewport.scrollToLine(index)
      return
    }
  }

  #isMatch(text: string): boolean {
    return this.#query !== '' && text.toLowerCase().includes(this.#query.toLowerCase())
  }

  #add(appended: Appended): void {
    if (this.isClosed) return
    this.viewport.afterAppend(appended)
    if (this.#match >= 0) this.#match = Math.max(-1, this.#match - appended.dropped)
    if (this.isFollowing) this.viewport.scrollToEnd()
    else this.newLines += appended.added
    this.invalidate()
  }

  protected gutterWidth(): number {
    const { sources } = this.#options
    return Math.min(NAME_CHARS, Math.max(0, ...sources.map(({ name }) => name.length))) + 1
  }

  protected dress({ line, index, styled }: ViewRow, width: number): Pick<ScreenRow, 'gutter' | 'highlights'> {
    const source = this.#merged.sourceOf(line)
    const codes = index === this.#match ? ACTIVE_MATCH : MATCH
    const query = { text: this.#query, isRegex: false, matchesCase: false }
    return {
      gutter: {
        text: shortened(this.#options.sources[source]!.name).padEnd(width),
        codes: SOURCE_COLOURS[source % SOURCE_COLOURS.length]!
      },
      highlights: highlightsIn(styled.text, query, undefined).map((match) => ({ ...match, codes }))
    }
  }

  protected override textOf(line: LogLine): string {
    return `${this.#options.sources[this.#merged.sourceOf(line)]!.name} ${plainLine(line)}`
  }

  protected makeSnapshot(common: ViewSnapshot): MergedSnapshot {
    const counts = { DEBUG: 0, INFO: 0, WARNING: 0, ERROR: 0 }
    let matches = 0
    for (const line of this.lines) {
      if (!line.continues) counts[line.level] += 1
      if (this.#isMatch(line.raw)) matches += 1
    }
    return { ...common, counts, matches, newLineCount: this.newLines, liveCount: this.#live.size }
  }
}

/**
 * Merges the lines of several logs. Lines that exist when the view opens are sorted by time; later ones are added as
 * they arrive. A record stays together with its continuation lines.
 */
class MergedLines {
  readonly #maxLines: number
  readonly #sourceOf = new WeakMap<LogLine, number>()
  /** Whether the first lines of each log have arrived. */
  readonly #hasBegun: boolean[]
  #early: { line: LogLine; at: string; order: number }[] | null = []
  #lines: LogLine[] = []
  readonly #lastAt: string[]

  constructor(sources: number, maxLines = 20_000) {
    this.#maxLines = maxLines
    this.#hasBegun = Array.from({ length: sources }, () => false)
    this.#lastAt = Array.from({ length: sources }, () => '')
  }

  get lines(): readonly LogLine[] {
    return this.#lines
  }

  sourceOf(line: LogLine): number {
    return this.#sourceOf.get(line) ?? 0
  }

  /** Holds back the first lines of all logs until each log has some, or until `begin` is called. */
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

  /** Stops waiting for logs that have no lines yet. */
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

/** A sortable time. Empty: the line has none. */
function timeOf({ raw }: LogLine, format: HeadFormat | undefined): string {
  const head = readHead(raw, format)
  return head === null ? '' : `${head.date} ${head.time}.${head.fraction.padEnd(9, '0')}`
}

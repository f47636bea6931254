import type { AttemptNumber, FoundLogLine, JobId } from '../../shared/contract/index.ts'
import { errorQueryOf, isErrorLine } from '../../shared/log-record.ts'
import type { FollowState, LogsClient } from './follow-log.ts'
import { type FeedChange, LogFeed } from './log-feed.ts'
import { LOG_LEVELS, type LogLevel, type LogLine, plainLine } from './log-line.ts'
import type { ScreenRow } from './log-screen.ts'
import { highlightsIn, LogSearch, type SearchQuery, type SearchState } from './log-search.ts'
import type { ViewRow } from './log-viewport.ts'
import { ACTIVE_MATCH, GUTTER, MARKED, MATCH } from './terminal-look.ts'
import { NARROW_COLUMNS, TerminalView, type ViewSnapshot } from './terminal-view.ts'
import { texts } from '../../shared/texts/ui/terminal.ts'

/** Line numbers in the log; the first is 1. */
export interface LineRange {
  readonly from: number
  readonly to: number
}

export interface LogSnapshot extends ViewSnapshot {
  readonly counts: Readonly<Record<LogLevel, number>>
  readonly holdsAll: boolean
  readonly sizeBytes: number
  readonly state: FollowState | { readonly kind: 'opening' }
  readonly isLoading: boolean
  readonly skippedBytes: number
  readonly search: SearchState | null
  readonly matchIndex: number
  /** The number of the top line. null: unknown. */
  readonly topNumber: number | null
  /** The visible part of the log, by bytes, from 0 to 1. */
  readonly visible: { readonly from: number; readonly to: number }
  readonly marked: LineRange | null
}

export const EMPTY_LOG: LogSnapshot = {
  shownLevels: new Set(LOG_LEVELS),
  counts: { DEBUG: 0, INFO: 0, WARNING: 0, ERROR: 0 },
  holdsAll: true,
  sizeBytes: 0,
  lineCount: 0,
  state: { kind: 'opening' },
  isFollowing: true,
  newLineCount: 0,
  isWrapping: true,
  showsTimes: true,
  isLoading: false,
  skippedBytes: 0,
  search: null,
  matchIndex: -1,
  topNumber: null,
  visible: { from: 0, to: 1 },
  marked: null,
  lastLines: ''
}

export interface LogViewOptions {
  readonly logs: LogsClient
  readonly jobId: JobId
  readonly attemptNumber?: AttemptNumber | undefined
  /** The first lines to show. Default: the last position in this log, or its end. */
  readonly line?: LineRange | undefined
  readonly onChange: () => void
  /** Called when reading a part of the log fails. The view does not change. */
  readonly onError: (title: string, error: unknown) => void
  readonly onMark: (lines: LineRange | null) => void
}

/** The maximum number of appended but unpainted bytes. It couples the engine's pace to xterm's parser. */
const UNPAINTED_BYTES = 4_194_304
/** With at least this many bytes since the last frame, the log counts as a flood. */
const FLOOD_BYTES = 262_144
/** The distance from either end of the loaded lines at which to load more. */
const NEAR_ROWS = 60
/** The minimum number of visible lines. If hidden levels leave fewer, the view loads more. */
const FEW_LINES = 200

/** One log in one terminal, with random access to all of it. */
export class LogView extends TerminalView<LogSnapshot> {
  readonly #options: LogViewOptions
  readonly #feed: LogFeed
  readonly #search: LogSearch
  #marked: LineRange | null = null
  #markFrom: number | null = null
  #match: FoundLogLine | null = null
  #unpaintedBytes = 0
  #whenPainted: Array<() => void> = []
  #isNumbering = false

  constructor(options: LogViewOptions) {
    super(options.onChange, EMPTY_LOG)
    this.#options = options
    const { logs, jobId, attemptNumber } = options
    this.#feed = new LogFeed({
      logs,
      jobId,
      attemptNumber,
      onChange: (change) => this.#onFeed(change),
      onError: (title, error) => options.onError(title, error),
      mayContinue: (bytes) => this.#whenShown(bytes),
      needsStart: () => !this.isFollowing
    })
    this.#search = new LogSearch({ logs, jobId, attemptNumber, onChange: () => this.invalidate() })
  }

  protected get lines(): readonly LogLine[] {
    return this.#feed.window.lines
  }

  protected override get isFlooded(): boolean {
    return this.#unpaintedBytes >= FLOOD_BYTES
  }

  protected override get isAtEnd(): boolean {
    return super.isAtEnd && this.#feed.isAttached
  }

  /** Puts the terminal into the page and shows the requested line, the last position in this log, or its end. */
  override open(element: HTMLElement): void {
    const left = placesLeft.get(this.#key)
    if (left !== undefined) {
      this.isWrapping = left.isWrapping
      this.showsTimes = left.showsTimes
      this.viewport.showLevels(left.shownLevels)
    }
    super.open(element)
    const { line } = this.#options
    if (line !== undefined) this.showAddress(line)
    else if (left === undefined || left.offset === null) this.#feed.attach()
    else void this.#goTo(left.offset)
  }

  get #key(): string {
    return `${this.#options.jobId} ${this.#options.attemptNumber ?? ''}`
  }

  retry(): void {
    this.#feed.retry()
  }

  override close(): void {
    placesLeft.delete(this.#key)
    placesLeft.set(this.#key, {
      offset: this.isFollowing ? null : (this.viewport.rows()[0]?.line.offset ?? null),
      isWrapping: this.isWrapping,
      showsTimes: this.showsTimes,
      shownLevels: this.viewport.shownLevels
    })
    if (placesLeft.size > MOST_PLACES) placesLeft.delete(placesLeft.keys().next().value!)
    super.close()
    this.#search.stop()
    this.#feed.close()
    this.#painted()
  }

  override setVisible(isVisible: boolean): void {
    super.setVisible(isVisible)
    if (!isVisible) this.#painted()
  }

  override follow(isFollowing: boolean): void {
    if (isFollowing) {
      this.isFollowing = true
      this.#feed.attach()
    }
    super.follow(isFollowing)
  }

  protected goToStart(): void {
    void this.#goTo(0)
  }

  goToShare(share: number): void {
    if (share >= 0.999) this.follow(true)
    else void this.#goTo(Math.floor(share * this.#feed.sizeBytes))
  }

  override showLevels(levels: ReadonlySet<LogLevel>): void {
    super.showLevels(levels)
    this.#fillScreen()
  }

  /** Searches the whole log. Shows the last match that is visible or further up as soon as it is found. */
  find(query: SearchQuery): void {
    this.#match = null
    if (query.text === '') {
      this.#search.stop()
      return
    }
    const from = this.#endOfScreen()
    void this.#search.start(query).then(() => {
      if (this.#match === null && this.#search.current?.query === query) this.showMatch(this.#search.next(from, -1))
    })
  }

  findNext(direction: 1 | -1): void {
    this.showMatch(this.#search.next(this.#match?.offset ?? this.#endOfScreen(), direction))
  }

  /** Searches the whole log, downward from the marked line or the top line. Wraps around at the end. */
  async showNextError(): Promise<void> {
    const { lines } = this.#feed.window
    const markedIndex = this.#marked === null ? -1 : this.#marked.from - (this.#feed.window.firstNumber ?? 1)
    const top = this.viewport.topIndex ?? 0
    const from = markedIndex >= top ? markedIndex + 1 : top
    const isError = (index: number) => lines[index]!.level === 'ERROR' && !lines[index]!.continues
    for (let index = from; index < lines.length; index += 1)
      if (isError(index)) return this.#showAt(lines[index]!.offset)
    const found = await this.#firstErrorAfter(this.#feed.window.nextOffset)
    if (found !== null) await this.#showAt(found)
  }

  /** Resolves when the lines are shown and marked. */
  async showLine(lines: LineRange): Promise<void> {
    this.isFollowing = false
    this.#setMark(lines)
    await this.#locate({ line: lines.from })
  }

  /** Goes to the lines in the address, unless they are already marked here. */
  showAddress(lines: LineRange): void {
    if (this.#isMarked(lines)) return
    this.showLine(lines).catch((error) => {
      if (this.isClosed) return
      this.#options.onError(texts.couldNotGoToLine, error)
      // If no lines are loaded yet, show the end of the log, or why there is no log.
      if (this.#feed.window.startOffset === null) this.follow(true)
    })
  }

  /** Goes to the first line at or after a time, in the log's format (`14:05`). Rejects with BAD_INPUT. */
  async showTime(time: string): Promise<void> {
    await this.#locate({ time })
  }

  /** Marks the line if the pointer is on its number. With Shift, marks all lines from the last marked line. */
  mark(event: MouseEvent): boolean {
    const at = this.screen.rowAt(event)
    const first = this.#feed.window.firstNumber
    if (at === null || !at.isGutter || first === null) return false
    const number = first + at.row.index
    const from = event.shiftKey ? (this.#markFrom ?? number) : number
    if (!event.shiftKey) this.#markFrom = number
    const range = { from: Math.min(from, number), to: Math.max(from, number) }
    this.#setMark(this.#isMarked(range) ? null : range)
    this.#options.onMark(this.#marked)
    return true
  }

  /** The selected text, the loaded part of the marked lines, or all visible lines. */
  copyText(): string {
    const selected = this.screen.selectedText()
    if (selected !== '') return selected
    const { lines, firstNumber } = this.#feed.window
    const { shownLevels } = this.viewport
    const marked = this.#marked
    return lines
      .filter((line, index) => {
        if (marked === null || firstNumber === null) return shownLevels.has(line.level)
        return firstNumber + index >= marked.from && firstNumber + index <= marked.to
      })
      .map(plainLine)
      .join('\n')
  }

  async #firstErrorAfter(offset: number): Promise<number | null> {
    const stopping = new AbortController()
    const { logs, jobId, attemptNumber } = this.#options
    let first: number | null = null
    try {
      const { format } = this.#feed.window
      const query = { ...errorQueryOf(format), mostLines: 10_000 }
      for await (const { found } of await logs.search(
        { jobId, attemptNumber, ...query },
        { signal: stopping.signal }
      )) {
        const errors = found.filter(({ text }) => isErrorLine(text, format))
        first ??= errors[0]?.offset ?? null
        const next = errors.find((each) => each.offset >= offset)
        if (next !== undefined) return next.offset
      }
    } catch (error) {
      this.#options.onError(texts.couldNotSearchLog, error)
    } finally {
      stopping.abort()
    }
    return first
  }

  async #locate(wanted: { line?: number; time?: string }): Promise<void> {
    const { logs, jobId, attemptNumber } = this.#options
    const place = await logs.locate({ jobId, attemptNumber, ...wanted })
    await this.#showAt(place.offset)
    this.#feed.window.setNumber(place.offset, place.line)
    this.invalidate()
  }

  showMatch(found: FoundLogLine | null): void {
    if (found === null) return
    this.#match = found
    void this.#showAt(found.offset).then(() => {
      this.#feed.window.setNumber(found.offset, found.line)
      this.invalidate()
    })
  }

  async #showAt(offset: number): Promise<void> {
    this.isFollowing = false
    if (!(await this.#feed.goTo(offset))) return
    this.viewport.scrollToLine(Math.max(0, this.#feed.window.indexOf(offset)))
    this.afterScroll()
  }

  async #goTo(offset: number): Promise<void> {
    this.isFollowing = false
    if (!(await this.#feed.goTo(offset))) return
    if (offset === 0) this.viewport.scrollToStart()
    else this.viewport.scrollToLine(Math.max(0, this.#feed.window.indexOf(offset)))
    this.afterScroll()
  }

  protected override afterScroll(): void {
    super.afterScroll()
    this.#fillScreen()
  }

  #fillScreen(): void {
    const top = this.viewport.topIndex ?? 0
    const isFew = this.viewport.shownCount < FEW_LINES
    if (this.#feed.hasOlder && (top < NEAR_ROWS || isFew)) void this.#feed.loadOlder()
    else if (!this.#feed.isAttached && this.#feed.window.lines.length - top < 2 * NEAR_ROWS) void this.#feed.loadNewer()
  }

  #onFeed(change: FeedChange): void {
    if (this.isClosed) return
    if (change.kind === 'appended') {
      this.viewport.afterAppend(change)
      if (!this.isFollowing) this.newLines += change.added
    } else if (change.kind === 'prepended') {
      this.viewport.afterPrepend(change.added)
      if (this.viewport.shownCount < FEW_LINES) queueMicrotask(() => this.#fillScreen())
    } else if (change.kind === 'replaced') this.viewport.afterReplace()
    if (this.isFollowing) this.viewport.scrollToEnd()
    this.invalidate()
  }

  /** The width for the highest number among the loaded lines. 0: the numbers are unknown or there is no room. */
  protected gutterWidth(): number {
    const { firstNumber, lines } = this.#feed.window
    if (firstNumber === null || this.screen.size.columns < NARROW_COLUMNS) return 0
    return String(firstNumber + lines.length).length + 1
  }

  #setMark(lines: LineRange | null): void {
    this.#marked = lines
    this.invalidate()
  }

  #isMarked({ from, to }: LineRange): boolean {
    return this.#marked?.from === from && this.#marked.to === to
  }

  #endOfScreen(): number {
    return (this.viewport.rows().at(-1)?.line.offset ?? this.#feed.window.nextOffset) + 1
  }

  #whenShown(bytes: number): void | Promise<void> {
    this.#unpaintedBytes += bytes
    if (!this.isVisible || this.isClosed || this.#unpaintedBytes < UNPAINTED_BYTES) return
    return new Promise((resolve) => this.#whenPainted.push(resolve))
  }

  #painted(): void {
    this.#unpaintedBytes = 0
    for (const resolve of this.#whenPainted.splice(0)) resolve()
  }

  protected override afterPaint(): void {
    this.#painted()
    this.#numberLines()
  }

  protected dress(row: ViewRow, width: number): Pick<ScreenRow, 'gutter' | 'highlights'> {
    const { firstNumber } = this.#feed.window
    const number = firstNumber === null ? null : firstNumber + row.index
    const isMarked =
      number !== null && this.#marked !== null && number >= this.#marked.from && number <= this.#marked.to
    const gutter =
      width === 0 || number === null
        ? { text: '', codes: '' }
        : { text: `${String(number).padStart(width - 1)} `, codes: isMarked ? `${GUTTER};${MARKED}` : GUTTER }
    const whole = { from: 0, to: row.styled.text.length }
    const highlights = isMarked ? [{ ...whole, codes: MARKED }] : []
    const search = this.#search.current
    if (search !== null) {
      const found = search.query.isRegex ? search.found.find(({ offset }) => offset === row.line.offset) : undefined
      const codes = this.#match?.offset === row.line.offset ? ACTIVE_MATCH : MATCH
      const matches = highlightsIn(row.styled.text, search.query, found)
      highlights.push(...matches.map((match) => ({ ...match, codes })))
    }
    return { gutter, highlights }
  }

  /** Requests the number of one line. The numbers of all other lines follow from it. */
  #numberLines(): void {
    const { window } = this.#feed
    const first = window.lines[0]
    if (first === undefined || window.firstNumber !== null || this.#isNumbering || !this.isVisible) return
    this.#isNumbering = true
    const { logs, jobId, attemptNumber } = this.#options
    logs
      .locate({ jobId, attemptNumber, offset: first.offset })
      .then(({ offset, line }) => window.setNumber(offset, line))
      // Ignored: the log is readable without numbers.
      .catch(() => {})
      .finally(() => {
        // In a flood, the first line changes constantly, so limit the requests to a readable rate.
        setTimeout(() => {
          this.#isNumbering = false
          this.invalidate()
        }, NUMBER_EVERY_MS)
        this.invalidate()
      })
  }

  protected makeSnapshot(common: ViewSnapshot, rows: readonly ViewRow[]): LogSnapshot {
    const { window, sizeBytes, state, skippedBytes, isLoading, isAttached } = this.#feed
    const { firstNumber, lines } = window
    const from = rows[0]?.line.offset ?? 0
    const last = rows.at(-1)
    const to = last === undefined ? sizeBytes : (lines[last.index + 1]?.offset ?? window.nextOffset)
    const search = this.#search.current
    return {
      ...common,
      counts: { ...window.counts },
      holdsAll: (window.startOffset ?? 0) === 0 && window.nextOffset >= sizeBytes && skippedBytes === 0,
      sizeBytes,
      state,
      newLineCount: isAttached ? this.newLines : null,
      isLoading,
      skippedBytes,
      search,
      matchIndex: search === null || this.#match === null ? -1 : search.found.indexOf(this.#match),
      topNumber: firstNumber === null || rows[0] === undefined ? null : firstNumber + rows[0].index,
      visible: sizeBytes === 0 ? { from: 0, to: 1 } : { from: from / sizeBytes, to: Math.min(1, to / sizeBytes) },
      marked: this.#marked
    }
  }
}

interface Place {
  /** null: at the end. */
  offset: number | null
  isWrapping: boolean
  showsTimes: boolean
  shownLevels: ReadonlySet<LogLevel>
}

/** The last position in each log. A hidden tab keeps only this and resumes from it. */
const placesLeft = new Map<string, Place>()
const MOST_PLACES = 500

const NUMBER_EVERY_MS = 1_000

import { type LogLevel, type LogLine, plainLine } from './log-line.ts'
import { LogScreen, type ScreenRow } from './log-screen.ts'
import { LogViewport, type ViewRow } from './log-viewport.ts'

/** The state that a component shows around a terminal. Every change creates a new object. */
export interface ViewSnapshot {
  readonly shownLevels: ReadonlySet<LogLevel>
  readonly lineCount: number
  readonly isFollowing: boolean
  /** Lines that arrived while the user was reading elsewhere. null: some are not loaded, so the number is unknown. */
  readonly newLineCount: number | null
  readonly isWrapping: boolean
  readonly showsTimes: boolean
  /** The last visible lines, for screen readers and tests. */
  readonly lastLines: string
}

export const NARROW_COLUMNS = 80
const LAST_LINES_FOR_READERS = 120
const LAST_LINES_EVERY_MS = 500
const FLOOD_FRAME_MS = 50

/** The base of terminals: decides which lines are visible and when they are painted. A subclass provides the lines. */
export abstract class TerminalView<Snapshot extends ViewSnapshot> {
  protected readonly viewport = new LogViewport(() => this.lines)
  protected readonly screen: LogScreen
  protected isFollowing = true
  protected isWrapping = true
  protected showsTimes = true
  protected isVisible = true
  protected isClosed = false
  protected newLines = 0
  readonly #onChange: () => void
  #snapshot: Snapshot
  #wheelRest = 0
  #isPainting = false
  #isStale = false
  #shownGutter = 0
  #lastLinesAtMs = 0

  constructor(onChange: () => void, empty: Snapshot) {
    this.#onChange = onChange
    this.#snapshot = empty
    this.screen = new LogScreen({
      onResize: () => this.layOut(),
      onSelection: (hasSelection) => hasSelection && this.follow(false)
    })
  }

  protected abstract get lines(): readonly LogLine[]
  protected abstract gutterWidth(): number
  protected abstract dress(row: ViewRow, gutterWidth: number): Pick<ScreenRow, 'gutter' | 'highlights'>
  protected abstract makeSnapshot(common: ViewSnapshot, rows: readonly ViewRow[]): Snapshot
  protected abstract goToStart(): void

  protected get isFlooded(): boolean {
    return false
  }

  protected get isAtEnd(): boolean {
    return this.viewport.isAtEnd
  }

  protected textOf(line: LogLine): string {
    return plainLine(line)
  }

  protected afterScroll(): void {
    this.isFollowing = this.isAtEnd
    if (this.isFollowing) this.newLines = 0
    this.invalidate()
  }

  protected afterPaint(): void {}

  get snapshot(): Snapshot {
    return this.#snapshot
  }

  open(element: HTMLElement): void {
    this.screen.open(element)
    this.layOut()
  }

  close(): void {
    this.isClosed = true
    this.screen.close()
  }

  setVisible(isVisible: boolean): void {
    this.isVisible = isVisible
    this.screen.setVisible(isVisible)
    if (isVisible) this.invalidate()
  }

  fit(): void {
    this.screen.fit()
  }

  follow(isFollowing: boolean): void {
    this.isFollowing = isFollowing
    if (isFollowing) {
      this.newLines = 0
      this.screen.clearSelection()
      this.viewport.scrollToEnd()
    }
    this.invalidate()
  }

  wrap(isWrapping: boolean): void {
    this.isWrapping = isWrapping
    this.layOut()
  }

  showTimes(showsTimes: boolean): void {
    this.showsTimes = showsTimes
    this.layOut()
  }

  showLevels(levels: ReadonlySet<LogLevel>): void {
    this.viewport.showLevels(levels)
    if (this.isFollowing) this.viewport.scrollToEnd()
    this.invalidate()
  }

  scrollBy(key: string): boolean {
    const page = Math.max(1, this.screen.size.rows - 2)
    if (key === 'PageUp' || key === 'PageDown') this.#scroll(key === 'PageUp' ? -page : page)
    else if (key === 'ArrowUp' || key === 'ArrowDown') this.#scroll(key === 'ArrowUp' ? -1 : 1)
    else if (key === 'ArrowLeft' || key === 'ArrowRight') this.#scrollSideways(key === 'ArrowLeft' ? -8 : 8)
    else if (key === 'Home') this.goToStart()
    else if (key === 'End') this.follow(true)
    else return false
    return true
  }

  scrollByWheel({ deltaX, deltaY, deltaMode, shiftKey }: WheelEvent): void {
    const unit = deltaMode === 1 ? 1 : deltaMode === 2 ? this.screen.size.rows : 1 / this.screen.rowHeight
    if (shiftKey || Math.abs(deltaX) > Math.abs(deltaY)) return this.#scrollSideways(Math.sign(deltaX || deltaY) * 4)
    this.#wheelRest += deltaY * unit
    const rows = Math.trunc(this.#wheelRest)
    this.#wheelRest -= rows
    if (rows !== 0) this.#scroll(rows)
  }

  #scroll(rows: number): void {
    this.viewport.scrollRows(rows)
    this.afterScroll()
  }

  #scrollSideways(columns: number): void {
    this.viewport.scrollSideways(columns)
    this.invalidate()
  }

  protected layOut(): void {
    const { columns, rows } = this.screen.size
    this.#shownGutter = this.gutterWidth()
    const look = { isNarrow: columns < NARROW_COLUMNS, showsTimes: this.showsTimes }
    this.viewport.resize({ columns: columns - this.#shownGutter, rows }, look, this.isWrapping)
    if (this.isFollowing) this.viewport.scrollToEnd()
    this.invalidate()
  }

  /** Schedules at most one frame at a time, however much changes. */
  protected invalidate(): void {
    if (this.#isPainting || this.isClosed) {
      this.#isStale = true
      return
    }
    this.#isPainting = true
    const frame = () => requestAnimationFrame(() => void this.#paint())
    // In a flood, each frame replaces all lines. Fewer frames leave more time to read them.
    if (this.isFlooded) setTimeout(frame, FLOOD_FRAME_MS)
    else frame()
  }

  async #paint(): Promise<void> {
    if (this.isClosed) return
    this.#isStale = false
    if (this.gutterWidth() !== this.#shownGutter) this.layOut()
    const rows = this.viewport.rows()
    const { isFollowing, newLines, isWrapping, showsTimes } = this
    const { shownLevels } = this.viewport
    const lastLines = this.#lastLines()
    const lineCount = this.lines.length
    this.#snapshot = this.makeSnapshot(
      { shownLevels, lineCount, isFollowing, newLineCount: newLines, isWrapping, showsTimes, lastLines },
      rows
    )
    this.#onChange()
    if (this.isVisible) {
      await this.screen.show(rows.map((row) => ({ ...row, ...this.dress(row, this.#shownGutter) })))
    }
    this.afterPaint()
    this.#isPainting = false
    if (this.#isStale) this.invalidate()
  }

  /**
   * Returns the last visible lines. In a flood, they are not updated with each frame, because the browser lays them
   * out although they are invisible.
   */
  #lastLines(): string {
    const nowMs = performance.now()
    if (this.isFlooded && nowMs - this.#lastLinesAtMs < LAST_LINES_EVERY_MS) return this.#snapshot.lastLines
    this.#lastLinesAtMs = nowMs
    const found: string[] = []
    const { shownLevels } = this.viewport
    for (let at = this.lines.length - 1; at >= 0 && found.length < LAST_LINES_FOR_READERS; at -= 1) {
      const line = this.lines[at]!
      if (shownLevels.has(line.level)) found.push(this.textOf(line))
    }
    return found.reverse().join('\n')
  }
}

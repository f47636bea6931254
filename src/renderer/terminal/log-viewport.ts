import { sliceColumns, widthOf, wrapAt } from './cells.ts'
import { indentOf, LOG_LEVELS, type LineLook, type LogLevel, type LogLine, styleLine } from './log-line.ts'
import type { Appended } from './log-window.ts'
import type { StyledText } from './styled-text.ts'

export interface ViewRow {
  line: LogLine
  index: number
  isFirst: boolean
  /** Free columns on the left of every row after the first. */
  indent: number
  styled: StyledText
  from: number
  to: number
}

export interface ViewSize {
  columns: number
  rows: number
}

interface Layout {
  styled: StyledText
  starts: number[]
}

/** The maximum number of rows for one line. Longer lines are cut off. The downloaded log contains the whole line. */
const MAX_ROWS_OF_LINE = 200

/**
 * The visible rows of a log, filtered by level and wrapped or scrolled sideways. Lays out only lines near the screen.
 */
export class LogViewport {
  readonly #lines: () => readonly LogLine[]
  #size: ViewSize = { columns: 80, rows: 24 }
  #look: LineLook = { isNarrow: false, showsTimes: true }
  #isWrapping = true
  #leftColumn = 0
  #shownLevels: ReadonlySet<LogLevel> = new Set(LOG_LEVELS)
  /** Indexes of the shown lines. null: all are shown. */
  #shown: number[] | null = null
  #layouts = new WeakMap<LogLine, Layout>()
  /** The shown line at the top, and its first visible row. */
  #top = 0
  #topRow = 0

  constructor(lines: () => readonly LogLine[]) {
    this.#lines = lines
  }

  get shownLevels(): ReadonlySet<LogLevel> {
    return this.#shownLevels
  }

  get shownCount(): number {
    return this.#shown?.length ?? this.#lines().length
  }

  get isAtStart(): boolean {
    return this.#top === 0 && this.#topRow === 0
  }

  get isAtEnd(): boolean {
    const end = this.#placeFromEnd()
    return this.#top > end.top || (this.#top === end.top && this.#topRow >= end.row)
  }

  get topIndex(): number | null {
    return this.shownCount === 0 ? null : this.#indexAt(this.#top)
  }

  resize(size: ViewSize, look: LineLook, isWrapping: boolean): void {
    this.#size = { columns: Math.max(1, size.columns), rows: Math.max(1, size.rows) }
    this.#look = look
    this.#isWrapping = isWrapping
    if (isWrapping) this.#leftColumn = 0
    this.#layouts = new WeakMap()
    this.#topRow = 0
  }

  showLevels(levels: ReadonlySet<LogLevel>): void {
    const atTop = this.topIndex
    this.#shownLevels = levels
    this.#refilter()
    this.#topRow = 0
    if (atTop !== null) this.#top = Math.min(this.#firstShownFrom(atTop), Math.max(0, this.shownCount - 1))
  }

  /** Call after each change to the lines. */
  afterAppend({ added, dropped, skippedBytes }: Appended): void {
    const lines = this.#lines()
    if (skippedBytes > 0 || (dropped > 0 && this.#shown !== null)) this.#refilter()
    else if (this.#shown !== null) {
      for (let index = lines.length - added; index < lines.length; index += 1) {
        if (this.#shownLevels.has(lines[index]!.level)) this.#shown.push(index)
      }
    }
    this.#top = skippedBytes > 0 ? 0 : Math.max(0, this.#top - dropped)
  }

  afterPrepend(added: number): void {
    const shownBefore = this.shownCount
    this.#refilter()
    this.#top += this.#shown === null ? added : Math.max(0, this.shownCount - shownBefore)
  }

  afterReplace(): void {
    this.#refilter()
    this.#top = 0
    this.#topRow = 0
  }

  scrollToEnd(): void {
    const { top, row } = this.#placeFromEnd()
    this.#top = top
    this.#topRow = row
  }

  scrollToStart(): void {
    this.#top = 0
    this.#topRow = 0
  }

  /** Puts a line several rows below the top. If its level is hidden, uses the next shown line. */
  scrollToLine(index: number): void {
    this.#top = Math.min(this.#firstShownFrom(index), Math.max(0, this.shownCount - 1))
    this.#topRow = 0
    this.scrollRows(-Math.min(4, Math.floor(this.#size.rows / 4)))
  }

  scrollRows(count: number): void {
    let left = Math.trunc(count)
    while (left < 0 && !this.isAtStart) {
      if (this.#topRow > 0) {
        const step = Math.min(this.#topRow, -left)
        this.#topRow -= step
        left += step
      } else {
        this.#top -= 1
        this.#topRow = this.#rowsAt(this.#top) - 1
        left += 1
      }
    }
    const end = left > 0 ? this.#placeFromEnd() : null
    while (end !== null && left > 0 && (this.#top < end.top || (this.#top === end.top && this.#topRow < end.row))) {
      const rest = this.#rowsAt(this.#top) - this.#topRow - 1
      const most = this.#top === end.top ? end.row - this.#topRow : rest
      const step = Math.min(left, most)
      this.#topRow += step
      left -= step
      if (left > 0 && this.#top < end.top) {
        this.#top += 1
        this.#topRow = 0
        left -= 1
      }
    }
  }

  scrollSideways(columns: number): void {
    if (this.#isWrapping) return
    const widest = this.rows().reduce((most, { styled }) => Math.max(most, widthOf(styled.text)), 0)
    this.#leftColumn = Math.max(0, Math.min(this.#leftColumn + columns, widest - Math.floor(this.#size.columns / 2)))
  }

  /** The rows on the screen, from the top. At the end of the log, the rows can leave part of the screen empty. */
  rows(): ViewRow[] {
    const rows: ViewRow[] = []
    const { columns, rows: height } = this.#size
    for (let at = this.#top; at < this.shownCount && rows.length < height; at += 1) {
      const index = this.#indexAt(at)
      const line = this.#lines()[index]!
      const { styled, starts } = this.#layoutOf(line)
      for (let row = at === this.#top ? this.#topRow : 0; row < starts.length && rows.length < height; row += 1) {
        const part = this.#isWrapping
          ? { from: starts[row]!, to: starts[row + 1] ?? styled.text.length }
          : sliceColumns(styled.text, this.#leftColumn, columns)
        rows.push({ line, index, isFirst: row === 0, indent: row === 0 ? 0 : this.#indent, styled, ...part })
      }
    }
    return rows
  }

  get #indent(): number {
    return Math.min(indentOf(this.#look), Math.floor(this.#size.columns / 3))
  }

  #indexAt(at: number): number {
    return this.#shown === null ? at : this.#shown[at]!
  }

  #firstShownFrom(index: number): number {
    if (this.#shown === null) return index
    let low = 0
    let high = this.#shown.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#shown[middle]! < index) low = middle + 1
      else high = middle
    }
    return low
  }

  #refilter(): void {
    if (this.#shownLevels.size === LOG_LEVELS.length) {
      this.#shown = null
      return
    }
    const shown: number[] = []
    this.#lines().forEach(({ level }, index) => {
      if (this.#shownLevels.has(level)) shown.push(index)
    })
    this.#shown = shown
  }

  #placeFromEnd(): { top: number; row: number } {
    let rows = 0
    for (let at = this.shownCount - 1; at >= 0; at -= 1) {
      rows += this.#rowsAt(at)
      if (rows >= this.#size.rows) return { top: at, row: rows - this.#size.rows }
    }
    return { top: 0, row: 0 }
  }

  #rowsAt(at: number): number {
    return this.#layoutOf(this.#lines()[this.#indexAt(at)]!).starts.length
  }

  #layoutOf(line: LogLine): Layout {
    const known = this.#layouts.get(line)
    if (known !== undefined) return known
    const styled = styleLine(line, this.#look)
    const { columns } = this.#size
    const starts = this.#isWrapping ? wrapAt(styled.text, columns, this.#indent).slice(0, MAX_ROWS_OF_LINE) : [0]
    const layout = { styled, starts }
    this.#layouts.set(line, layout)
    return layout
  }
}

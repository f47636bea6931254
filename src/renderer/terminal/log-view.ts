import { SearchAddon } from '@xterm/addon-search'
import { WebglAddon } from '@xterm/addon-webgl'
import { FitAddon } from '@xterm/addon-fit'
import type { Terminal } from '@xterm/xterm'
import type { AttemptNumber, JobId, LogChunk } from '../../shared/contract/index.ts'
import { type FollowState, followLog, type LogsClient } from './follow-log.ts'
import { LogBuffer } from './log-buffer.ts'
import { LOG_LEVELS, type LogLevel, type LogLine, paintLogLine, plainLogLine } from './log-line.ts'
import { readLogRange } from './read-log-range.ts'
import { createTerminal, SEARCH_LOOK } from './terminal-look.ts'
import { TerminalWriter } from './terminal-writer.ts'

/** How the log is shown, and how much of it has arrived. */
interface LogViewState {
  shownLevels: ReadonlySet<LogLevel>
  sizeBytes: number
  state: FollowState | { readonly kind: 'opening' }
  isFollowing: boolean
  /** Lines that arrived while the reader was scrolled elsewhere. */
  newLineCount: number
  isWrapping: boolean
  isLoadingOlder: boolean
  match: { readonly index: number; readonly count: number } | null
}

/** What the component shows around the terminal. A new object for every change. */
export interface LogSnapshot extends Readonly<LogViewState> {
  readonly counts: Readonly<Record<LogLevel, number>>
  readonly lineCount: number
  /** Bytes of the log before the first line held. */
  readonly earlierBytes: number
  /** Whether no more older lines can be shown here. */
  readonly isFull: boolean
  /** The end of what is shown, for screen readers and tests. */
  readonly lastLines: string
}

const AT_START: LogViewState = {
  shownLevels: new Set(LOG_LEVELS),
  sizeBytes: 0,
  state: { kind: 'opening' },
  isFollowing: true,
  newLineCount: 0,
  isWrapping: true,
  isLoadingOlder: false,
  match: null
}

/** Before there is a view. */
export const EMPTY_LOG: LogSnapshot = {
  ...AT_START,
  counts: { DEBUG: 0, INFO: 0, WARNING: 0, ERROR: 0 },
  lineCount: 0,
  earlierBytes: 0,
  isFull: false,
  lastLines: ''
}

export interface LogViewOptions {
  readonly logs: LogsClient
  readonly jobId: JobId
  readonly attemptNumber?: AttemptNumber | undefined
  readonly onChange: () => void
  /** Called when reading older lines failed; the view stays as it is. */
  readonly onError: (error: unknown) => void
}

const FIRST_READ_BYTES = 262_144
const OLDER_READ_BYTES = 1_048_576
/** Older lines rewrite the whole terminal: each step reads this many times what is held, so that few are needed. */
const OLDER_READ_GROWTH = 3
const NARROW_COLUMNS = 80
const REWRITE_STEP_LINES = 1000
const LAST_LINES_FOR_READERS = 120
/** Unwrapped lines scroll sideways up to this width; longer ones still wrap, because a canvas has its limits. */
const MAX_UNWRAPPED_COLUMNS = 500

/**
 * One log in one terminal: pulls it, keeps the lines, and shows those of the chosen levels. Whatever changes which
 * lines are shown rewrites them from the buffer; otherwise only new lines are written.
 */
export class LogView {
  readonly #options: LogViewOptions
  readonly #terminal: Terminal
  readonly #writer: TerminalWriter
  readonly #buffer = new LogBuffer()
  readonly #fit = new FitAddon()
  readonly #search = new SearchAddon({ highlightLimit: 2000 })
  readonly #abort = new AbortController()
  #webgl: WebglAddon | null = null
  readonly #now: LogViewState = { ...AT_START }
  #isNarrow = false
  #isRewriting = false
  #mustRewrite = false
  #snapshot = EMPTY_LOG
  #frame = 0

  constructor(options: LogViewOptions) {
    this.#options = options
    this.#terminal = createTerminal()
    this.#terminal.loadAddon(this.#fit)
    this.#terminal.loadAddon(this.#search)
    this.#writer = new TerminalWriter(this.#terminal)
    this.#terminal.onScroll(() => this.#onScroll())
    this.#terminal.attachCustomKeyEventHandler((event) => this.#passOn(event))
    this.#search.onDidChangeResults(({ resultIndex, resultCount }) =>
      this.#change({ match: { index: resultIndex, count: resultCount } })
    )
  }

  get snapshot(): LogSnapshot {
    return this.#snapshot
  }

  /** Puts the terminal into the page and starts following the log. */
  open(element: HTMLElement): void {
    this.#terminal.open(element)
    // Screen readers get the last lines from the component; the terminal's own text field must not take the focus.
    this.#terminal.textarea?.setAttribute('tabindex', '-1')
    this.#terminal.textarea?.setAttribute('aria-hidden', 'true')
    this.fit()
    this.retry()
  }

  /** Requests the log again after it was unavailable. */
  retry(): void {
    void followLog({
      logs: this.#options.logs,
      jobId: this.#options.jobId,
      attemptNumber: this.#options.attemptNumber,
      tailBytes: FIRST_READ_BYTES,
      onChunk: (chunk) => this.#onChunk(chunk),
      onState: (state) => this.#change({ state }),
      signal: this.#abort.signal
    })
  }

  close(): void {
    this.#abort.abort()
    cancelAnimationFrame(this.#frame)
    this.#writer.close()
    // xterm measures itself again shortly after opening and does not cancel that when disposed.
    setTimeout(() => this.#terminal.dispose(), 100)
  }

  /** WebGL contexts are limited (beyond 16 a browser drops the oldest): only a visible terminal holds one. */
  setVisible(isVisible: boolean): void {
    if (!isVisible) {
      this.#webgl?.dispose()
      this.#webgl = null
      return
    }
    this.fit()
    if (this.#webgl !== null || !this.#now.isWrapping) return
    try {
      const webgl = new WebglAddon()
      webgl.onContextLoss(() => {
        webgl.dispose()
        if (this.#webgl === webgl) this.#webgl = null
      })
      this.#terminal.loadAddon(webgl)
      this.#webgl = webgl
    } catch {
      // No WebGL on this machine: xterm falls back to DOM elements, which are just slower.
      this.#webgl = null
    }
  }

  /** Fits rows and columns to the element; call it when the element's size has changed. */
  fit(): void {
    const size = this.#fit.proposeDimensions()
    if (size === undefined || !Number.isFinite(size.cols) || !Number.isFinite(size.rows) || size.rows < 1) return
    const isNarrow = size.cols < NARROW_COLUMNS
    if (isNarrow !== this.#isNarrow) {
      this.#isNarrow = isNarrow
      void this.#rewrite()
    }
    const columns = this.#now.isWrapping ? size.cols : Math.max(size.cols, this.#widestShown())
    if (columns === this.#terminal.cols && size.rows === this.#terminal.rows) return
    this.#terminal.resize(columns, size.rows)
    if (this.#now.isFollowing) this.#terminal.scrollToBottom()
  }

  follow(isFollowing: boolean): void {
    this.#change({ isFollowing, ...(isFollowing && { newLineCount: 0 }) })
    if (isFollowing) this.#terminal.scrollToBottom()
    // At the end xterm follows by itself: one line up is the nearest position that stays put.
    else if (this.#isAtEnd()) this.#terminal.scrollLines(-1)
  }

  /** Scrolls the view by a key; false if the key does not scroll. */
  scrollBy(key: string): boolean {
    if (key === 'PageUp' || key === 'PageDown') this.#terminal.scrollPages(key === 'PageUp' ? -1 : 1)
    else if (key === 'ArrowUp' || key === 'ArrowDown') this.#terminal.scrollLines(key === 'ArrowUp' ? -1 : 1)
    else if (key === 'Home') this.#terminal.scrollToTop()
    else if (key === 'End') this.follow(true)
    else return false
    return true
  }

  showLevels(levels: ReadonlySet<LogLevel>): void {
    this.#change({ shownLevels: levels })
    void this.#rewrite()
  }

  wrap(isWrapping: boolean): void {
    this.#change({ isWrapping })
    this.setVisible(false)
    this.fit()
    this.setVisible(true)
  }

  /** Highlights all matches; an empty text removes the highlights. */
  find(text: string, step: 'first' | 'next' | 'before'): void {
    if (text === '') {
      this.#search.clearDecorations()
      this.#terminal.clearSelection()
      this.#change({ match: null })
      return
    }
    const options = { decorations: SEARCH_LOOK, incremental: step === 'first' }
    const isFound = step === 'next' ? this.#search.findNext(text, options) : this.#search.findPrevious(text, options)
    if (!isFound) this.#change({ match: { index: -1, count: 0 } })
  }

  /** Goes to the next ERROR line below the top of the view, and from the last one back to the first. */
  showNextError(): void {
    const { active } = this.#terminal.buffer
    const selected = this.#terminal.getSelectionPosition()?.start.y
    const from = selected === undefined ? active.viewportY - 1 : selected
    for (let step = 1; step <= active.length; step += 1) {
      const row = (from + step + active.length) % active.length
      const line = active.getLine(row)
      if (
        line === undefined ||
        line.isWrapped ||
        !/^\d\d:\d\d:\d\d (ERROR|CRITICAL)/.test(line.translateToString(true))
      )
        continue
      this.follow(false)
      this.#terminal.scrollToLine(Math.max(0, row - 3))
      this.#terminal.selectLines(row, row)
      return
    }
  }

  /** The selected text, otherwise all lines shown. */
  copyText(): string {
    return this.#terminal.getSelection() || this.#shownLines().map(plainLogLine).join('\n')
  }

  /** Reads what comes before the lines held, for when the terminal is scrolled to its top. */
  async loadOlder(): Promise<void> {
    const end = this.#buffer.firstOffset
    if (end === null || end === 0 || this.#now.isLoadingOlder || this.#buffer.isFull) return
    this.#change({ isLoadingOlder: true })
    try {
      const { logs, jobId, attemptNumber } = this.#options
      const range = { jobId, attemptNumber, start: Math.max(0, end - this.#olderBytes(end)), end }
      const older = await readLogRange(logs, range, this.#abort.signal)
      if (this.#abort.signal.aborted) return
      const rowsBefore = this.#terminal.buffer.active.length
      this.#buffer.prepend(older)
      await this.#rewrite()
      this.#terminal.scrollToLine(Math.max(0, this.#terminal.buffer.active.length - rowsBefore))
    } catch (error) {
      if (!this.#abort.signal.aborted) this.#options.onError(error)
    } finally {
      this.#change({ isLoadingOlder: false })
    }
  }

  /** Never more than there is room for, estimated from the length of the lines held: the scrollback is limited. */
  #olderBytes(end: number): number {
    const heldBytes = (this.#buffer.nextOffset ?? end) - end
    const roomBytes = this.#buffer.lineRoom * (heldBytes / Math.max(1, this.#buffer.lines.length))
    return Math.max(OLDER_READ_BYTES, Math.floor(Math.min(OLDER_READ_GROWTH * heldBytes, roomBytes)))
  }

  async #onChunk(chunk: LogChunk): Promise<void> {
    const { lines, startsOver } = this.#buffer.append(chunk)
    const last = chunk.complete ? this.#buffer.finish().lines : []
    const added = [...lines, ...last].filter(({ level }) => this.#now.shownLevels.has(level))
    const newLineCount = this.#now.newLineCount + (this.#now.isFollowing ? 0 : added.length)
    this.#change({ sizeBytes: chunk.sizeBytes, newLineCount })
    if (startsOver) return this.#rewrite()
    // A rewrite in progress includes these.
    if (added.length > 0 && !this.#isRewriting) await this.#writeLines(added)
  }

  async #writeLines(lines: readonly LogLine[]): Promise<void> {
    if (lines.length > 0)
      await this.#writer.write(lines.map((line) => `${paintLogLine(line, this.#isNarrow)}\r\n`).join(''))
    if (!this.#now.isWrapping) this.fit()
    if (this.#now.isFollowing) this.#terminal.scrollToBottom()
  }

  /** Rewrites the lines of the chosen levels, in steps, so that the window stays responsive. */
  async #rewrite(): Promise<void> {
    this.#mustRewrite = true
    if (this.#isRewriting) return
    this.#isRewriting = true
    let written = 0
    while (!this.#abort.signal.aborted) {
      if (this.#mustRewrite) {
        this.#mustRewrite = false
        this.#terminal.reset()
        written = 0
      }
      // Read again at each step: lines that arrive meanwhile belong at the end.
      const lines = this.#shownLines().slice(written, written + REWRITE_STEP_LINES)
      written += lines.length
      await this.#writeLines(lines)
      if (lines.length > 0) continue
      await new Promise<void>((resolve) => this.#terminal.write('', resolve))
      if (!this.#mustRewrite && written >= this.#shownLines().length) break
    }
    this.#isRewriting = false
    if (this.#now.isFollowing) this.#terminal.scrollToBottom()
    // After a rewrite the terminal is at its end, wherever the reader was.
    this.#onScroll()
    this.#change({})
  }

  #shownLines(): readonly LogLine[] {
    if (this.#now.shownLevels.size === LOG_LEVELS.length) return this.#buffer.lines
    return this.#buffer.lines.filter(({ level }) => this.#now.shownLevels.has(level))
  }

  #widestShown(): number {
    let widest = 0
    for (const { text } of this.#shownLines()) widest = Math.max(widest, text.length + 10)
    return Math.min(widest, MAX_UNWRAPPED_COLUMNS)
  }

  /** After a click xterm's hidden text field has the focus, for copying: its keys are passed on to the page. */
  #passOn(event: KeyboardEvent): boolean {
    const { key, shiftKey } = event
    if (event.type === 'keydown' && !event.ctrlKey && !event.metaKey && !event.altKey) {
      document.body.dispatchEvent(new KeyboardEvent('keydown', { key, shiftKey, bubbles: true, cancelable: true }))
    }
    return false
  }

  #onScroll(): void {
    if (this.#isRewriting) return
    const isAtEnd = this.#isAtEnd()
    if (isAtEnd) this.#now.newLineCount = 0
    if (isAtEnd !== this.#now.isFollowing) this.#change({ isFollowing: isAtEnd })
    if (this.#terminal.buffer.active.viewportY === 0 && !isAtEnd) void this.loadOlder()
  }

  #isAtEnd(): boolean {
    const { viewportY, baseY } = this.#terminal.buffer.active
    return viewportY >= baseY
  }

  /** At most one update of the page per frame, however many chunks arrive. */
  #change(change: Partial<LogViewState>): void {
    Object.assign(this.#now, change)
    if (this.#frame !== 0 || this.#abort.signal.aborted) return
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0
      this.#snapshot = this.#makeSnapshot()
      this.#options.onChange()
    })
  }

  #makeSnapshot(): LogSnapshot {
    return {
      ...this.#now,
      counts: { ...this.#buffer.counts },
      lineCount: this.#buffer.lines.length,
      earlierBytes: this.#buffer.firstOffset ?? 0,
      isFull: this.#buffer.isFull,
      lastLines: this.#lastShown().map(plainLogLine).join('\n')
    }
  }

  #lastShown(): LogLine[] {
    const found: LogLine[] = []
    const { lines } = this.#buffer
    for (let at = lines.length - 1; at >= 0 && found.length < LAST_LINES_FOR_READERS; at -= 1) {
      const line = lines[at] as LogLine
      if (this.#now.shownLevels.has(line.level)) found.push(line)
    }
    return found.reverse()
  }
}

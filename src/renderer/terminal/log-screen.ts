import { FitAddon } from '@xterm/addon-fit'
import { WebglAddon } from '@xterm/addon-webgl'
import type { Terminal } from '@xterm/xterm'
import { sliceColumns } from './cells.ts'
import type { ViewRow, ViewSize } from './log-viewport.ts'
import { paint, type Run } from './styled-text.ts'
import { createTerminal } from './terminal-look.ts'

export interface ScreenRow extends ViewRow {
  /** Shown before the text: the line's number or the name of its log. */
  gutter: { text: string; codes: string }
  /** Matches and marks, in characters of the styled text. */
  highlights: readonly Run[]
}

/**
 * The terminal as a screen: it holds only the visible rows, so its cost does not depend on the log's length or
 * growth. A frame writes only changed rows and is done when xterm has parsed them.
 */
export class LogScreen {
  readonly #terminal: Terminal
  readonly #fit = new FitAddon()
  readonly #onResize: () => void
  #webgl: WebglAddon | null = null
  #rows: readonly ScreenRow[] = []
  #painted: string[] = []
  #element: HTMLElement | null = null

  constructor(options: { onResize: () => void; onSelection: (hasSelection: boolean) => void }) {
    this.#onResize = options.onResize
    this.#terminal = createTerminal()
    this.#terminal.loadAddon(this.#fit)
    this.#terminal.attachCustomKeyEventHandler((event) => passOn(event))
    this.#terminal.onSelectionChange(() => options.onSelection(this.#terminal.hasSelection()))
  }

  get size(): ViewSize {
    return { columns: this.#terminal.cols, rows: this.#terminal.rows }
  }

  open(element: HTMLElement): void {
    this.#element = element
    this.#terminal.open(element)
    // Screen readers get the last lines from the component, so the terminal's own text field must not take the focus.
    this.#terminal.textarea?.setAttribute('tabindex', '-1')
    this.#terminal.textarea?.setAttribute('aria-hidden', 'true')
    // Turns off line wrapping: the viewport cuts the rows.
    this.#terminal.write('\u001b[?7l')
    this.fit()
  }

  close(): void {
    // xterm measures itself again shortly after opening, even if it has been disposed of.
    setTimeout(() => this.#terminal.dispose(), 100)
  }

  /** Browsers allow 16 WebGL contexts and then drop the oldest, so only visible terminals have one. */
  setVisible(isVisible: boolean): void {
    if (!isVisible) {
      this.#webgl?.dispose()
      this.#webgl = null
      return
    }
    this.fit()
    if (this.#webgl !== null || !hasGraphicsCard()) return
    try {
      const webgl = new WebglAddon()
      webgl.onContextLoss(() => {
        webgl.dispose()
        if (this.#webgl === webgl) this.#webgl = null
      })
      this.#terminal.loadAddon(webgl)
      this.#webgl = webgl
    } catch {
      // Without WebGL, xterm uses DOM elements, which are only slower.
      this.#webgl = null
    }
  }

  fit(): void {
    const size = this.#fit.proposeDimensions()
    if (size === undefined || !Number.isFinite(size.cols) || !Number.isFinite(size.rows) || size.rows < 1) return
    if (size.cols === this.#terminal.cols && size.rows === this.#terminal.rows) return
    this.#terminal.resize(size.cols, size.rows)
    this.#painted = []
    this.#onResize()
  }

  /** Resolves when xterm has parsed the frame. */
  show(rows: readonly ScreenRow[]): Promise<void> {
    this.#rows = rows
    const { rows: height } = this.size
    let text = ''
    for (let at = 0; at < height; at += 1) {
      const painted = rows[at] === undefined ? '' : paintRow(rows[at]!)
      if (this.#painted[at] === painted) continue
      this.#painted[at] = painted
      text += `\u001b[${at + 1};1H${painted}\u001b[0m\u001b[K`
    }
    if (text === '') return Promise.resolve()
    return new Promise((resolve) => this.#terminal.write(text, resolve))
  }

  clearSelection(): void {
    this.#terminal.clearSelection()
  }

  selectedText(): string {
    const range = this.#terminal.getSelectionPosition()
    if (range === undefined) return ''
    let text = ''
    for (let y = range.start.y; y <= range.end.y; y += 1) {
      const row = this.#rows[y]
      if (row === undefined) continue
      const before = row.gutter.text.length + row.indent
      const from = Math.max(0, (y === range.start.y ? range.start.x : 0) - before)
      const to = Math.max(from, (y === range.end.y ? range.end.x : this.size.columns) - before)
      const shown = row.styled.text.slice(row.from, row.to)
      const part = sliceColumns(shown, from, to - from)
      const isNextOfLine = this.#rows[y + 1]?.index === row.index
      text += shown.slice(part.from, part.to)
      if (y < range.end.y && !isNextOfLine) text += '\n'
    }
    return text
  }

  /** `isGutter`: whether the pointer is over the gutter. */
  rowAt(event: MouseEvent): { row: ScreenRow; isGutter: boolean } | null {
    const screen = this.#element?.querySelector('.xterm-screen')?.getBoundingClientRect()
    if (screen === undefined || screen.height === 0) return null
    const { columns, rows } = this.size
    const row = this.#rows[Math.floor(((event.clientY - screen.top) / screen.height) * rows)]
    if (row === undefined) return null
    const column = ((event.clientX - screen.left) / screen.width) * columns
    return { row, isGutter: column < row.gutter.text.length }
  }

  /** In pixels, like the distances of wheel events. */
  get rowHeight(): number {
    const height = this.#element?.querySelector('.xterm-screen')?.getBoundingClientRect().height ?? 0
    return height > 0 ? height / this.#terminal.rows : 17
  }
}

let answer: boolean | null = null

/** Software renderers for WebGL: Chromium's, Mesa's, Windows'. */
const SOFTWARE_RENDERER = /SwiftShader|llvmpipe|softpipe|Software|Basic Render/i

/**
 * Whether WebGL runs on a graphics card. In software, WebGL costs more CPU than DOM elements. Not all browsers
 * report software rendering, so also check the renderer's name.
 */
function hasGraphicsCard(): boolean {
  if (answer !== null) return answer
  const gl = document.createElement('canvas').getContext('webgl2', { failIfMajorPerformanceCaveat: true })
  const info = gl?.getExtension('WEBGL_debug_renderer_info') ?? null
  const name = String(gl?.getParameter(info?.UNMASKED_RENDERER_WEBGL ?? gl.RENDERER) ?? '')
  gl?.getExtension('WEBGL_lose_context')?.loseContext()
  return (answer = gl !== null && !SOFTWARE_RENDERER.test(name))
}

function paintRow({ gutter, styled, from, to, isFirst, indent, highlights }: ScreenRow): string {
  const before =
    gutter.text === ''
      ? ''
      : `\u001b[${gutter.codes}m${isFirst ? gutter.text : ' '.repeat(gutter.text.length)}\u001b[0m`
  return before + ' '.repeat(indent) + paint(styled.text, from, to, [styled.runs, highlights])
}

/** Passes a key event on to the page. After a click, xterm's hidden text field has the focus, for copying. */
function passOn(event: KeyboardEvent): boolean {
  const { key, shiftKey } = event
  if (event.type === 'keydown' && !event.ctrlKey && !event.metaKey && !event.altKey) {
    document.body.dispatchEvent(new KeyboardEvent('keydown', { key, shiftKey, bubbles: true, cancelable: true }))
  }
  return false
}

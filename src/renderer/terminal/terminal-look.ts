import { type IUnicodeVersionProvider, Terminal } from '@xterm/xterm'
import { cellsOf } from './cells.ts'
import { texts } from '../../shared/texts/ui/terminal.ts'

export function createTerminal(): Terminal {
  Terminal.strings.promptLabel = texts.terminalInput
  const terminal = new Terminal({
    // Needed to set the width of characters.
    allowProposedApi: true,
    convertEol: true,
    disableStdin: true,
    cursorInactiveStyle: 'none',
    cursorStyle: 'bar',
    fontFamily: "ui-monospace, 'JetBrains Mono', 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace",
    fontSize: 12,
    lineHeight: 1.4,
    // The terminal holds only the visible rows (log-screen.ts).
    scrollback: 0,
    minimumContrastRatio: 4.5,
    // Links in a log are never opened.
    linkHandler: { activate: () => {} },
    theme: TERMINAL_THEME
  })
  terminal.unicode.register(WIDTHS)
  terminal.unicode.activeVersion = WIDTHS.version
  return terminal
}

/**
 * The widths of characters, from cells.ts, which also cuts the rows. If xterm still considers a row too long, it must
 * not wrap the row (DECAWM).
 */
const WIDTHS: IUnicodeVersionProvider = {
  version: 'scrapdeck',
  wcwidth: cellsOf,
  charProperties(codePoint, preceding) {
    const cells = cellsOf(codePoint)
    const joins = cells === 0 && preceding !== 0
    const width = joins ? (preceding >> 1) & 3 : cells
    return ((width & 3) << 1) | (joins && width > 0 ? 1 : 0)
  }
}

/** The terminal is dark in both schemes because logs use colors meant for dark terminals. */
const TERMINAL_THEME = {
  background: '#0a0d11',
  foreground: '#c9d3df',
  cursor: '#0a0d11',
  selectionBackground: '#3a4a78',
  selectionInactiveBackground: '#8a6516',
  black: '#1a1f27',
  red: '#ff7b72',
  green: '#58c793',
  yellow: '#e0b050',
  blue: '#6fa8dc',
  magenta: '#b685f0',
  cyan: '#5ac1c9',
  white: '#c9d3df',
  brightBlack: '#768699',
  brightRed: '#ffa198',
  brightGreen: '#7ee2b0',
  brightYellow: '#f2cc60',
  brightBlue: '#9ecbff',
  brightMagenta: '#d2b0ff',
  brightCyan: '#8be0e6',
  brightWhite: '#f0f4fa',
  overviewRulerBorder: '#0a0d11',
  scrollbarSliderBackground: '#ffffff24',
  scrollbarSliderHoverBackground: '#ffffff40',
  scrollbarSliderActiveBackground: '#ffffff55'
}

export const GUTTER = '38;2;84;98;117'
export const MARKED = '48;2;40;52;84'
export const MATCH = '48;2;92;74;28'
export const ACTIVE_MATCH = '48;2;200;146;26;30'
export const SOURCE_COLOURS = ['34', '35', '36', '33', '32', '94', '95', '96']

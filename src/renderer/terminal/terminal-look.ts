import { Terminal } from '@xterm/xterm'

/** A terminal that only displays: no input, no cursor, no links. */
export function createTerminal(): Terminal {
  return new Terminal({
    // Search highlights are decorations, which xterm still calls a proposed API.
    allowProposedApi: true,
    convertEol: true,
    disableStdin: true,
    cursorInactiveStyle: 'none',
    cursorStyle: 'bar',
    fontFamily: "ui-monospace, 'JetBrains Mono', 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace",
    fontSize: 12,
    lineHeight: 1.4,
    scrollback: 60_000,
    minimumContrastRatio: 4.5,
    overviewRuler: { width: 9 },
    // Links in a log are never opened.
    linkHandler: { activate: () => {} },
    theme: TERMINAL_THEME
  })
}

/** The terminal is dark in both schemes: logs use colours meant for dark terminals. */
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

/** Colours of matches, in the lines and beside the scrollbar. */
export const SEARCH_LOOK = {
  matchBackground: '#5c4a1c',
  activeMatchBackground: '#a87a16',
  matchOverviewRuler: '#e0b050',
  activeMatchColorOverviewRuler: '#f2cc60'
}

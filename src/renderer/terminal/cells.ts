import { eastAsianWidth } from 'get-east-asian-width'

/**
 * The number of terminal cells that a character takes: 0, 1 or 2. The terminal uses the same widths
 * (terminal-look.ts).
 */
export function cellsOf(codePoint: number): 0 | 1 | 2 {
  if (codePoint < 0x300) return 1
  if (ZERO_WIDTH.test(String.fromCodePoint(codePoint))) return 0
  return eastAsianWidth(codePoint) === 2 ? 2 : 1
}

const ZERO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]$/u
const PLAIN = /^[\u0020-\u007e]*$/

export function widthOf(text: string): number {
  if (PLAIN.test(text)) return text.length
  let width = 0
  for (const character of text) width += cellsOf(character.codePointAt(0)!)
  return width
}

/** The start of each row when `text` is wrapped at `columns`. All rows after the first leave `indent` columns free. */
export function wrapAt(text: string, columns: number, indent = 0): number[] {
  const starts = [0]
  if (PLAIN.test(text)) {
    for (let at = columns; at < text.length; at += columns - indent) starts.push(at)
    return starts
  }
  let column = 0
  let at = 0
  for (const character of text) {
    const cells = cellsOf(character.codePointAt(0)!)
    if (column + cells > columns && column > (starts.length > 1 ? indent : 0)) {
      starts.push(at)
      column = indent
    }
    column += cells
    at += character.length
  }
  return starts
}

/** The part of `text` that is visible after scrolling `skipped` columns to the right. */
export function sliceColumns(text: string, skipped: number, columns: number): { from: number; to: number } {
  if (PLAIN.test(text)) return { from: Math.min(skipped, text.length), to: Math.min(skipped + columns, text.length) }
  let column = 0
  let at = 0
  let from: number | null = null
  for (const character of text) {
    const cells = cellsOf(character.codePointAt(0)!)
    if (from === null && column >= skipped) from = at
    if (column + cells > skipped + columns) return { from: from ?? at, to: at }
    column += cells
    at += character.length
  }
  return { from: from ?? text.length, to: text.length }
}

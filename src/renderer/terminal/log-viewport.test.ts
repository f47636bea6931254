import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { wrapAt } from './cells.ts'
import { type LogLevel, type LogLine, plainLine } from './log-line.ts'
import { LogViewport } from './log-viewport.ts'
import { LogWindow } from './log-window.ts'

const LOOK = { isNarrow: false, showsTimes: true }
const record = (level: string, text: string) => `2026-11-19 03:12:51 [a] ${level}: ${text}\n`

function viewOf(
  count: number,
  size = { columns: 40, rows: 5 },
  text = (line: number) => record('INFO', `line ${line}`)
) {
  const window = new LogWindow(1_000)
  const viewport = new LogViewport(() => window.lines)
  let offset = 0
  const append = (added: string) => {
    const nextOffset = offset + added.length
    viewport.afterAppend(window.append({ offset, nextOffset, sizeBytes: nextOffset, text: added }))
    offset = nextOffset
  }
  viewport.resize(size, LOOK, true)
  append(Array.from({ length: count }, (_, index) => text(index + 1)).join(''))
  const shown = () => viewport.rows().map(({ styled, from, to }) => styled.text.slice(from, to).trim())
  const numbers = () => [...new Set(viewport.rows().map(({ index }) => index + 1))]
  return { window, viewport, append, shown, numbers }
}

describe('a view of a log', () => {
  it('shows the end, and stays where the reader scrolled while lines arrive', () => {
    const { viewport, append, numbers } = viewOf(100)
    viewport.scrollToEnd()
    expect(numbers()).toEqual([96, 97, 98, 99, 100])
    expect(viewport.isAtEnd).toBe(true)
    viewport.scrollRows(-10)
    append(record('INFO', 'new'))
    expect([numbers(), viewport.isAtEnd]).toEqual([[86, 87, 88, 89, 90], false])
    viewport.scrollRows(1_000)
    expect([numbers(), viewport.isAtEnd]).toEqual([[97, 98, 99, 100, 101], true])
    viewport.scrollRows(-1_000)
    expect([numbers(), viewport.isAtStart]).toEqual([[1, 2, 3, 4, 5], true])
  })

  it('shows the same lines when lines are dropped at the start, or older ones are loaded', () => {
    const { window, viewport, append, shown } = viewOf(999)
    viewport.scrollToLine(500)
    const before = shown()
    for (let line = 0; line < 5; line += 1) append(record('INFO', 'new'))
    expect(window.lines.length).toBeLessThan(1_000)
    expect(shown()).toEqual(before)
    const older = viewOf(50)
    older.viewport.scrollToLine(20)
    const seen = older.shown()
    const { window: newer } = older
    const { added } = newer.prepend({
      offset: 0,
      nextOffset: 0,
      text: `${record('INFO', 'first')}${record('INFO', 'second')}`
    })
    older.viewport.afterPrepend(added)
    expect(older.shown()).toEqual(seen)
  })

  it('hides levels with their tracebacks, and keeps its position', () => {
    const { viewport, shown } = viewOf(60, { columns: 80, rows: 4 }, (line) =>
      line % 20 === 0 ? `${record('ERROR', `bad ${line}`)}Traceback\n` : record('DEBUG', `fine ${line}`)
    )
    viewport.scrollToLine(30)
    viewport.showLevels(new Set<LogLevel>(['ERROR']))
    expect(viewport.shownCount).toBe(6)
    viewport.scrollToStart()
    expect(shown()).toEqual(['03:12:51 ERROR    [a] bad 20', 'Traceback', '03:12:51 ERROR    [a] bad 40', 'Traceback'])
    viewport.showLevels(new Set<LogLevel>(['DEBUG', 'INFO', 'WARNING', 'ERROR']))
    expect(viewport.shownCount).toBe(63)
  })

  it('scrolls long lines sideways if they are not wrapped', () => {
    const { viewport, shown } = viewOf(3, { columns: 30, rows: 5 }, () => record('INFO', 'x'.repeat(50) + 'end'))
    viewport.resize({ columns: 30, rows: 5 }, LOOK, false)
    expect(shown()).toHaveLength(3)
    viewport.scrollSideways(60)
    expect(shown()[0]).toMatch(/^x+end$/)
    viewport.scrollSideways(-1_000)
    expect(shown()[0]).toMatch(/^03:12:51/)
  })

  it('indents the further rows of a wrapped line to the start of its text, and no row is too wide', () => {
    const { viewport } = viewOf(1, { columns: 60, rows: 5 }, () => record('INFO', 'x'.repeat(100)))
    const rows = viewport.rows().map(({ styled, from, to, indent }) => ' '.repeat(indent) + styled.text.slice(from, to))
    expect(rows).toEqual([
      `03:12:51 INFO     [a] ${'x'.repeat(38)}`,
      `${' '.repeat(18)}${'x'.repeat(42)}`,
      `${' '.repeat(18)}${'x'.repeat(20)}`
    ])
  })
})

it('scrolling row by row shows every row of every line once and in order, whatever their widths', () => {
  const text = fc.string({ unit: fc.constantFrom('a', ' ', '漢', 'é', '😀', '\u0301'), maxLength: 60 })
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 12 }), fc.integer({ min: 5, max: 20 }), (texts, columns) => {
      const window = new LogWindow()
      const lines = texts.map((line) => `${line}\n`).join('')
      const nextOffset = new TextEncoder().encode(lines).length
      window.append({ offset: 0, nextOffset, sizeBytes: nextOffset, text: lines })
      const indent = Math.min(2, Math.floor(columns / 3))
      const viewport = new LogViewport(() => window.lines)
      viewport.resize({ columns, rows: 3 }, { isNarrow: true, showsTimes: true }, true)
      const all = window.lines.flatMap((line: LogLine, index) =>
        wrapAt(`  ${plainLine(line)}`, columns, indent).map((_, row) => `${index}.${row}`)
      )
      const seen: string[] = []
      const rowOf = (index: number, from: number) =>
        wrapAt(`  ${plainLine(window.lines[index]!)}`, columns, indent).indexOf(from)
      for (let step = 0; step < all.length + 5; step += 1) {
        const rows = viewport.rows().map(({ index, from }) => `${index}.${rowOf(index, from)}`)
        expect(rows).toEqual(all.slice(Math.min(step, Math.max(0, all.length - 3))).slice(0, 3))
        seen.push(rows[0]!)
        viewport.scrollRows(1)
      }
      expect(new Set(seen).size).toBe(Math.max(1, all.length - 2))
    })
  )
})

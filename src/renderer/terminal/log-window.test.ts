import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { plainLine } from './log-line.ts'
import { LogWindow } from './log-window.ts'

const head = (level: string, message: string) => `2026-11-19 03:12:51 [a] ${level}: ${message}`
const bytes = (text: string) => new TextEncoder().encode(text).length

/** Cuts text into chunks as the engine sends them, with offsets in bytes. */
function piecesOf(text: string, cuts: readonly number[]) {
  const places = [0, ...[...cuts].sort((a, b) => a - b), text.length]
  return places.slice(1).map((end, index) => {
    const start = places[index] as number
    const nextOffset = bytes(text.slice(0, end))
    return { offset: bytes(text.slice(0, start)), nextOffset, sizeBytes: nextOffset, text: text.slice(start, end) }
  })
}

const piece = (offset: number, text: string) => ({
  offset,
  text,
  nextOffset: offset + bytes(text),
  sizeBytes: offset + bytes(text)
})
const shown = (window: LogWindow) => window.lines.map(plainLine)

describe('the lines held', () => {
  it('are complete, plus an unfinished last one when the log is complete', () => {
    const window = new LogWindow()
    expect(window.append(piece(0, 'a\nb\nc'))).toEqual({ added: 2, dropped: 0, skippedBytes: 0 })
    expect(window.finish()).toBe(1)
    expect(window.finish()).toBe(0)
    expect(shown(window)).toEqual(['a', 'b', 'c'])
  })

  it('count messages by level, not the lines of their tracebacks', () => {
    const window = new LogWindow()
    window.append(piece(0, `${head('ERROR', 'no')}\nTraceback:\n  File\nKeyError: 1\n${head('INFO', 'b')}\n`))
    expect(window.counts).toEqual({ DEBUG: 0, INFO: 1, WARNING: 0, ERROR: 1 })
    expect(window.lines.map((line) => line.level)).toEqual(['ERROR', 'ERROR', 'ERROR', 'ERROR', 'INFO'])
  })

  it('have levels in whatever format the log has, also those read before it was known', () => {
    const window = new LogWindow()
    window.append(piece(0, '{"lvl": "error", "text": "no"}\n[E 12:00] no price\n[I 12:00] next\nTrace\n'))
    expect(window.format).toEqual({ kind: 'json' })
    const initials = `[E 12:01] no price\n`
    const parts = [
      ...[{ part: 'text', text: '[' } as const, { part: 'level', case: 'initial' } as const, { part: 'gap' } as const],
      ...[{ part: 'time', style: 'clock', order: 'day-first' } as const, { part: 'text', text: ']' } as const]
    ]
    window.append({ ...piece(window.nextOffset, initials), format: { kind: 'pattern', parts } })
    expect(window.lines.map(({ level }) => level)).toEqual(['INFO', 'ERROR', 'INFO', 'INFO', 'ERROR'])
    expect(window.counts).toEqual({ DEBUG: 0, INFO: 1, WARNING: 0, ERROR: 2 })
  })

  it('are not added twice if a resumed stream repeats a piece', () => {
    const window = new LogWindow()
    window.append(piece(0, 'a\nb\n'))
    expect(window.append(piece(0, 'a\nb\n')).added).toBe(0)
    expect(shown(window)).toEqual(['a', 'b'])
  })

  it('are replaced if the log became shorter or is another file', () => {
    const window = new LogWindow()
    window.append(piece(0, `${head('ERROR', 'a')}\nb`))
    window.append(piece(0, 'c\n'))
    expect([shown(window), window.counts.ERROR, window.startOffset, window.nextOffset]).toEqual([['c'], 0, 0, 2])
    window.append({ ...piece(0, 'longer than before\n'), startsOver: true })
    expect(shown(window)).toEqual(['longer than before'])
  })

  it('start again after bytes that were left out, and say how many', () => {
    const window = new LogWindow()
    window.append(piece(0, 'a\nb\n'))
    expect(window.append(piece(1_000, 'y\nz\n'))).toEqual({ added: 2, dropped: 0, skippedBytes: 996 })
    expect([shown(window), window.startOffset, window.firstNumber]).toEqual([['y', 'z'], 1_000, null])
  })

  it('are dropped at the start when they are too many', () => {
    const window = new LogWindow(10)
    for (let at = 0; at < 12; at += 1) window.append(piece(at * 2, `${String.fromCharCode(97 + at)}\n`))
    expect(window.lines.length).toBeLessThanOrEqual(10)
    expect(shown(window).at(-1)).toBe('l')
    expect(window.firstNumber).toBe(12 - window.lines.length + 1)
    expect(window.startOffset).toBe(window.lines[0]!.offset)
  })

  it('are dropped at the end when older ones are loaded, and can be read again from there', () => {
    const window = new LogWindow(4)
    window.append(piece(8, 'e\nf\ng\n'))
    expect(window.prepend({ offset: 0, nextOffset: 8, text: 'a\nb\nc\nd\n' })).toEqual({ added: 4, dropped: 3 })
    expect([shown(window), window.nextOffset, window.firstNumber]).toEqual([['a', 'b', 'c', 'd'], 8, 1])
  })

  it('of a traceback take the level of the older line that it belongs to', () => {
    const window = new LogWindow()
    const first = `${head('ERROR', 'broken')}\n`
    window.append(piece(bytes(first), '  File\nKeyError\n'))
    window.prepend({ offset: 0, nextOffset: bytes(first), text: first })
    expect(window.lines.map(({ level }) => level)).toEqual(['ERROR', 'ERROR', 'ERROR'])
  })
})

it('lines, places and numbers are those of the whole log, whatever the pieces are', () => {
  const unit = fc.constantFrom('a', 'é', '漢', '😀', '\n', '\r\n', `${head('INFO', 'x')}\n`)
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 30 }), fc.array(fc.nat(100), { maxLength: 5 }), (text, cuts) => {
      const window = new LogWindow()
      // Chunks end at whole characters.
      const at = (cut: number) => {
        const place = cut % (text.length + 1)
        return /[\uDC00-\uDFFF]/.test(text[place] ?? '') ? place - 1 : place
      }
      for (const each of piecesOf(text, cuts.map(at))) window.append(each)
      window.finish()
      const lines = text.split('\n')
      if (lines.at(-1) === '') lines.pop()
      expect(window.lines.map(({ raw }) => raw)).toEqual(lines.map((line) => line.replace(/\r$/, '')))
      let offset = 0
      for (const [index, line] of lines.entries()) {
        expect(window.lines[index]!.offset).toBe(offset)
        expect(window.indexOf(offset)).toBe(index)
        offset += bytes(line) + 1
      }
      if (lines.length > 0) expect(window.firstNumber).toBe(1)
    })
  )
})

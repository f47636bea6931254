import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LogBuffer } from './log-buffer.ts'
import { plainLogLine } from './log-line.ts'

const head = (level: string, message: string) => `2026-11-19 03:12:51 [a] ${level}: ${message}`
const bytes = (text: string) => new TextEncoder().encode(text).length

/** Cuts a text into chunks as the engine sends them, with offsets in bytes. */
function piecesOf(text: string, cuts: readonly number[]) {
  const places = [0, ...[...cuts].sort((a, b) => a - b), text.length]
  return places.slice(1).map((end, index) => {
    const start = places[index] as number
    const nextOffset = bytes(text.slice(0, end))
    return { offset: bytes(text.slice(0, start)), nextOffset, sizeBytes: nextOffset, text: text.slice(start, end) }
  })
}

const shown = (buffer: LogBuffer) => buffer.lines.map(plainLogLine)

describe('LogBuffer', () => {
  it('returns whole lines only, and the unfinished last one when the log is complete', () => {
    const buffer = new LogBuffer()
    expect(buffer.append({ offset: 0, nextOffset: 5, sizeBytes: 5, text: 'a\nb\nc' }).lines.map(plainLogLine)).toEqual([
      'a',
      'b'
    ])
    expect(buffer.finish().lines.map(plainLogLine)).toEqual(['c'])
    expect(buffer.finish().lines).toEqual([])
  })

  it('counts messages by level, not the lines of their tracebacks', () => {
    const buffer = new LogBuffer()
    buffer.append({
      offset: 0,
      nextOffset: 100,
      sizeBytes: 100,
      text: `${head('ERROR', 'no')}\nTraceback:\n  File\nKeyError: 1\n${head('INFO', 'b')}\n`
    })
    expect(buffer.counts).toEqual({ DEBUG: 0, INFO: 1, WARNING: 0, ERROR: 1 })
    expect(buffer.lines.map((line) => line.level)).toEqual(['ERROR', 'ERROR', 'ERROR', 'ERROR', 'INFO'])
  })

  it('adds nothing for a chunk that a resumed stream repeats', () => {
    const buffer = new LogBuffer()
    buffer.append({ offset: 0, nextOffset: 4, sizeBytes: 4, text: 'a\nb\n' })
    expect(buffer.append({ offset: 0, nextOffset: 4, sizeBytes: 4, text: 'a\nb\n' }).lines).toEqual([])
    expect(shown(buffer)).toEqual(['a', 'b'])
  })

  it('starts over when the log became shorter, because it is another file', () => {
    const buffer = new LogBuffer()
    buffer.append({ offset: 0, nextOffset: 9, sizeBytes: 9, text: `${head('ERROR', 'a')}\nb` })
    expect(buffer.append({ offset: 0, nextOffset: 2, sizeBytes: 2, text: 'c\n' })).toMatchObject({ startsOver: true })
    expect(shown(buffer)).toEqual(['c'])
    expect(buffer.counts.ERROR).toBe(0)
    expect([buffer.firstOffset, buffer.nextOffset]).toEqual([0, 2])
  })

  it('drops whole chunks from the beginning and knows the exact offset of the rest', () => {
    const buffer = new LogBuffer(3)
    buffer.append({ offset: 0, nextOffset: 4, sizeBytes: 4, text: 'a\nb\n' })
    buffer.append({ offset: 4, nextOffset: 8, sizeBytes: 8, text: 'c\nd\n' })
    expect(buffer.append({ offset: 8, nextOffset: 10, sizeBytes: 10, text: 'e\n' }).droppedCount).toBe(2)
    expect(shown(buffer)).toEqual(['c', 'd', 'e'])
    expect(buffer.firstOffset).toBe(4)
    expect(buffer.isFull).toBe(true)
  })

  it('joins the two halves of a line when older text is prepended', () => {
    const buffer = new LogBuffer()
    const text = `${head('ERROR', 'broken')}\n  File\n`
    buffer.append({ offset: 30, nextOffset: text.length, sizeBytes: text.length, text: text.slice(30) })
    expect(buffer.counts.ERROR).toBe(0)
    buffer.prepend({ offset: 0, nextOffset: 30, text: text.slice(0, 30) })
    expect(shown(buffer)).toEqual([head('ERROR', 'broken'), '  File'])
    expect(buffer.counts.ERROR).toBe(1)
    expect(buffer.firstOffset).toBe(0)
  })

  it('gives a traceback at the beginning the level of the line that older text adds above it', () => {
    const buffer = new LogBuffer()
    buffer.append({ offset: 100, nextOffset: 110, sizeBytes: 110, text: '  File "a"\n' })
    buffer.prepend({ offset: 0, nextOffset: 100, text: `${head('ERROR', 'x')}\n` })
    expect(buffer.lines.map((line) => line.level)).toEqual(['ERROR', 'ERROR'])
  })

  it('shows the same lines however the log was cut', () => {
    const line = fc.constantFrom(head('INFO', 'a'), head('ERROR', 'ü漢'), 'Traceback', '  File "x"', '')
    fc.assert(
      fc.property(
        fc.array(line, { minLength: 1, maxLength: 12 }),
        fc.array(fc.nat(400), { maxLength: 5 }),
        (lines, cuts) => {
          const text = lines.map((each) => `${each}\n`).join('')
          const buffer = new LogBuffer()
          for (const piece of piecesOf(
            text,
            cuts.filter((cut) => cut < text.length)
          ))
            buffer.append(piece)
          buffer.finish()
          expect(shown(buffer)).toEqual(lines)
          expect(buffer.nextOffset).toBe(bytes(text))
        }
      )
    )
  })
})

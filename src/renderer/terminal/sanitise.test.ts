import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sanitiseLine, withoutColours } from './sanitise.ts'

const ESC = '\u001b'

describe('sanitiseLine', () => {
  it('leaves plain text and tabs unchanged', () => {
    expect(sanitiseLine('a\tb — ünïcode 漢字 🕷')).toBe('a\tb — ünïcode 漢字 🕷')
  })

  it('keeps colours and resets them at the end of the line', () => {
    expect(sanitiseLine(`${ESC}[1;31mred${ESC}[0m ${ESC}[38;5;200mx`)).toBe(
      `${ESC}[1;31mred${ESC}[0m ${ESC}[38;5;200mx${ESC}[0m`
    )
    expect(sanitiseLine(`${ESC}[48;2;1;2;3mx`)).toBe(`${ESC}[48;2;1;2;3mx${ESC}[0m`)
  })

  it('drops blinking, concealed text and malformed colours', () => {
    expect(sanitiseLine(`a${ESC}[5mb${ESC}[8mc${ESC}[38;9md${ESC}[38;5;999me`)).toBe('abcde')
    expect(sanitiseLine(`${ESC}[8;31mx`)).toBe(`${ESC}[31mx${ESC}[0m`)
  })

  it.each([
    ['a window title', `a${ESC}]0;owned\u0007b`, 'ab'],
    ['a clipboard write', `a${ESC}]52;c;cm0gLXJmIC8=${ESC}\\b`, 'ab'],
    ['a hyperlink', `${ESC}]8;;https://evil.example${ESC}\\click${ESC}]8;;${ESC}\\`, 'click'],
    ['a device control string', `a${ESC}P$q"p${ESC}\\b`, 'ab'],
    ['clearing the screen and moving', `a${ESC}[2J${ESC}[1;1Hb`, 'ab'],
    ['a device query', `a${ESC}[6nb${ESC}[>cb`, 'abb'],
    ['a private mode', `a${ESC}[?1049hb`, 'ab'],
    ['a full reset', `a${ESC}cb`, 'ab'],
    ['eight-bit sequences', 'a\u009b2Jb\u009d0;t\u009cc', 'abc'],
    ['a bell, a backspace and a carriage return', 'a\u0007b\u0008c\rd', 'abcd'],
    ['a reversed reading direction', 'a\u202ecod.exe', 'acod.exe'],
    ['a mark of the reading direction', '1\u061c2', '12'],
    ['an escape at the end', `abc${ESC}`, 'abc'],
    ['our own mark', 'a\ue0ff[31mb', 'a[31mb']
  ])('removes %s', (_name, dirty, clean) => {
    expect(sanitiseLine(dirty)).toBe(clean)
  })

  it('shows the text of an unfinished string sequence instead of swallowing the rest of the log', () => {
    expect(sanitiseLine(`before ${ESC}]0;never closed`)).toBe('before 0;never closed')
  })

  it('returns only text and colours, whatever the input', () => {
    const nasty = fc.array(
      fc.oneof(
        fc.constantFrom(
          ESC,
          '[',
          ']',
          'm',
          ';',
          '\u0007',
          '\u009b',
          '\u009d',
          '\u009c',
          '\\',
          'P',
          '31',
          '8',
          '\ue0ff',
          '?'
        ),
        fc.string({ unit: 'binary', maxLength: 3 })
      ),
      { maxLength: 60 }
    )
    fc.assert(
      fc.property(nasty, (parts) => {
        const text = withoutColours(sanitiseLine(parts.join('')))
        expect(text).not.toMatch(/[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/)
      })
    )
  })

  it.each([
    ['starts of strings', '\u009d'.repeat(500_000)],
    ['starts of strings with text', '\u0090x'.repeat(250_000)],
    ['starts of sequences', `${ESC}[`.repeat(250_000)],
    ['starts of eight-bit sequences', '\u009b0'.repeat(250_000)]
  ])('does not hang on many unfinished %s', (_name, line) => {
    expect(withoutColours(sanitiseLine(line)).length).toBeLessThanOrEqual(250_000)
  })

  it('changes nothing when it is applied twice', () => {
    const line = `${ESC}[31mred${ESC}]0;t\u0007 text`
    expect(sanitiseLine(sanitiseLine(line)).startsWith(sanitiseLine(line))).toBe(true)
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeUtf8, parsePythonFloat, toBytesRepr, type PythonJsonValue, toPythonJson } from './python-text.ts'

describe('JSON as Python writes it', () => {
  // Each right side is what CPython 3.11's json.dumps prints.
  it.each<[PythonJsonValue, string]>([
    [{ status: 'ok', n: [1, 2.5, null, true, false] }, '{"status": "ok", "n": [1, 2.5, null, true, false]}'],
    [{ empty: [], object: {} }, '{"empty": [], "object": {}}'],
    ['naïve 日本', '"na\\u00efve \\u65e5\\u672c"'],
    ['\u{1f600}', '"\\ud83d\\ude00"'],
    ['tab\t quote" back\\ del\u007f nul\u0000', '"tab\\t quote\\" back\\\\ del\\u007f nul\\u0000"'],
    [{ kéy: 'v' }, '{"k\\u00e9y": "v"}']
  ])('%j', (value, expected) => {
    expect(toPythonJson(value)).toBe(expected)
  })

  it('is ASCII and parses back to the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        const text = toPythonJson(value as PythonJsonValue)
        expect(text).toMatch(/^[\x20-\x7e]*$/)
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
      })
    )
  })
})

describe("Python's error messages", () => {
  // Each message is CPython 3.11's for the same bytes.
  it.each([
    ['c3', "'utf-8' codec can't decode byte 0xc3 in position 0: unexpected end of data"],
    ['c328', "'utf-8' codec can't decode byte 0xc3 in position 0: invalid continuation byte"],
    ['61ff', "'utf-8' codec can't decode byte 0xff in position 1: invalid start byte"],
    ['80', "'utf-8' codec can't decode byte 0x80 in position 0: invalid start byte"],
    ['c0af', "'utf-8' codec can't decode byte 0xc0 in position 0: invalid start byte"],
    ['e282', "'utf-8' codec can't decode bytes in position 0-1: unexpected end of data"],
    ['e28228', "'utf-8' codec can't decode bytes in position 0-1: invalid continuation byte"],
    ['eda080', "'utf-8' codec can't decode byte 0xed in position 0: invalid continuation byte"],
    ['f0908028', "'utf-8' codec can't decode bytes in position 0-2: invalid continuation byte"],
    ['f5808080', "'utf-8' codec can't decode byte 0xf5 in position 0: invalid start byte"]
  ])('bytes %s that are not UTF-8', (hex, message) => {
    expect(() => decodeUtf8(Buffer.from(hex, 'hex'))).toThrow(message)
  })

  it('any text survives UTF-8 decoding, including a byte order mark', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => decodeUtf8(Buffer.from(text)) === text))
    expect(decodeUtf8(Buffer.from('\ufeffa'))).toBe('\ufeffa')
  })

  it('any bytes that cannot be decoded have a message of their own', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 8 }), (bytes) => {
        try {
          decodeUtf8(bytes)
        } catch (error) {
          expect((error as Error).message).toMatch(/ in position \d+(-\d+)?: (invalid|unexpected)/)
        }
      })
    )
  })

  it.each([
    ['1', 1],
    [' 2.5\n', 2.5],
    ['-1_0', -10],
    ['+.5e1', 5],
    ['3.', 3],
    ['inf', Infinity],
    ['-Infinity', -Infinity],
    ['NaN', Number.NaN]
  ])('float(b%o)', (text, expected) => {
    expect(parsePythonFloat(Buffer.from(text))).toBe(expected)
  })

  it.each([
    ['x', "could not convert string to float: b'x'"],
    ['', "could not convert string to float: b''"],
    ['1__0', "could not convert string to float: b'1__0'"],
    ['0x10', "could not convert string to float: b'0x10'"],
    ['1 2', "could not convert string to float: b'1 2'"]
  ])('float(b%o) is rejected', (text, message) => {
    expect(() => parsePythonFloat(Buffer.from(text))).toThrow(message)
  })

  it.each([
    ['digits', `${'1'.repeat(500_000)}x`],
    ['spaces', `1${' '.repeat(500_000)}1`]
  ])('takes little time, however long the text: %s', (_name, text) => {
    const startedAtMs = performance.now()
    expect(() => parsePythonFloat(Buffer.from(text))).toThrow(/^could not convert string to float: b'1/)
    expect(performance.now() - startedAtMs).toBeLessThan(1000)
  })

  it('bytes are shown as Python shows them', () => {
    expect(toBytesRepr(Buffer.from("it's\n\\\x00é", 'latin1'))).toBe('b"it\'s\\n\\\\\\x00\\xe9"')
    expect(toBytesRepr(Buffer.from('\'"'))).toBe("b'\\'\"'")
  })
})

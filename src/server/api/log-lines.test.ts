import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLineReader } from './job-log.ts'

const LOG = `Unhandled before the first record
2026-11-02 12:00:02 [scrapy.core.engine] INFO: Spider opened
2026-11-02 12:00:03,250 [shop.prices] ERROR: Spider error: naïve 日本
Traceback (most recent call last):
  File "x.py", line 1
2026-11-02 12:00:04 [a] [b] WARNING: two brackets
`

/** Cuts a log at these byte offsets, but never within a character, like the engine when it follows a log. */
function pieces(text: string, cuts: number[]) {
  const bytes = Buffer.from(text)
  const whole = cuts
    .map((cut) => cut % (bytes.length + 1))
    .filter((cut) => cut === bytes.length || (bytes[cut]! & 0xc0) !== 0x80)
  const edges = [0, ...whole.sort((one, other) => one - other), bytes.length]
  return edges.slice(1).map((end, index) => ({
    offset: edges[index]!,
    nextOffset: end,
    sizeBytes: bytes.length,
    text: bytes.subarray(edges[index], end).toString(),
    complete: index === edges.length - 2
  }))
}

const readAll = (text: string, cuts: number[]) => {
  const read = createLineReader()
  return pieces(text, cuts).flatMap((piece) => read(piece))
}

describe('log lines', () => {
  it('have the time, level and logger of their record, continuation lines included', () => {
    const lines = readAll(LOG, []).map(({ time, level, logger, message, continued }) => [
      time,
      level,
      logger,
      message,
      continued
    ])
    expect(lines).toEqual([
      [null, null, null, 'Unhandled before the first record', true],
      ['2026-11-02T12:00:02', 'INFO', 'scrapy.core.engine', 'Spider opened', false],
      ['2026-11-02T12:00:03.250', 'ERROR', 'shop.prices', 'Spider error: naïve 日本', false],
      ['2026-11-02T12:00:03.250', 'ERROR', 'shop.prices', 'Traceback (most recent call last):', true],
      ['2026-11-02T12:00:03.250', 'ERROR', 'shop.prices', '  File "x.py", line 1', true],
      ['2026-11-02T12:00:03.250', 'ERROR', 'shop.prices', '2026-11-02 12:00:04 [a] [b] WARNING: two brackets', true]
    ])
  })

  it('have any format of the log, which the job knows or the lines show', () => {
    const json = `{"asctime": "2026-11-02 12:00:02", "levelname": "INFO", "name": "scrapy.core.engine", "message": "Spider opened"}
{"asctime": "2026-11-02 12:00:03", "levelname": "ERROR", "name": "shop", "message": "no \\"price\\""}
Traceback
`
    expect(readAll(json, []).map(({ time, level, logger, message }) => [time, level, logger, message])).toEqual([
      ['2026-11-02T12:00:02', 'INFO', 'scrapy.core.engine', 'Spider opened'],
      ['2026-11-02T12:00:03', 'ERROR', 'shop', 'no "price"'],
      ['2026-11-02T12:00:03', 'ERROR', 'shop', 'Traceback']
    ])
    const format = { kind: 'pattern' as const, parts: [{ part: 'level' as const, case: 'lower' as const }] }
    const piece = { offset: 50, nextOffset: 64, sizeBytes: 64, text: 'error no price', complete: true, format }
    expect(createLineReader()(piece)).toMatchObject([
      { time: null, level: 'ERROR', logger: null, message: ' no price', continued: false }
    ])
  })

  it('do not depend on how the log was split, and each has the offset after it', () => {
    const whole = readAll(LOG, [])
    const bytes = Buffer.from(LOG)
    for (const { message, nextOffset } of whole) {
      expect(bytes.subarray(0, nextOffset).toString().endsWith(`${message}\n`)).toBe(true)
    }
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 2_000 }), { maxLength: 12 }), (cuts) => {
        expect(readAll(LOG, cuts)).toEqual(whole)
      })
    )
  })

  it('restart with the log, can lack a final newline, and have a limited length', () => {
    const read = createLineReader()
    const piece = (offset: number, text: string, complete = false) => ({
      offset,
      text,
      complete,
      sizeBytes: 9e6,
      nextOffset: offset + text.length
    })
    expect(read(piece(0, 'half a li'))).toEqual([])
    expect(read(piece(0, 'anew\nrest')).map(({ message }) => message)).toEqual(['anew'])
    expect(read(piece(9, ' of it', true)).map(({ message }) => message)).toEqual(['rest of it'])
    expect(read(piece(15, 'x'.repeat(300_000)))).toHaveLength(1)
  })
})

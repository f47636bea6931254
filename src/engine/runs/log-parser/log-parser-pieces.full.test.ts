import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LoggedError } from './error-record.ts'
import { createLogParser, MAX_ERRORS_WAITING, MAX_LINE } from './log-parser.ts'
import { at, bytesOf, parse, sample } from './testing/parsed-logs.ts'

function parseInPieces(bytes: Uint8Array, cuts: number[]) {
  const parser = createLogParser()
  const errors: LoggedError[] = []
  let from = 0
  for (const cut of [...cuts.map((each) => each % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]) {
    parser.push(bytes.subarray(from, cut))
    errors.push(...parser.takeErrors())
    from = cut
  }
  parser.end()
  return { figures: parser.figures(), errors: [...errors, ...parser.takeErrors()] }
}

describe('in whatever pieces a log arrives', () => {
  const cuts = fc.array(fc.nat(100_000), { maxLength: 12 })
  const logs = [
    ...['killed-2.5', 'good-2.5', 'broken-2.19', 'json-structlog-2.13', 'format-colour-2.13', 'format-bare-2.13'].map(
      sample
    ),
    sample('everything-2.13'),
    sample('format-pipes-2.13')
  ]

  it('the result is the same', () => {
    for (const log of logs) {
      const whole = parse(log)
      fc.assert(
        fc.property(cuts, (each) => void expect(parseInPieces(log, each)).toEqual(whole)),
        { numRuns: 12 }
      )
    }
  })

  it('the result is the same for single bytes', () => {
    for (const log of [sample('killed-2.5'), sample('everything-2.13').subarray(3_000, 9_000)]) {
      expect(
        parseInPieces(
          log,
          Array.from(log, (_, index) => index)
        )
      ).toEqual(parse(log))
    }
  })

  const fragments = fc.constantFrom(
    ...[at('12:00:00', 'ERROR', 'boom'), at('12:00:01', 'DEBUG', 'Scraped from <200 x>'), at('99:99:99', 'INFO', 'x')],
    ...[
      at('12:00:02', 'INFO', 'Dumping Scrapy stats:'),
      "{'finish_reason': 'x',",
      " 'item_scraped_count': 3}\n",
      '\r\n',
      '\n'
    ],
    ...[
      'Traceback (most recent call last):\n',
      '  File "a.py", line 1, in b\n',
      'ValueError: x\n',
      '  + Exception Group Traceback'
    ],
    ...[
      '  | ',
      '    +---- 1 ----\n',
      '\u0000',
      '\u001b[31m',
      '{"level": "error", "message": "',
      '"}\n',
      'é',
      '\ud83d',
      '[',
      '{'
    ],
    ...[
      'INFO:a:Spider opened\n',
      '9999-12-31 23:59:59 [a] INFO: x\n',
      '0001-01-01 00:00:00 [a] WARNING: DeprecationWarning\n'
    ],
    ...[
      at('12:00:03', 'CRITICAL', 'Unhandled error in Deferred:', 'twisted'),
      at('12:00:03', 'CRITICAL', '', 'twisted')
    ],
    ...[at('12:00:04', 'INFO', 'Crawled 7 pages (at 1 pages/min), scraped 3 items (at 1 items/min)'), 'x'.repeat(5_000)]
  )
  const texts = fc.array(fc.oneof({ weight: 4, arbitrary: fragments }, fc.string({ unit: 'binary' })), {
    maxLength: 40
  })

  it('the result is right even if an item starts with an empty line or has Windows line ends', () => {
    for (const item of ["\r\n{'a': 1}\n", "{'a':\r\n 1}\r\n", `${'x'.repeat(700)}\r\n`.repeat(4)]) {
      const bytes = bytesOf(at('12:00:00', 'DEBUG', 'Scraped from <200 x>') + item)
      const everywhere = Array.from(bytes, (_, index) => index)
      expect(parseInPieces(bytes, everywhere)).toEqual(parse(bytes))
    }
  })

  it('the result is the same for any text', () => {
    fc.assert(
      fc.property(texts, cuts, (pieces, each) => {
        const bytes = bytesOf(pieces.join(''))
        expect(parseInPieces(bytes, each)).toEqual(parse(bytes))
      }),
      { numRuns: 150 }
    )
  })

  it('random bytes cause no error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3_000 }), cuts, (bytes, each) => {
        expect(parseInPieces(bytes, each)).toEqual(parse(bytes))
      }),
      { numRuns: 100 }
    )
  })
})

describe('hostile text', () => {
  it.each([
    ['a line without an end', 'x'],
    ['heads without an end', '2026-11-02 12:00:00 ['],
    ['empty lines', '\n'],
    ['NUL bytes', '\u0000'],
    ['colours', '\u001b[31m'],
    ['lines of colours', '\u001b[31m2\u001b[0m\n'],
    ['braces', '{"'],
    ['objects', '{"a":1}\n'],
    ['objects in objects', '{"a":'],
    ['known messages', 'INFO Spider opened '],
    ['known messages in lines', 'a INFO: Spider opened\n'],
    ['headings', 'Traceback (most recent call last):\n'],
    ['spaces', ' '],
    ['digits', '2026-11-02 '],
    ['errors', at('12:00:00', 'ERROR', 'x')],
    [
      'frames',
      `${at('12:00:00', 'ERROR', 'x')}Traceback (most recent call last):\n${'  File "a.py", line 1, in b\n'.repeat(50)}`
    ],
    ['groups', '  + Exception Group Traceback (most recent call last):\n    +---- 1 ----\n'],
    ['stats without an end', at('12:00:00', 'INFO', `Dumping Scrapy stats:\n{'a': 1,\n`)]
  ])('of %s, 4 MB, takes little space, and is read within the time limit of the test', (_name, piece) => {
    // A quadratic pass would take minutes.
    const bytes = bytesOf(piece.repeat(4_000_000 / piece.length))
    const parser = createLogParser()
    for (let from = 0; from < bytes.length; from += 50_000) parser.push(bytes.subarray(from, from + 50_000))
    expect(JSON.stringify(parser.figures()).length).toBeLessThan(33_000)
    expect(parser.takeErrors().length).toBeLessThanOrEqual(MAX_ERRORS_WAITING)
    parser.end()
    expect(JSON.stringify(parser.figures()).length).toBeLessThan(33_000)
  })

  it('facts about a log are limited in size, with hostile text in every part of it', () => {
    const wide = '\u0001é"\\'.repeat(1_000)
    const parser = createLogParser()
    const messages = [
      'Crawled (200) <',
      'Scraped from <',
      'Filtered duplicate request ',
      'Filtered offsite request ',
      'Resuming crawl '
    ]
    let text = messages.map((message) => at('12:00:00', 'DEBUG', message + wide)).join('')
    text +=
      at('12:00:00', 'INFO', `Telnet console listening on ${wide}`) + at('12:00:00', 'INFO', `Closing spider (${wide})`)
    text += at(
      '12:00:00',
      'INFO',
      `Dumping Scrapy stats:\n{${Array.from({ length: 900 }, (_, index) => `'${index}${'é'.repeat(150)}': 1`).join(',\n ')}}`
    )
    for (let minute = 0; minute < 600; minute++)
      text += `2026-11-${String(2 + Math.floor(minute / 60))} 12:${minute % 60}:00 [a] INFO: x\n`
    text += at('12:00:00', 'ERROR', wide)
    for (let index = 0; index < 8; index++) {
      text += `Traceback (most recent call last):\n${`  File "${wide.replaceAll('"', '')}", line 1, in ${'é'.repeat(200)}\n`.repeat(30)}E${index}: ${wide}\n\nDuring handling of the above exception, another exception occurred:\n\n`
    }
    parser.push(bytesOf(text))
    parser.end()
    expect(JSON.stringify(parser.figures()).length).toBeLessThan(33_000)
    for (const error of parser.takeErrors()) expect(JSON.stringify(error).length).toBeLessThan(33_000)
  })

  it('a line longer than any limit counts once, with the head that it starts with', () => {
    const line = at('12:00:00', 'ERROR', 'x'.repeat(3 * MAX_LINE))
    const { figures, errors } = parse(line + at('12:00:01', 'INFO', 'after'))
    expect(figures).toMatchObject({ lines: 2, records: { ERROR: 1, INFO: 1 } })
    expect(errors[0]?.message.length).toBeLessThanOrEqual(1_000)
  })

  it('errors that are not collected are counted', () => {
    const { figures, errors } = parse(at('12:00:00', 'ERROR', 'x').repeat(MAX_ERRORS_WAITING + 7))
    expect([errors.length, figures.errorsDropped, figures.records.ERROR]).toEqual([100, 7, 107])
  })
})

import { describe, expect, it } from 'vitest'
import { type LoggedError, mainException, MAX_ERROR_LINE, readErrorLine, startError } from './error-record.ts'
import { createLogParser } from './log-parser.ts'

function read(text: string): LoggedError {
  const [first = '', ...lines] = text.split('\n')
  const draft = startError({ offset: 0, line: 1, atMs: null, level: 'ERROR', logger: 'shop' }, first)
  for (const line of lines) readErrorLine(draft, line.slice(0, MAX_ERROR_LINE))
  return draft.error
}

const brief = ({ exceptions }: LoggedError) =>
  exceptions.map(({ type, value, frames }) => `${type}: ${value} (${frames.map(({ name }) => name).join(' ')})`)

const GROUP = `  + Exception Group Traceback (most recent call last):
  |   File "/srv/shop/a.py", line 13, in <module>
  |     group()
  |     ~~~~~^^
  |   File "/srv/shop/a.py", line 12, in group
  |     raise ExceptionGroup('outer', errs)
  | ExceptionGroup: outer (3 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/srv/shop/a.py", line 7, in first
    | ValueError: bad 0
    +---------------- 2 ----------------
    | TypeError: 2
    +---------------- 3 ----------------
    | Exception Group Traceback (most recent call last):
    |   File "/srv/shop/a.py", line 10, in inner
    | ExceptionGroup: inner (1 sub-exception)
    +-+---------------- 1 ----------------
      | KeyError: 'x'
      +------------------------------------`

describe('an error', () => {
  it('without a traceback is its message, even with several lines', () => {
    expect(read('No price\nin this\n\npage')).toMatchObject({ message: 'No price\nin this\npage', exceptions: [] })
  })

  it('has the frames of its traceback, without source and markers', () => {
    const error = read(`Spider error processing <GET http://a>
Traceback (most recent call last):
  File "/srv/shop/a.py", line 71, in parse
    price = clean(text)
            ^^^^^^^^^^^
  File "/srv/shop/a.py", line 28, in clean
    return int(value)
  [Previous line repeated 996 more times]
ValueError: invalid literal: 'zwölf'
with a second line`)
    expect(error.message).toBe('Spider error processing <GET http://a>')
    expect(brief(error)).toEqual(["ValueError: invalid literal: 'zwölf'\nwith a second line (parse clean)"])
  })

  it('with a chain has all of its exceptions, the last raised last', () => {
    const error = read(`x
Traceback (most recent call last):
  File "a.py", line 1, in a
KeyError: 1

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "b.py", line 1, in b
shop.errors.PriceError

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "c.py", line 1, in c
RuntimeError: after`)
    expect(brief(error)).toEqual(['KeyError: 1 (a)', 'shop.errors.PriceError:  (b)', 'RuntimeError: after (c)'])
    expect(mainException(error)?.type).toBe('RuntimeError')
  })

  it('with an exception group has the group and its members', () => {
    const error = read(`failed\n${GROUP}`)
    expect(brief(error)).toEqual([
      'ExceptionGroup: outer (3 sub-exceptions) (<module> group)',
      'ValueError: bad 0 (first)',
      'TypeError: 2 ()',
      "KeyError: 'x' ()"
    ])
    expect(mainException(error)?.type).toBe('ValueError')
  })

  it('raised from an exception group stands alone, without text after the group', () => {
    const text = `failed\n${GROUP}\nprinted\n\nThe above exception was the direct cause of the following exception:\n
Traceback (most recent call last):\n  File "d.py", line 1, in d\nRuntimeError: after`
    expect(mainException(read(text))).toMatchObject({ type: 'RuntimeError', value: 'after', frames: [{ name: 'd' }] })
  })

  it.each([
    [
      'Error downloading <GET http://a>: [<twisted.python.failure.Failure twisted.internet.error.ConnectionLost: Connection lost.>]',
      'twisted.internet.error.ConnectionLost: Connection lost. ()'
    ],
    [
      "failed [Failure instance: Traceback: <class 'ValueError'>: bad\n/srv/shop/a.py:12:parse\n/srv/shop/b.py:3:clean\n]",
      'ValueError: bad (parse clean)'
    ],
    [
      "x [Failure instance: Traceback (failure with no frames): <class 'twisted.internet.error.ConnectionDone'>: done\n]",
      'twisted.internet.error.ConnectionDone: done ()'
    ],
    [
      'failed: Traceback (most recent call last):\n  File "a.py", line 34, in a\n    \nbuiltins.ZeroDivisionError: division by zero\n',
      'builtins.ZeroDivisionError: division by zero (a)'
    ],
    [
      "Unhandled Error\nTraceback (most recent call last):\nFailure: builtins.KeyError: 'k'\n",
      "builtins.KeyError: 'k' ()"
    ],
    [
      'x\nTraceback (most recent call last):\n  File "a.py", line 1, in a\n--- <exception caught here> ---\n  File "b.py", line 2, in b\nexceptions.ValueError: y',
      'exceptions.ValueError: y (a b)'
    ],
    [
      'x\nTraceback (most recent call last):\n  File "<string>", line 1\n    1 +\n      ^\nSyntaxError: invalid syntax',
      'SyntaxError: invalid syntax (<module>)'
    ]
  ])('of Twisted and others, %j, is %s', (text, expected) => expect(brief(read(text))).toEqual([expected]))

  it('that Twisted logs as two records is one', () => {
    const log = `2026-11-02 12:00:00 [twisted] CRITICAL: Unhandled error in Deferred:
2026-11-02 12:00:00 [twisted] CRITICAL:${' '}
Traceback (most recent call last):
  File "/srv/shop/a.py", line 1, in parse
KeyError: 1
2026-11-02 12:00:01 [shop] CRITICAL:${' '}
`
    const parser = createLogParser()
    parser.push(new TextEncoder().encode(log))
    parser.end()
    expect(parser.takeErrors()).toMatchObject([
      {
        line: 1,
        message: 'Unhandled error in Deferred:',
        exceptions: [{ type: 'KeyError', frames: [{ name: 'parse' }] }]
      },
      { line: 6, message: '', exceptions: [] }
    ])
    expect(parser.figures().records.CRITICAL).toBe(3)
  })

  it('that Twisted logs as two records without a traceback has its exception', () => {
    const log = `2026-11-02 12:00:00 [twisted] CRITICAL: Unhandled error in Deferred:
2026-11-02 12:00:00 [twisted] CRITICAL:${' '}
builtins.ValueError: no price
2026-11-02 12:00:00 [twisted] CRITICAL: Unhandled error in Deferred:
2026-11-02 12:00:00 [twisted] CRITICAL:${' '}

KeyError
`
    const parser = createLogParser()
    parser.push(new TextEncoder().encode(log))
    parser.end()
    expect(parser.takeErrors()).toMatchObject([
      { line: 1, exceptions: [{ type: 'builtins.ValueError', value: 'no price' }] },
      { line: 4, exceptions: [{ type: 'KeyError', value: '' }] }
    ])
  })

  it('is limited in size, and keeps the frames of the project and the last exceptions', () => {
    const library = (index: number) =>
      `  File "/srv/lib/python3.11/site-packages/a/b.py", line ${index}, in library${index}\n`
    const traceback = (name: string) =>
      `Traceback (most recent call last):\n  File "/srv/shop/a.py", line 1, in parse\n${Array.from({ length: 200 }, (_, index) => library(index)).join('')}${name}: ${'x'.repeat(5_000)}\n`
    const chained = '\nDuring handling of the above exception, another exception occurred:\n\n'
    const error = read(
      `${'y'.repeat(5_000)}\n${['First', ...Array(20).fill('Other'), 'Last'].map(traceback).join(chained)}`
    )
    expect(JSON.stringify(error).length).toBeLessThan(12_000)
    expect(error.exceptions.map(({ type }) => type)).toEqual(['First', 'Other', 'Other', 'Last'])
    for (const { frames } of error.exceptions) {
      expect([frames[0]?.name, frames.at(-1)?.name]).toEqual(['parse', 'library199'])
    }
  })
})

import { expect, test } from 'vitest'
import { ScrapdeckError } from '../../shared/errors.ts'
import { textOfError } from './error-text.ts'
import { safeJson } from './terminal.ts'

const HOSTILE = 'Node \u001b]0;owned\u0007\u001b[2J\u009b8m\u001b[8meu-1\u202e is gone\r'

test('an error is printed without terminal control sequences', () => {
  expect(textOfError(new Error(HOSTILE), false)).toBe('scrapdeck: Node ]0;owned[2J8meu-1 is gone\n')
  expect(textOfError(new Error('one\ntwo'), false)).toBe('scrapdeck:\n- one\n- two\n')
  expect(textOfError('', false)).toBe('')
  const traceback = 'It cannot be imported:\nTraceback:\n  File "a.py"\nKeyError'
  expect(textOfError(new Error(traceback), false)).toBe(`scrapdeck: ${traceback}\n`)
})

test('as JSON an error has the same value, escaped so that a terminal displays it safely', () => {
  const text = textOfError(new ScrapdeckError('NODE_REFUSED', HOSTILE, { data: { name: '\u009b2J' } }), true)
  expect(text).not.toMatch(/[^\n\x20-\x7e]/)
  expect(JSON.parse(text)).toEqual({ error: { message: HOSTILE, code: 'NODE_REFUSED', data: { name: '\u009b2J' } } })
  expect(safeJson({ a: 'é漢🕷' })).toBe('{"a":"é漢🕷"}')
})

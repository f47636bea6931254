import fc from 'fast-check'
import { expect, test } from 'vitest'
import { classifyRefusal, needsProject, storedNothing } from './refusals.ts'

const traceback = (last: string) =>
  `Traceback (most recent call last):\n  File "runner.py", line 9, in <module>\n    main()\n${last}\n`

test.each([
  // 1.5+
  ["project 'shop' not found", 'unknown_project'],
  ["version '1.0' not found", 'unknown_version'],
  ["spider 'prices' not found", 'unknown_spider'],
  ['egg is not a ZIP file (if using curl, use egg=@path not egg=path)', 'bad_egg'],
  [`RunnerError: ${traceback('scrapyd.exceptions.BadEggError')}`, 'bad_egg'],
  [`RunnerError: ${traceback("AttributeError: 'NoneType' object has no attribute 'module_name'")}`, 'bad_egg'],
  [`RunnerError: ${traceback("ModuleNotFoundError: No module named 'pandas'")}`, 'import_failed'],
  ["'project' parameter is required", 'other'],
  ['DirectoryTraversalError: ../p', 'unrunnable'],
  // ≤1.4
  [
    'Scrapy 2.7.1 - no active project\n\nUnknown command: list\n\nUse "scrapy" to see available commands\n',
    'unknown_project'
  ],
  ["'shop'", 'unknown_project'],
  ["[Errno 2] No such file or directory: 'eggs/shop'", 'unknown_project'],
  ["[Errno 2] No such file or directory: 'eggs/shop/1.egg'", 'unknown_version'],
  [traceback("FileNotFoundError: [Errno 2] No such file or directory: 'eggs/shop/1.egg'"), 'unknown_version'],
  [traceback("FileNotFoundError: [Errno 2] No such file or directory: 'data.csv'"), 'import_failed'],
  [traceback("TypeError: 'tuple' object is not an iterator"), 'bad_egg'],
  [traceback('ValueError: Unknown or corrupt egg'), 'bad_egg'],
  ["'project'", 'other'],
  ["b'egg'", 'other'],
  // The process that imported the project exited or was killed without output.
  ['', 'import_failed'],
  ['RunnerError: ', 'import_failed'],
  ["priority is invalid: could not convert string to float: b'x'", 'other'],
  ['ProcessExitedAlready: ', 'process_ended'],
  ['ProcessLookupError: it has ended', 'process_ended']
])('%j means %s', (message, kind) => {
  expect(classifyRefusal(message)).toBe(kind)
})

test('an empty message means that there is no process only in response to a signal', () => {
  expect([classifyRefusal('', 'cancel.json'), classifyRefusal('', 'schedule.json')]).toEqual([
    'process_ended',
    'import_failed'
  ])
})

test('any text is classified, and long ones quickly', () => {
  fc.assert(fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (text) => classifyRefusal(text) !== undefined))
  const begun = performance.now()
  for (const piece of ["[Errno 2] No such file or directory: '", 'Scrapy ', "'", '\n', "spider '"]) {
    classifyRefusal(piece.repeat(16_000 / piece.length))
  }
  expect(performance.now() - begun).toBeLessThan(500)
})

test('only a refusal before the egg was stored needs no clean-up', () => {
  expect(storedNothing('egg is not a ZIP file (if using curl, use egg=@path not egg=path)')).toBe(true)
  expect(storedNothing('DirectoryTraversalError: ../p')).toBe(true)
  expect(storedNothing(traceback('ValueError: Unknown or corrupt egg'))).toBe(false)
  expect(storedNothing('')).toBe(false)
})

test('only 1.2 requires a project', () => {
  expect(needsProject("'project'")).toBe(true)
  expect(needsProject("project 'project' not found")).toBe(false)
})

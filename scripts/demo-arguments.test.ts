import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { readDemoArguments } from './setup/demo-arguments.mjs'

test('the demo takes a port and --exit', () => {
  expect(readDemoArguments([])).toEqual({ port: 6800, exit: false, help: false })
  expect(readDemoArguments(['--exit', '--port', '7900'])).toEqual({ port: 7900, exit: true, help: false })
  expect(readDemoArguments(['--port=7900', '-h'])).toMatchObject({ port: 7900, help: true })
})

test.each([
  [['7900'], 'The demo takes only options, not "7900". For a port: --port 7900'],
  [['now'], 'The demo takes only options, not "now".'],
  [['--port', 'abc'], '--port takes a number from 1 to 65532, not "abc".'],
  [['--port', '65533'], '--port takes a number from 1 to 65532, not "65533".'],
  [['--port', '0'], '--port takes a number from 1 to 65532, not "0".'],
  [['--port'], "Option '--port <value>' argument missing."],
  [['--fast'], "Unknown option '--fast'."]
])('%j is refused: %s', (words, problem) => {
  expect(readDemoArguments(words)).toEqual({ problem })
})

test('a refused argument ends the demo at once, with its usage and without a stack trace', () => {
  const demo = (...words: string[]) =>
    spawnSync(process.execPath, [`${import.meta.dirname}/demo.mjs`, ...words], { encoding: 'utf8' })
  const { status, stdout, stderr } = demo('7900')
  expect([status, stdout]).toEqual([2, ''])
  expect(stderr).toMatch(
    /^The demo takes only options, not "7900"\. For a port: --port 7900\n\nnpm run demo -- \[--port N\]/
  )
  expect(stderr).not.toMatch(/\n\s+at /)
  expect(demo('--help')).toMatchObject({ status: 0, stderr: '', stdout: expect.stringContaining('--exit') })
})

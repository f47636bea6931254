import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

const bench = (...args: string[]) =>
  spawnSync(process.execPath, [`${import.meta.dirname}/run.ts`, ...args], { encoding: 'utf8' })

test('without a name it lists the benches, each with a description', () => {
  const lines = bench().stdout.trimEnd().split('\n')
  expect(lines.map((line) => line.split(/\s+/)[0])).toContain('first-dispatch')
  for (const line of lines) expect(line).toMatch(/^\S+\s+\S.{15,}$/)
})

test('an unknown name is refused with a list of the known ones', () => {
  const { status, stderr } = bench('nothing')
  expect(status).toBe(1)
  expect(stderr).toMatch(/^There is no bench nothing\. There are: .*\bfirst-dispatch\b/)
})

test.each([
  [[], /^Usage: npm run bench -- http --url URL/],
  [['--url', 'http://127.0.0.1:2', '--endpoint', 'zork'], /^There is no endpoint "zork"\. There are: daemonstatus/],
  [['--url', 'http://127.0.0.1:2', '--zork'], /^Unknown option '--zork'/],
  [['--url', 'http://127.0.0.1:2'], /^http:\/\/127\.0\.0\.1:2\/ does not answer \(.*ECONNREFUSED/]
])('http %j says what is wrong, without a stack', (words, said) => {
  const { status, stderr, stdout } = bench('http', ...words)
  expect([status, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(said)
  expect(stderr).not.toContain('    at ')
})

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

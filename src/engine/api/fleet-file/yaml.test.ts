import { readFileSync } from 'node:fs'
import { describe, expect, test, vi } from 'vitest'
import { isScrapdeckError } from '../../../shared/errors.ts'
import { readFleetFile } from './yaml.ts'

function problemOf(text: string): string {
  try {
    readFleetFile(text)
  } catch (error) {
    if (isScrapdeckError(error, 'FLEET_FILE_INVALID')) return error.message
    throw error
  }
  throw new Error('it was read')
}

describe('reading a fleet file', () => {
  test('the example of docs/fleet-file.md is valid', () => {
    const page = readFileSync(new URL('../../../../docs/fleet-file.md', import.meta.url), 'utf8')
    const example = /```yaml\n(.*?)```/s.exec(page)?.[1] ?? ''
    expect(Object.keys(readFleetFile(example))).toHaveLength(10)
  })

  test('names the line, the field and what is wrong with it', () => {
    expect(problemOf('version: 1\nnodes:\n  - name: a\n    slotz: 3\n')).toContain(
      'line 3: nodes[0] has no field "slotz"'
    )
    expect(problemOf('version: 2')).toContain('line 1: version must be 1')
    expect(
      problemOf(
        'version: 1\nschedules:\n  - name: x\n    zone: UTC\n    jobs: [{ project: p, spiders: [s] }]\n    rules:\n      - cron: 5\n'
      )
    ).toContain('line 7: schedules[0].rules[0] is not one of { cron: EXPRESSION }')
    expect(problemOf('version: 1\nnodes: [\n')).toContain('line 3')
    expect(problemOf('version: 1\nversion: 1\n')).toContain('line 2: Map keys must be unique')
    expect(problemOf('')).toContain('the file')
  })

  test('a time without an offset is refused, not guessed', () => {
    const once = (text: string) =>
      `version: 1\nschedules: [{ name: x, zone: UTC, jobs: [{ project: p, spiders: [s] }], rules: [{ cron: '* * * * *' }], start: ${text} }]`
    expect(problemOf(once('2026-01-01T00:00:00'))).toContain('is not a time with an offset')
    expect(readFleetFile(once('2026-01-01T00:00:00+01:00')).schedules?.[0]?.start).toBe('2025-12-31T23:00:00Z')
  })

  test('malicious files are refused', () => {
    expect(problemOf('['.repeat(50_000))).toContain('nested too deeply')
    const bomb = [
      'a: &a [1,1,1,1,1,1,1,1,1]',
      ...'bcdefg'.split('').map((name, index) => `${name}: &${name} [${`*${'abcdefg'[index]},`.repeat(9)}1]`)
    ]
    expect(problemOf(bomb.join('\n'))).toContain('alias')
    expect(problemOf('version: 1\nnodes: [{ name: a, __proto__: { kind: local } }]')).toContain('__proto__')
    expect(problemOf('version: 1\nprojects: [{ name: !!js/function x }]')).toContain('line 2')
  })

  test('a repeated key is found without comparing each key with all others', () => {
    const keys = Array.from({ length: 3_000 }, (_, index) => `  k${index}: 1`)
    const isEqual = vi.spyOn(Array.prototype, 'some')
    expect(problemOf(['version: 1', 'a:', ...keys].join('\n'))).toContain('has no field "a"')
    expect(isEqual.mock.calls.length).toBeLessThan(1_000)
    isEqual.mockRestore()
    expect(problemOf(['a:', ...keys, '  k7: 2'].join('\n'))).toContain('line 3002: Map keys must be unique; "k7"')
  })

  test('refusals are short', () => {
    const keys = Array.from({ length: 1_000 }, (_, index) => `${'k'.repeat(500)}${index}: 1`)
    expect(problemOf(['version: 1', ...keys].join('\n')).length).toBeLessThan(1_000)
    const row = `[${'x,'.repeat(20_000)}x]`
    expect(problemOf(`a: &a ${row}\nb: [${'*a,'.repeat(900)}1]`)).toContain('when its aliases are replaced')
  })
})

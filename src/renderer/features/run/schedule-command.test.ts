import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { scheduleCommand } from './schedule-command.ts'

const door = { address: 'http://127.0.0.1:6800/', username: 'scrapdeck' }

it('writes everything that schedule.json takes', () => {
  const run = {
    project: 'shop',
    version: 'v1',
    spiders: ['a'],
    priority: 5,
    settings: { LOG_LEVEL: 'INFO' },
    args: { category: 'laptops' }
  }
  expect(scheduleCommand(run, door)).toBe(
    [
      'curl --user scrapdeck http://127.0.0.1:6800/schedule.json \\',
      '  --data-urlencode project=shop \\',
      '  --data-urlencode spider=a \\',
      '  --data-urlencode _version=v1 \\',
      '  --data-urlencode priority=5 \\',
      '  --data-urlencode setting=LOG_LEVEL=INFO \\',
      '  --data-urlencode category=laptops'
    ].join('\n')
  )
})

it('is one call for each spider', () => {
  expect(scheduleCommand({ project: 'shop', spiders: ['a', 'b'] }, door).match(/^curl /gm)).toHaveLength(2)
})

it('quotes what a shell would read as its own', () => {
  const value = `it's $(id) \`id\` "x" & ; é`
  const command = scheduleCommand({ project: 'shop', spiders: ['a'], args: { q: value } }, door)
  const printed = execFileSync('sh', ['-c', command.replace(/^curl/, `printf '%s\\n'`)], { encoding: 'utf8' })
  expect(printed.trimEnd().split('\n').at(-1)).toBe(`q=${value}`)
})

it('leaves secrets out', () => {
  const run = { project: 'shop', spiders: ['a'], args: { token: 'hush', page: '2' }, secretNames: ['token'] }
  expect(scheduleCommand(run, door)).toContain('token=SECRET')
  expect(scheduleCommand(run, door)).not.toContain('hush')
})

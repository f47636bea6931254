import { RunTemplate, ScheduleSettings } from '../../../shared/contract/index.ts'
import { aJobId, aProjectName, aVersionName } from '../../../shared/testing/ids.ts'
import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { beyondSchedule, cronCommand, runCommand } from './schedule-command.ts'

const SHOP = aProjectName('shop')

const door = { address: 'http://127.0.0.1:6800/', username: 'scrapdeck' }

it('writes everything that schedule.json accepts', () => {
  const run = {
    project: SHOP,
    version: aVersionName('v1'),
    spiders: ['a'],
    priority: 5,
    settings: { LOG_LEVEL: 'INFO' },
    args: { category: 'laptops' }
  }
  expect(runCommand(run, door).command).toBe(
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
  expect(
    runCommand({ project: aProjectName('shop'), spiders: ['a', 'b'] }, door).command.match(/^curl /gm)
  ).toHaveLength(2)
})

it('quotes characters that a shell would interpret', () => {
  const value = `it's $(id) \`id\` "x" & ; é`
  const { command } = runCommand({ project: aProjectName('shop'), spiders: ['a'], args: { q: value } }, door)
  const printed = execFileSync('sh', ['-c', command.replace(/^curl/, `printf '%s\\n'`)], { encoding: 'utf8' })
  expect(printed.trimEnd().split('\n').at(-1)).toBe(`q=${value}`)
})

it('leaves out secrets', () => {
  const run = {
    project: aProjectName('shop'),
    spiders: ['a'],
    args: { token: 'hush', page: '2' },
    secretNames: ['token']
  }
  expect(runCommand(run, door).command).toContain('"token": "SECRET"')
  expect(runCommand(run, door).command).not.toContain('hush')
})

it('leaves out the secrets of a schedule too, wherever its jobs get their values', () => {
  const job = RunTemplate.parse({
    project: 'shop',
    spiders: ['a'],
    argSets: [{ token: 'hush-1' }],
    matrix: { key: ['hush-2', 'hush-3'] },
    secretNames: ['token', 'key']
  })
  const rules = [{ kind: 'cron', expression: '0 3 * * *' }]
  const command = cronCommand(ScheduleSettings.parse({ name: 'night', zone: 'UTC', rules, jobs: [job] }), door)
  expect(command).not.toContain('hush')
})

it('calls our own API if schedule.json cannot express it, with everything requested but no secrets', () => {
  const run = {
    project: SHOP,
    spiders: ['a', 'b'],
    args: { token: 'hush' },
    secretNames: ['token'],
    tags: ['eu|us', '!slow'],
    notBeforeMs: 1_795_000_000_000,
    after: [{ jobId: aJobId('f'.repeat(32)), on: 'succeeded' as const }],
    priority: 0,
    nodeId: null
  }
  expect(beyondSchedule(run)).toEqual(['placement', 'secret values', 'a start time', 'dependencies'])
  const { command, isSchedule } = runCommand(run, door)
  expect(isSchedule).toBe(false)
  const printed = execFileSync('sh', ['-c', command.replace(/^curl/, `printf '%s\\n'`)], { encoding: 'utf8' })
  expect(printed).toContain('http://127.0.0.1:6800/api/v1/jobs')
  const body = JSON.parse(printed.slice(printed.indexOf('{'))) as object
  expect(body).toEqual({ ...run, args: { token: 'SECRET' }, priority: undefined, nodeId: undefined })
})

it('keeps calling schedule.json while that can express everything', () => {
  expect(runCommand({ project: SHOP, spiders: ['a'], nodeId: null, tags: [], limits: null }, door).isSchedule).toBe(
    true
  )
})

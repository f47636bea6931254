import { expect, test } from 'vitest'
import { aProjectName } from '../../../../shared/testing/ids.ts'
import type { LaunchPlan } from '../runs/launch-plan.ts'
import { isolate, sandboxArguments, type Ways } from './isolation-plan.ts'

const DATA = '/srv/data'
const LOCAL = `${DATA}/local`
const launch: LaunchPlan = {
  id: 'j1',
  python: '/opt/env/bin/python',
  project: aProjectName('shop'),
  spider: 'prices',
  arguments: [],
  source: { egg: `${LOCAL}/egg-files/x.egg` },
  environment: { GIVEN: '1' },
  secrets: [],
  resourceLimits: null,
  workingDirectory: `${LOCAL}/work/shop`,
  logFile: `${LOCAL}/logs/shop/prices/j1.log`,
  directories: []
}

function plan(ways: Ways, user: number | null, over: Partial<LaunchPlan> = {}) {
  return isolate(
    { ...launch, ...over },
    {
      ways,
      user,
      runDirectory: `${LOCAL}/runs/j1`,
      dataDirectory: DATA,
      readable: ['/opt/env'],
      directories: {
        logsDirectory: `${LOCAL}/logs`,
        itemsDirectory: `${LOCAL}/items`,
        jobsDirectory: null,
        workDirectory: `${LOCAL}/work`
      }
    }
  )
}

function mountsOf(args: readonly string[]): string[] {
  return args.flatMap((word, at) => (/^--(ro-bind|bind|tmpfs)$/.test(word) ? [`${word.slice(2)} ${args[at + 1]}`] : []))
}

test('a sandbox contains nothing of the data directory except the code of the run, its files and its folder', () => {
  const { isolation } = plan({ group: null, sandbox: { bwrap: '/usr/bin/bwrap', proc: ['--proc', '/proc'] } }, null)
  const shown = mountsOf(isolation!.sandbox!).filter((mount) => mount.includes(DATA))
  expect(shown).toEqual([
    `bind ${LOCAL}/runs/j1/tmp`,
    `tmpfs ${DATA}`,
    `ro-bind ${LOCAL}/egg-files/x.egg`,
    `bind ${LOCAL}/work/shop`,
    `bind ${LOCAL}/logs/shop/prices/j1.log`,
    `bind ${LOCAL}/items/shop/prices/j1.jl`
  ])
})

test('a Python above the data directory does not make it visible', () => {
  const view = { hidden: DATA, readable: ['/srv'], writable: [], temporary: null }
  const mounts = mountsOf(sandboxArguments([], view))
  expect(mounts.indexOf('ro-bind /srv')).toBeGreaterThan(-1)
  expect(mounts.indexOf(`tmpfs ${DATA}`)).toBeGreaterThan(mounts.indexOf('ro-bind /srv'))
})

test('a user owns its files and its folder, but no directory above them, and reads a copy of its egg', () => {
  const { isolation, source } = plan({ group: 60_706, sandbox: null }, 60_707)
  expect(isolation).toMatchObject({ user: 60_707, group: 60_706, sandbox: null, temporary: null })
  expect(isolation!.private).toEqual([`${LOCAL}/work/shop`])
  for (const file of isolation!.files) expect(isolation!.private.some((path) => file.startsWith(path))).toBe(false)
  expect(isolation!.passable).toContain(`${LOCAL}/logs/shop`)
  expect(source).toEqual({ egg: `${LOCAL}/runs/j1/code.egg` })
  expect(isolation!.readable).toEqual({ [`${LOCAL}/egg-files/x.egg`]: `${LOCAL}/runs/j1/code.egg` })
})

test('the home directory of a run is its folder, unless the run sets another one', () => {
  const ways: Ways = { group: 60_706, sandbox: null }
  expect(plan(ways, 60_707).environment).toEqual({ HOME: `${LOCAL}/work/shop`, GIVEN: '1' })
  expect(plan(ways, 60_707, { environment: { HOME: '/h' } }).environment).toEqual({ HOME: '/h' })
})

test('a listing has no files', () => {
  expect(plan({ group: 60_706, sandbox: null }, 60_707, { logFile: '' }).isolation).toMatchObject({
    files: [],
    passable: []
  })
})

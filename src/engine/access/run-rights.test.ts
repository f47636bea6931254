import { describe, expect, it } from 'vitest'
import type { Role } from '../../shared/roles.ts'
import { actAs, actorName, asActorMayRun } from './acting.ts'
import { OWNER } from './principal.ts'
import type { ProjectName } from '../../shared/contract/index.ts'
import { builtInRights } from '../testing/built-in-rights.ts'
import { codeIn } from './run-rights.ts'

const project = 'shop' as ProjectName
const as = (role: Role) => ({
  ...OWNER,
  userId: 'a'.repeat(32) as never,
  name: 'anna',
  role,
  rights: builtInRights(role)
})
const attempt = (role: Role, given: Parameters<typeof codeIn>[0]) =>
  actAs(as(role), () => {
    try {
      asActorMayRun({ ...given, project })
      return null
    } catch (error) {
      return (error as { code: string; message: string }).message
    }
  })

describe('an operator', () => {
  it.each([
    ['DOWNLOAD_DELAY', 'CLOSESPIDER_PAGECOUNT', 'USER_AGENT', 'LOG_LEVEL', 'DEPTH_LIMIT', 'AUTOTHROTTLE_ENABLED'],
    []
  ])('may set how much and how fast a run crawls: %s', (...names) => {
    expect(attempt('operator', { settings: Object.fromEntries(names.map((name) => [name, '1'])), env: {} })).toBeNull()
  })

  it.each([
    ...[
      'TELNETCONSOLE_PASSWORD',
      'EXTENSIONS',
      'ADDONS',
      'ITEM_PIPELINES',
      'SPIDER_MIDDLEWARES',
      'SCHEDULER',
      'JOBDIR'
    ],
    ...['STATS_CLASS', 'FEEDS', 'FILES_STORE', 'HTTPCACHE_DIR', 'LOG_FILE', 'DOWNLOAD_HANDLERS', 'TEMPLATES_DIR'],
    // Setting names are case-sensitive in Scrapy, but plugins may read them differently.
    ...['PLAYWRIGHT_LAUNCH_OPTIONS', 'download_delay', 'DOWNLOAD_DELAY ']
  ])('may not set %s, which could make a run execute other code', (name) => {
    expect(attempt('operator', { settings: { DOWNLOAD_DELAY: '1', [name]: 'x' } })).toBe(
      `The setting ${name} can make a run execute other code, so it needs the permission "choose code in runs" in shop, which the role deployer has but anna does not: ask a deployer to make it a default of the project.`
    )
    expect(attempt('deployer', { settings: { [name]: 'x' } })).toBeNull()
  })

  it('may set no environment variable at all', () => {
    expect(attempt('operator', { env: { PYTHONWARNINGS: 'x' } })).toMatch(/^The environment variable PYTHONWARNINGS /)
    expect(attempt('admin', { env: { PYTHONWARNINGS: 'x' } })).toBeNull()
  })
})

it('a run without a user is not refused, and is attributed to no user', () => {
  expect(() => asActorMayRun({ project, env: { A: '1' } })).not.toThrow()
  expect([actorName(), actAs(OWNER, actorName), actAs(as('viewer'), actorName)]).toEqual([null, null, 'anna'])
  expect(actAs(as('viewer'), () => actAs(null, actorName))).toBeNull()
})

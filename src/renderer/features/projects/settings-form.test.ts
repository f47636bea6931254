import { expect, it } from 'vitest'
import { DEFAULT_PROJECT_SETTINGS, type ProjectSettings } from '../../../shared/contract/index.ts'
import { readSettings, requirementCount, startSettings } from './settings-form.ts'

const limits = { wallSeconds: 1800, memoryMegabytes: 512 }

it.each<ProjectSettings>([
  DEFAULT_PROJECT_SETTINGS,
  {
    ...DEFAULT_PROJECT_SETTINGS,
    weight: 2.5,
    paused: true,
    noOverlap: true,
    distribution: 'at_once',
    retry: { attempts: 3, backoffSeconds: 10, backoffFactor: 1, backoffMaxSeconds: 60, on: ['lost'] }
  },
  { ...DEFAULT_PROJECT_SETTINGS, python: { kind: 'interpreter', path: '/opt/venv/bin/python' }, limits },
  { ...DEFAULT_PROJECT_SETTINGS, python: { kind: 'requirements', text: 'scrapy==2.13.3\nlxml\n' }, limits }
])('gives back what it was begun with: %j', (settings) => {
  expect(readSettings(startSettings(settings))).toEqual({ settings })
})

it.each([
  ['Name the interpreter', { kind: 'interpreter', path: ' ' }],
  ['Give the whole path, from / or a drive', { kind: 'interpreter', path: 'venv/bin/python' }],
  ['Name at least one package', { kind: 'requirements', requirements: '# nothing\n--index-url https://x\n\n' }]
] as const)('says %j', (missing, patch) => {
  const form = startSettings(DEFAULT_PROJECT_SETTINGS)
  expect(readSettings({ ...form, ...patch })).toEqual({ missing })
})

it('takes a path of Windows, and says which limit is wrong', () => {
  const python = { kind: 'interpreter', path: 'C:\\Python\\python.exe' } as const
  const form = startSettings({ ...DEFAULT_PROJECT_SETTINGS, python, limits })
  expect(readSettings(form)).toMatchObject({ settings: { limits } })
  expect(readSettings({ ...form, limits: { ...form.limits, cpuSeconds: '7' } })).toEqual({
    missing: 'CPU time: 7 what? 7 s or 7 min'
  })
})

it.each([
  [{ weight: '' }, 'The weight is a number from 0.01 to 100'],
  [{ weight: '0' }, 'The weight is a number from 0.01 to 100'],
  [{ weight: '101' }, 'The weight is a number from 0.01 to 100']
])('says what is wrong with %j', (patch, missing) => {
  expect(readSettings({ ...startSettings(DEFAULT_PROJECT_SETTINGS), ...patch })).toEqual({ missing })
})

it('counts packages, not comments or options', () => {
  expect(requirementCount('scrapy\r\n# a comment\n  lxml>=5\n--pre\n\n')).toBe(2)
})

import { expect, it } from 'vitest'
import { DEFAULT_PROJECT_SETTINGS, type ProjectSettings, type VersionName } from '../../../shared/contract/index.ts'
import { problemsOf } from '../../ui/fields/form-of-schema.ts'
import { requirementCount, SettingsForm, startSettings } from './settings-form.ts'

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
  {
    ...DEFAULT_PROJECT_SETTINGS,
    pinnedVersion: '1.0' as VersionName,
    python: { kind: 'interpreter', path: '/opt/venv/bin/python' },
    limits
  },
  {
    ...DEFAULT_PROJECT_SETTINGS,
    limits: { noProgressSeconds: 900, maxErrors: 1_000, maxBanPercent: 50 },
    outcome: { maxErrors: 0, minItems: 5, finishReasons: ['finished', 'catalogue_done'] },
    expectations: false
  },
  { ...DEFAULT_PROJECT_SETTINGS, outcome: { requireResponse: true, minItems: 5 } },
  { ...DEFAULT_PROJECT_SETTINGS, outcome: null },
  { ...DEFAULT_PROJECT_SETTINGS, python: { kind: 'requirements', text: 'scrapy==2.13.3\nlxml\n' }, limits }
])('returns its initial values: %j', (settings) => {
  const { defaults: _defaults, spiderDefaults: _spiders, spiderOutcomes: _rules, ...shown } = settings
  expect(SettingsForm.parse(startSettings(settings))).toEqual(shown)
})

const begun = startSettings(DEFAULT_PROJECT_SETTINGS)
const problem = (patch: object) => [...problemsOf(SettingsForm.safeParse({ ...begun, ...patch }))]

it.each([
  [{ python: { kind: 'interpreter', path: ' ' } }, 'python.path', 'Enter a path'],
  [{ python: { kind: 'interpreter', path: 'venv/bin/python' } }, 'python.path', 'Enter an absolute path'],
  [
    { python: { kind: 'requirements', text: '# nothing\n--index-url https://x\n\n' } },
    'python.text',
    'Enter at least one package'
  ],
  [{ limits: { ...begun.limits, cpuSeconds: '7' } }, 'limits.cpuSeconds', 'Add a unit: 7 s or 7 min'],
  [
    { limits: { ...begun.limits, maxBanPercent: '120 %' } },
    'limits.maxBanPercent',
    'Enter 1 % to 99 %, or leave it empty for no limit'
  ],
  [{ outcome: { ...begun.outcome, minItems: '-1' } }, 'outcome.minItems', 'At least 0'],
  [{ weight: '' }, 'weight', 'Enter a number'],
  [{ weight: '0' }, 'weight', 'At least 0.01'],
  [{ weight: '101' }, 'weight', 'Up to 100']
])('shows at the field what is wrong with %j', (patch, field, words) => {
  expect(problem(patch)).toEqual([[field, words]])
})

it('accepts a Windows path', () => {
  expect(problem({ python: { kind: 'interpreter', path: 'C:\\Python\\python.exe' } })).toEqual([])
})

it('counts packages, not comments or options', () => {
  expect(requirementCount('scrapy\r\n# a comment\n  lxml>=5\n--pre\n\n')).toBe(2)
})

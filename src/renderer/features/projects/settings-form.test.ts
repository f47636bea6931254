import { expect, it } from 'vitest'
import type { ProjectSettings } from '../../../shared/contract/index.ts'
import { readSettings, requirementCount, startSettings } from './settings-form.ts'

const limits = { wallSeconds: 1800, memoryMegabytes: 512 }

it.each<ProjectSettings>([
  { python: { kind: 'default' }, limits: null },
  { python: { kind: 'interpreter', path: '/opt/venv/bin/python' }, limits },
  { python: { kind: 'requirements', text: 'scrapy==2.13.3\nlxml\n' }, limits }
])('gives back what it was begun with: %j', (settings) => {
  expect(readSettings(startSettings(settings))).toEqual({ settings })
})

it.each([
  ['Name the interpreter', { kind: 'interpreter', path: ' ' }],
  ['Give the whole path, from / or a drive', { kind: 'interpreter', path: 'venv/bin/python' }],
  ['Name at least one package', { kind: 'requirements', requirements: '# nothing\n--index-url https://x\n\n' }]
] as const)('says %j', (missing, patch) => {
  const form = startSettings({ python: { kind: 'default' }, limits: null })
  expect(readSettings({ ...form, ...patch })).toEqual({ missing })
})

it('takes a path of Windows, and says which limit is wrong', () => {
  const form = startSettings({ python: { kind: 'interpreter', path: 'C:\\Python\\python.exe' }, limits })
  expect(readSettings(form)).toMatchObject({ settings: { limits } })
  expect(readSettings({ ...form, limits: { ...form.limits, cpuSeconds: '7' } })).toEqual({
    missing: 'CPU time: 7 what? 7 s or 7 min'
  })
})

it('counts packages, not comments or options', () => {
  expect(requirementCount('scrapy\r\n# a comment\n  lxml>=5\n--pre\n\n')).toBe(2)
})

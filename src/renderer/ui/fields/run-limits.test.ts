import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { RunLimits } from '../../../shared/contract/index.ts'
import { describeRunLimits, formatLimit, LIMITS, runLimitTexts, RunLimitsForm, parseLimit } from './run-limits.ts'

const aLimit = (name: keyof RunLimits) =>
  name === 'maxBanPercent' ? fc.integer({ min: 1, max: 99 }) : fc.integer({ min: 128, max: 1_000_000_000 })
const NAMES = LIMITS.map(({ name }) => name)
const someLimits = fc.record(
  Object.fromEntries(NAMES.map((name) => [name, fc.option(aLimit(name))])) as Record<
    keyof RunLimits,
    fc.Arbitrary<number | null>
  >,
  { requiredKeys: [] }
)

it('parses every limit that it formats', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...NAMES).chain((name) => fc.tuple(fc.constant(name), aLimit(name))),
      ([name, value]) => {
        expect(parseLimit(name, formatLimit(name, value))).toEqual({ value })
      }
    )
  )
})

it('returns its initial limits, without unset ones', () => {
  fc.assert(
    fc.property(someLimits, (limits) => {
      const set = Object.entries(limits).filter(([, value]) => value != null)
      expect(RunLimitsForm.parse(runLimitTexts(limits))).toEqual(set.length === 0 ? null : Object.fromEntries(set))
    })
  )
})

it.each([
  ['wallSeconds', '30 min', 1800],
  ['wallSeconds', '1h30m', 5400],
  ['silentSeconds', ' 90 s ', 90],
  ['cpuSeconds', '1.5 hours', 5400],
  ['wallSeconds', '2 days', 172_800],
  ['memoryMegabytes', '512MB', 512],
  ['memoryMegabytes', '1.5 GiB', 1536],
  ['logMegabytes', '2 g', 2048],
  ['openFiles', '1,024', 1024],
  ['maxBanPercent', '50%', 50],
  ['maxBanPercent', '7', 7],
  ['noProgressSeconds', '15 min', 900],
  ['memoryMegabytes', '', null]
] as const)('parses %s from %j', (name, text, value) => {
  expect(parseLimit(name, text)).toEqual({ value })
})

it.each([
  ['wallSeconds', '30', 'Add a unit: 30 s or 30 min'],
  ['memoryMegabytes', '2', 'Add a unit: 2 MB or 2 GB'],
  ['wallSeconds', 'soon', 'Not understood. Example: 30 min'],
  ['memoryMegabytes', '512 MB!', 'Not understood. Example: 512 MB'],
  ['wallSeconds', '1.2.3 h', 'Not understood. Example: 30 min'],
  ['openFiles', '1.5', 'Enter a whole number, for example 1024'],
  ['wallSeconds', '0 s', 'Too small. Leave it empty for no limit'],
  ['wallSeconds', '90000 days', 'Too large. Leave it empty for no limit']
] as const)('says what is wrong with %s: %j', (name, text, problem) => {
  expect(parseLimit(name, text)).toEqual({ problem })
})

it('refuses less memory than Scrapy needs to start, and names the field', () => {
  const [issue] = RunLimitsForm.safeParse({ ...runLimitTexts(null), memoryMegabytes: '8 MB' }).error!.issues
  expect(issue).toMatchObject({ path: ['memoryMegabytes'], message: expect.stringContaining('at least 16') })
})

it('summarises the limits in one line', () => {
  expect(describeRunLimits({ wallSeconds: 5400, memoryMegabytes: 1536, cpuSeconds: null, openFiles: 2048 })).toBe(
    '1 h 30 min wall time, 1.5 GB memory, 2,048 open files'
  )
  expect(describeRunLimits({ cpuSeconds: 60 })).toBe('1 min CPU time')
  expect(describeRunLimits({})).toBeNull()
})

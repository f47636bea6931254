import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { RunLimits } from './contract/index.ts'
import { effectiveRunLimits, problemOfRunLimits } from './run-limits.ts'

const names = ['wallSeconds', 'memoryMegabytes', 'cpuSeconds', 'openFiles', 'silentSeconds', 'logMegabytes'] as const
const limit = fc.option(fc.integer({ min: 1, max: 1_000_000 }))
const limits = fc.option(
  fc.record(Object.fromEntries(names.map((name) => [name, limit])), { requiredKeys: [] }) as fc.Arbitrary<RunLimits>
)

test('each limit of a job is its own, else its project’s, else none', () => {
  fc.assert(
    fc.property(limits, limits, (ofProject, ofJob) => {
      const effective = effectiveRunLimits(ofProject, ofJob)
      for (const name of names) {
        expect(effective?.[name] ?? null).toBe(ofJob?.[name] ?? ofProject?.[name] ?? null)
      }
      if (effective !== null) expect(Object.values(effective)).not.toEqual([])
    })
  )
})

test('a field that the job leaves unset keeps the project’s limit', () => {
  expect(effectiveRunLimits({ wallSeconds: 60 }, { wallSeconds: null, openFiles: 100 })).toEqual({
    wallSeconds: 60,
    openFiles: 100
  })
  expect(effectiveRunLimits({ wallSeconds: null }, null)).toBeNull()
})

test('limits too low for Scrapy to start are rejected with an explanation', () => {
  expect(problemOfRunLimits({ openFiles: 10 })?.text).toMatch(/open files limit below 64; set at least 64/)
  expect(problemOfRunLimits({ addressSpaceMegabytes: 64 })?.text).toMatch(/address space/)
  expect(problemOfRunLimits({ openFiles: 64, memoryMegabytes: 16, wallSeconds: 1 })).toBeNull()
  expect(problemOfRunLimits(null)).toBeNull()
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { RunLimits } from '../../../../shared/contract/index.ts'
import { findLimitHit, limitOfExit, resourceLimitsOf, type RunFacts } from './run-limits.ts'
import { render } from '../../../../shared/texts/message.ts'

const MEGABYTE = 1024 * 1024
const START_MS = 1_000_000
const NOTHING: RunFacts = {
  startedAtMs: START_MS,
  memoryBytes: null,
  cpuSeconds: null,
  logBytes: null,
  loggedAtMs: null
}

test.each<[RunLimits, Partial<RunFacts>, number, string | null]>([
  [{ wallSeconds: 60 }, {}, 59_999, null],
  [{ wallSeconds: 60 }, {}, 61_500, 'wall time limit of 1 min (ran 1 min 1 s)'],
  [{ memoryMegabytes: 512 }, { memoryBytes: 512 * MEGABYTE }, 1, null],
  [{ memoryMegabytes: 512 }, { memoryBytes: 529.5 * MEGABYTE }, 1, 'memory limit of 512 MB (used 530 MB)'],
  [{ cpuSeconds: 10 }, { cpuSeconds: 9.9 }, 1, null],
  [{ cpuSeconds: 10 }, { cpuSeconds: 11.2 }, 1, 'CPU time limit of 10 s (used 11 s)'],
  [{ logMegabytes: 1 }, { logBytes: MEGABYTE + 1 }, 1, 'log size limit of 1 MB (grew to 2 MB)'],
  [{ silentSeconds: 5 }, {}, 4_999, null],
  [{ silentSeconds: 5 }, {}, 5_000, 'silence limit of 5 s (no new log line for 5 s)'],
  [{ silentSeconds: 5 }, { loggedAtMs: START_MS + 3_000 }, 7_000, null],
  [{ silentSeconds: 5 }, { loggedAtMs: START_MS + 3_000 }, 8_500, 'silence limit of 5 s (no new log line for 5 s)'],
  // The log of an earlier run with the same name does not count.
  [{ silentSeconds: 5 }, { loggedAtMs: START_MS - 60_000 }, 4_000, null],
  [{ wallSeconds: 10, silentSeconds: 5 }, {}, 30_000, 'silence limit of 5 s (no new log line for 30 s)'],
  [
    { wallSeconds: 10, memoryMegabytes: 1 },
    { memoryBytes: 9 * MEGABYTE },
    30_000,
    'wall time limit of 10 s (ran 30 s)'
  ],
  [{ wallSeconds: null, addressSpaceMegabytes: 1, openFiles: 1 }, {}, 9e9, null]
])('%j, %j, after %d ms: %s', (limits, facts, elapsedMs, text) => {
  const found = findLimitHit(limits, { ...NOTHING, ...facts }, START_MS + elapsedMs)
  expect(found && render(found.hit)).toBe(text)
})

const NAMES = {
  'wall time': 'wallSeconds',
  silence: 'silentSeconds',
  memory: 'memoryMegabytes',
  'CPU time': 'cpuSeconds',
  'log size': 'logMegabytes'
} as const

test('a limit is hit exactly if its value is exceeded, and the one that was hit first is named', () => {
  const limit = fc.option(fc.integer({ min: 1, max: 1000 }))
  const fact = fc.option(fc.integer({ min: 0, max: 2000 }))
  const limitsOf = fc.record({
    wallSeconds: limit,
    silentSeconds: limit,
    memoryMegabytes: limit,
    cpuSeconds: limit,
    logMegabytes: limit
  })
  const elapsed = fc.integer({ min: 0, max: 2000 })
  fc.assert(
    fc.property(limitsOf, elapsed, elapsed, fact, fact, fact, (limits, ran, silent, memory, cpu, log) => {
      const nowMs = START_MS + ran * 1000
      const loggedAtMs = nowMs - silent * 1000
      const facts = {
        startedAtMs: START_MS,
        memoryBytes: memory === null ? null : memory * MEGABYTE,
        cpuSeconds: cpu,
        logBytes: log === null ? null : log * MEGABYTE,
        loggedAtMs
      }
      const silentFor = Math.min(ran, silent)
      const isHit = {
        wallSeconds: limits.wallSeconds !== null && ran >= limits.wallSeconds,
        silentSeconds: limits.silentSeconds !== null && silentFor >= limits.silentSeconds,
        memoryMegabytes: limits.memoryMegabytes !== null && memory !== null && memory > limits.memoryMegabytes,
        cpuSeconds: limits.cpuSeconds !== null && cpu !== null && cpu >= limits.cpuSeconds,
        logMegabytes: limits.logMegabytes !== null && log !== null && log > limits.logMegabytes
      }
      const hit = findLimitHit(limits, facts, nowMs)
      expect(hit !== null).toBe(Object.values(isHit).includes(true))
      if (hit === null) return
      const [, kind] = /^(.+) limit of /.exec(render(hit.hit))!
      expect(isHit[NAMES[kind as keyof typeof NAMES]]).toBe(true)
      expect(hit.atMs).toBeLessThanOrEqual(nowMs)
      if (isHit.wallSeconds) expect(hit.atMs).toBeLessThanOrEqual(START_MS + limits.wallSeconds! * 1000)
      expect(render(hit.hit)).toMatch(/^.* limit of \d.* (s|min|h|d|MB|GB|TB) \(.+\)$/)
    })
  )
})

test('the kernel enforces what only it can, and CPU time a minute later than we do', () => {
  expect(resourceLimitsOf({ addressSpaceMegabytes: 2, cpuSeconds: 10, openFiles: 100, wallSeconds: 5 })).toEqual({
    addressSpaceBytes: 2 * MEGABYTE,
    cpuSeconds: 70,
    openFiles: 100
  })
  expect(resourceLimitsOf({ wallSeconds: 5, openFiles: null })).toBeNull()
  expect(resourceLimitsOf(null)).toBeNull()
})

test('SIGXCPU means the CPU time limit if there was one', () => {
  const textOf = (...of: Parameters<typeof limitOfExit>) => {
    const hit = limitOfExit(...of)
    return hit && render(hit)
  }
  expect(textOf({ cpuSeconds: 10 }, { signal: 'SIGXCPU' })).toBe('CPU time limit of 10 s (ended by the kernel)')
  expect(textOf({ cpuSeconds: 10 }, { signal: 'SIGKILL' })).toBeNull()
  expect(textOf({ cpuSeconds: 10 }, { signal: 'SIGKILL', cpuSeconds: 20 })).toBeNull()
  expect(textOf({ cpuSeconds: 10 }, { signal: 'SIGKILL', cpuSeconds: 75 })).toMatch(/^CPU time limit of 10 s/)
  expect(textOf(null, { signal: 'SIGXCPU' })).toBeNull()
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ProcessRow } from '../processes/process-table.ts'
import { type RunProcesses, SAMPLES_KEPT, sumUsage, UsageHistory } from './usage.ts'

const MEGABYTE = 1024 * 1024

function row(pid: number, parentPid: number, over: Partial<ProcessRow> = {}): ProcessRow {
  return {
    pid,
    parentPid,
    groupId: 1,
    sessionId: 1,
    startTime: String(pid * 10),
    memoryBytes: MEGABYTE,
    cpuSeconds: 1,
    childrenCpuSeconds: 0,
    ...over
  }
}

function aRun(childPid: number, supervisorPid: number | null = null): RunProcesses {
  return {
    child: { pid: childPid, startTime: `boot:${childPid * 10}` },
    supervisor: supervisorPid === null ? null : { pid: supervisorPid, startTime: `boot:${supervisorPid * 10}` },
    members: new Map()
  }
}

test('the usage of a spider includes its group, session, descendants in sessions of their own, and orphans', () => {
  const [spider, other] = [aRun(100, 90), aRun(200, 91)]
  const rows = [
    row(1, 0),
    row(90, 1, { childrenCpuSeconds: 7 }),
    row(100, 90, { groupId: 100, sessionId: 100, memoryBytes: 50 * MEGABYTE, cpuSeconds: 10, childrenCpuSeconds: 2 }),
    // The rows are: in the group, in the session, a child in its own session, that child's child, and an orphan.
    row(101, 100, { groupId: 100, sessionId: 100 }),
    row(102, 1, { groupId: 102, sessionId: 100 }),
    row(103, 100, { groupId: 103, sessionId: 103 }),
    row(104, 103, { groupId: 103, sessionId: 103 }),
    row(105, 90, { groupId: 105, sessionId: 105 }),
    row(91, 1),
    row(200, 91, { groupId: 200, sessionId: 200 }),
    row(300, 1)
  ]
  const usage = sumUsage(rows, [spider, other])
  expect(usage.get(spider)).toEqual({ memoryBytes: 55 * MEGABYTE, cpuSeconds: 10 + 2 + 5 + 7, processes: 6 })
  expect(usage.get(other)).toEqual({ memoryBytes: MEGABYTE, cpuSeconds: 1, processes: 1 })
  expect([...spider.members.keys()]).toEqual([100, 101, 102, 103, 104, 105])
})

test('a known process is recognized when its parents are gone, but not if its pid belongs to another process', () => {
  const spider = aRun(100)
  sumUsage([row(100, 1), row(103, 100)], [spider])
  expect(sumUsage([row(100, 1), row(103, 1)], [spider]).get(spider)).toMatchObject({ processes: 2 })
  expect(sumUsage([row(103, 1, { startTime: 'later' })], [spider]).get(spider)).toMatchObject({ processes: 0 })
})

test('a pid that was reused after the child ended is not the child', () => {
  const spider = aRun(100)
  const stranger = row(100, 1, { startTime: '99999' })
  expect(sumUsage([stranger], [spider]).get(spider)).toEqual({ memoryBytes: 0, cpuSeconds: 0, processes: 0 })
})

test('every process counts for at most one run, whatever the table contains, even loops', () => {
  const pid = fc.integer({ min: 1, max: 12 })
  const rows = fc.uniqueArray(
    fc.tuple(pid, pid, pid, pid).map(([own, parent, groupId, sessionId]) => row(own, parent, { groupId, sessionId })),
    { selector: (one) => one.pid }
  )
  fc.assert(
    fc.property(rows, (table) => {
      const runs = [aRun(2, 3), aRun(4, 5), aRun(6)]
      const usage = sumUsage(table, runs)
      const counted = runs.flatMap((run) => [...run.members.keys()])
      expect(new Set(counted).size).toBe(counted.length)
      expect(counted).not.toContain(3)
      const processes = [...usage.values()].reduce((sum, one) => sum + one.processes, 0)
      expect(processes).toBe(counted.length)
      expect(processes).toBeLessThanOrEqual(table.length)
    })
  )
})

test('a history has a fixed size however long the run, from the first sample to the newest, with its peaks', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20_000 }), fc.nat(19_999), (count, peakAt) => {
      const history = new UsageHistory()
      for (let at = 0; at < count; at += 1) {
        history.add({ atMs: at, memoryBytes: at === peakAt ? 9 : 1, cpuShare: 0.5, processes: 1 })
      }
      const samples = history.list()
      expect(samples.length).toBeLessThanOrEqual(SAMPLES_KEPT)
      expect(samples.length).toBeGreaterThanOrEqual(Math.min(count, SAMPLES_KEPT / 2))
      expect(samples.at(-1)!.atMs).toBe(count - 1)
      expect(samples.every((one, index) => index === 0 || one.atMs > samples[index - 1]!.atMs)).toBe(true)
      expect(samples.every((one) => one.cpuShare === 0.5)).toBe(true)
      if (peakAt < count - 16) expect(Math.max(...samples.map((one) => one.memoryBytes))).toBe(9)
      expect(history.newest!.atMs).toBe(count - 1)
    }),
    { numRuns: 30 }
  )
})

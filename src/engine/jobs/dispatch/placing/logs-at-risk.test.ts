import { EventEmitter } from 'node:events'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { aJobId, aNodeId, aProjectName } from '../../../../shared/testing/ids.ts'
import type { LiveAttempt, LiveAttempts } from '../live-attempts.ts'
import { LogsAtRisk } from './logs-at-risk.ts'

const NODE = aNodeId('n1')
const SHOP = aProjectName('shop')

function world(logsKept: number) {
  let nowMs = 0
  let made = 0
  const events = new EventEmitter()
  const live = new Map<
    string,
    { one: LiveAttempt; writtenAtMs: number; readAtMs: number; writtenSinceMs: number | null }
  >()
  const files = new Map<string, number>()
  const lost: string[] = []
  const risk = new LogsAtRisk({
    live: { ofNode: () => [...live.values()].map(({ one }) => one), events } as unknown as LiveAttempts,
    clock: { monotonicMs: () => nowMs },
    writtenSinceMs: (jobId) => live.get(jobId)?.writtenSinceMs ?? null
  })
  const mayStart = () => {
    const newer = risk.newerLogs(NODE, SHOP, 'prices')
    return newer === null || newer < logsKept
  }
  const acts = {
    start() {
      const newest = [...files].sort(([, one], [, other]) => other - one)
      for (const [name] of newest.slice(logsKept)) {
        files.delete(name)
        if (live.has(name)) lost.push(name)
      }
      const jobId = aJobId(String((made += 1)))
      const one = { jobId, nodeId: NODE, project: SHOP, spider: 'prices', sendEndedAtMs: nowMs } as LiveAttempt
      live.set(jobId, { one, writtenAtMs: nowMs, readAtMs: nowMs, writtenSinceMs: null })
      files.set(jobId, nowMs)
    },
    write(name: string) {
      const log = live.get(name)
      if (log === undefined) return
      log.writtenAtMs = nowMs
      files.set(name, nowMs)
    },
    read(name: string) {
      const log = live.get(name)
      if (log === undefined) return
      if (log.writtenAtMs > log.readAtMs) log.writtenSinceMs = log.readAtMs
      log.readAtMs = nowMs
    },
    end(name: string) {
      const log = live.get(name)
      if (log === undefined) return
      acts.write(name)
      nowMs += 1
      live.delete(name)
      events.emit('ended', { one: log.one })
    }
  }
  return { acts, live, lost, mayStart, tick: () => (nowMs += 1) }
}

const step = fc.record({ act: fc.constantFrom('start', 'write', 'read', 'end'), which: fc.nat(5) })

test('no allowed start makes the node delete the log of a running job', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 80 }), (logsKept, steps) => {
      const { acts, live, lost, mayStart, tick } = world(logsKept)
      for (const { act, which } of steps) {
        tick()
        const name = [...live.keys()][which % Math.max(1, live.size)] ?? ''
        if (act !== 'start') acts[act as 'write'](name)
        else if (mayStart()) acts.start()
      }
      expect(lost).toEqual([])
    }),
    { numRuns: 300 }
  )
})

test('without this wait, such nodes do delete them', () => {
  const { acts, lost, tick } = world(1)
  for (let run = 0; run < 3; run += 1) {
    tick()
    acts.start()
  }
  expect(lost).toHaveLength(1)
})

test('logs that are written continuously delay no more jobs than there are such logs', () => {
  const { acts, live, mayStart, tick } = world(3)
  for (let run = 0; run < 50; run += 1) {
    tick()
    for (const name of live.keys()) {
      acts.write(name)
      tick()
      acts.read(name)
      tick()
      acts.write(name)
      tick()
      acts.read(name)
    }
    if (live.size === 3) acts.end([...live.keys()][0]!)
    for (const name of live.keys()) {
      tick()
      acts.write(name)
      acts.read(name)
    }
    expect(mayStart()).toBe(true)
    acts.start()
  }
})

import { implement } from '@orpc/server'
import { contract, type ProjectName, RECOMMENDED_POLICY, type StorageUsage } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import type { FakeWorld } from './fake-world.ts'

const DAY_MS = 86_400_000
const SHARES = [1, 0.62, 0.4, 0.21, 0.08, 0.02]

/** Sizes by project and a policy in memory. A retention run ends immediately and deletes nothing. */
export function createFakeStorage({ projects, emit, firstRun }: FakeWorld) {
  const os = implement(contract)
  let stored = { revision: 0, policy: RECOMMENDED_POLICY }
  let retention: StorageUsage['retention'] = {
    state: 'not_set',
    startedAtMs: null,
    endedAtMs: null,
    problem: null,
    jobs: 0,
    logs: 0,
    items: 0,
    eggs: 0,
    freedBytes: 0
  }
  const names = () => [...projects.keys()] as ProjectName[]
  const usage = () =>
    names().map((project, index) => {
      const share = firstRun ? 0 : (SHARES[index] ?? 0.01)
      const sized = (count: number, bytes: number) => ({
        count: Math.round(count * share),
        bytes: Math.round(bytes * share)
      })
      return {
        project,
        jobs: sized(412_000, 0.71e9),
        logs: sized(380_000, 6.2e9),
        items: sized(9_100, 2.4e9),
        eggs: { count: projects.get(project)?.versions.length ?? 0, bytes: 240_000 }
      }
    })
  const stateNow = () => (stored.revision === 0 ? 'not_set' : stored.policy.paused ? 'paused' : 'idle')
  return {
    usage: os.storage.usage.handler(() => ({
      projects: usage(),
      database: { bytes: 3_900_000_000, freeBytes: 420_000_000, canShrink: true },
      cacheBytes: 310_000_000,
      searchIndexBytes: 540_000_000,
      totalBytes: 24_800_000_000,
      measuredAtMs: Date.now() - 120_000,
      encryption: {
        keyId: '3f9a1c52d07b8e64',
        state: 'sealing',
        sealed: 41_200,
        total: 58_900,
        lost: 0,
        sealedAtMs: null,
        problem: null
      },
      disk: { totalBytes: 120e9, freeBytes: 41e9, fullAtMs: Date.now() + 11 * DAY_MS },
      retention: { ...retention, state: stateNow() }
    })),
    policy: os.storage.policy.handler(() => stored),
    setPolicy: os.storage.setPolicy.handler(({ input }) => {
      if (input.revision !== stored.revision) {
        throw new ScrapdeckError('CHANGED_MEANWHILE', 'The storage policy was changed in the meantime.')
      }
      stored = { revision: input.revision + 1, policy: input.policy }
      emit({ kind: 'storage' })
      return stored
    }),
    preview: os.storage.preview.handler(() => {
      const goes = usage().flatMap(({ project, logs, jobs }) => {
        const days = (oldest: number, newest: number) => ({
          oldestMs: Date.now() - oldest * DAY_MS,
          newestMs: Date.now() - newest * DAY_MS
        })
        return [
          { project, kind: 'logs' as const, count: logs.count >> 1, bytes: logs.bytes / 2, ...days(410, 90) },
          { project, kind: 'jobs' as const, count: jobs.count >> 6, bytes: jobs.bytes / 64, ...days(431, 400) }
        ].filter(({ count }) => count > 0)
      })
      const kept = goes.slice(0, 2).map((row) => ({ ...row, count: 4, bytes: 900_000, reason: 'newest' as const }))
      const freesBytes = goes.reduce((sum, { bytes }) => sum + bytes, 0)
      return { goes, protected: kept, freesBytes, isCut: false }
    }),
    run: os.storage.run.handler(() => {
      if (stored.revision === 0 || stored.policy.paused) return { started: false }
      const [startedAtMs, endedAtMs] = [Date.now() - 40_000, Date.now()]
      retention = { ...retention, startedAtMs, endedAtMs, jobs: 6_400, logs: 190_000, freedBytes: 3_100_000_000 }
      emit({ kind: 'storage' })
      return { started: true }
    }),
    compact: os.storage.compact.handler(() => ({ freedBytes: 420_000_000 }))
  }
}

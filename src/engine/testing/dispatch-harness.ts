import { type GrowingRun, LogCollector } from '../runs/log-collector/log-collector.ts'
import { ItemsArchive } from '../runs/log-collector/items-archive.ts'
import { createMemoryArchive } from './memory-archive.ts'
import type { OutcomeRules, RunLimits } from '../../shared/contract/index.ts'
import { CANCEL_WAITS_MS, type CancelWaitsMs, effectiveRunLimits } from '../../shared/run-limits.ts'
import { aJobId, aVersionName } from '../../shared/testing/ids.ts'
import type { DispatchContext } from '../jobs/dispatch/context.ts'
import { Dispatch } from '../jobs/dispatch/dispatch.ts'
import { LiveAttempts } from '../jobs/dispatch/live-attempts.ts'
import type { EggState } from '../jobs/dispatch/decide/node-index.ts'
import type { BlobStore } from '../storage/blobs/blob-store.ts'
import { Fleet } from '../nodes/fleet.ts'
import { WaitingReasons } from '../jobs/queue/waiting-reasons.ts'
import { silentLogger } from '../runtime/logger.ts'
import type { StoredJob } from '../model/records.ts'
import type { Store } from '../storage/store.ts'
import { aNewJob, aStoredNode } from './builders.ts'
import type { FakeClock } from './fake-clock.ts'
import type { FakeNode } from './fake-node.ts'
import { createSeededRandom } from './seeded-random.ts'

/** One engine's dispatch over fake nodes and a real store. `crash` leaves the store as it is, like kill -9. */
export interface DispatchHarness {
  dispatch: Dispatch
  fleet: Fleet
  live: LiveAttempts
  waiting: WaitingReasons
  enqueue(count: number): Promise<string[]>
  job(id: string): Promise<StoredJob>
  kinds(id: string): Promise<string[]>
  crash(): Promise<void>
}

export async function startDispatch(parts: {
  store: Store
  clock: FakeClock
  nodes: Record<string, FakeNode>
  blobs: BlobStore
  projectLimits?: RunLimits
  cancelWaitsMs?: CancelWaitsMs
  projectOutcome?: OutcomeRules
  readsLogs?: boolean
  projectCancelWaitSeconds?: number
  keepsItems?: boolean
  isProjectPaused?: () => boolean
  /** Default: every node can import every egg. */
  distribution?: DispatchContext['distribution']
  learnsSlots?: boolean
  openSecret?: (sealed: string) => Promise<string>
  mayAct?: DispatchContext['mayAct']
  chooseNodes?: DispatchContext['chooseNodes']
}): Promise<DispatchHarness> {
  const { store, clock, nodes, blobs } = parts
  const live = new LiveAttempts({ store, clock })
  const waiting = new WaitingReasons()
  const fleet: Fleet = new Fleet({
    clock,
    random: createSeededRandom(1),
    logger: silentLogger,
    createClient: async (stored) => nodes[stored.id]!
  })
  const archive = createMemoryArchive(blobs)
  const runLimitsOf = ({ runLimits }: GrowingRun) => effectiveRunLimits(parts.projectLimits ?? null, runLimits)
  const collector = new LogCollector({ store, archive, fleet, clock, logger: silentLogger, runLimitsOf })
  if (parts.readsLogs === true) {
    live.events.on('moved', ({ one, to }) => void (to === 'running' && collector.follow(one)))
    live.events.on('joined', (one) => void (one.state === 'running' && collector.follow(one)))
    live.events.on('ended', ({ one }) => collector.forget(one))
  }
  const dispatch = new Dispatch({
    store,
    archive,
    itemsArchive: new ItemsArchive({
      store,
      clock,
      archive: createMemoryArchive(blobs, 'items'),
      deleteLocal: async () => {}
    }),
    collector,
    fleet,
    live,
    waiting,
    clock,
    // Without this, tests would not notice bugs that are only logged.
    logger: { ...silentLogger, error: (facts, text) => console.error(text, facts) },
    catalog: { versionToRun: (_project, version) => aVersionName(version ?? '1') },
    projects: {
      settingsOf: () => ({
        limits: parts.projectLimits ?? null,
        outcome: parts.projectOutcome ?? null,
        paused: parts.isProjectPaused?.() ?? false,
        cancelWaitSeconds: parts.projectCancelWaitSeconds ?? null,
        keepItems: parts.keepsItems ?? false
      })
    },
    cancelWaitsMs: parts.cancelWaitsMs ?? CANCEL_WAITS_MS,
    mayAct: parts.mayAct,
    chooseNodes: parts.chooseNodes ?? null,
    secrets: { open: parts.openSecret ?? (async (sealed) => sealed) },
    distribution: parts.distribution ?? {
      stateOf(nodeId, project, version): EggState {
        return nodes[nodeId]!.eggs.has(`${project}@${version}`) ? 'present' : 'absent'
      },
      ensure: async (nodeId, project, version) => void (await nodes[nodeId]!.addVersion(project, version)),
      importErrors: () => new Map(),
      projectsWithImportErrors: () => new Set(),
      forget: async (nodeId, project, version) => nodes[nodeId]!.deleteVersion(project, version)
    }
  })
  fleet.events.on('changed', (_node, healthWas) => {
    if (healthWas !== undefined) dispatch.wake()
  })
  await dispatch.start({ paused: false })
  if (parts.readsLogs === true) for (const one of live.all()) if (one.state === 'running') collector.follow(one)
  for (const [id, node] of Object.entries(nodes)) {
    const kind = node.traits.runsHere ? 'local' : 'scrapyd'
    await fleet.add(aStoredNode({ id, name: id, slots: parts.learnsSlots === true ? null : node.slots, kind }))
  }
  dispatch.wake()
  await clock.advanceBy(0)

  return {
    dispatch,
    fleet,
    live,
    waiting,
    async enqueue(count) {
      const jobs = Array.from({ length: count }, () => aNewJob({ version: '1' }))
      await store.enqueueJobs(jobs)
      dispatch.wake()
      await clock.advanceBy(0)
      return jobs.map(({ id }) => id)
    },
    async job(id) {
      return (await store.getJob(aJobId(id)))!
    },
    async kinds(id) {
      return (await store.listTimeline(aJobId(id))).map(({ kind }) => kind)
    },
    async crash() {
      collector.stop()
      await dispatch.stop()
      await fleet.stop()
    }
  }
}

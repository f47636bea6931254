import { rm } from 'node:fs/promises'
import type { Attempt, JobId } from '../../shared/contract/index.ts'
import { LOCAL_NODE_ID } from '../../shared/ids.ts'
import { effectiveRunLimits } from '../../shared/run-limits.ts'
import type { LocalLayout, LocalNodeSettings } from '../nodes/local/optional-local-node.ts'
import type { Nodes } from '../nodes/open-nodes.ts'
import type { Projects } from '../projects/projects.ts'
import type { LoopDelay } from '../runtime/loop-delay.ts'
import { stop, type Tools } from '../runtime/tools.ts'
import type { Store } from '../storage/store.ts'
import type { JobItems } from './items/job-items.ts'
import { ErrorGroups } from './log-collector/error-groups.ts'
import { ItemsArchive, sweepLeftItems } from './log-collector/items-archive.ts'
import { JobFigures } from './log-collector/job-figures.ts'
import { type LeftCopiesParts, sweepLeftCopies } from './log-collector/left-copies.ts'
import { sweepLocalLogs } from './log-collector/local-logs.ts'
import { LogCollector } from './log-collector/log-collector.ts'
import { JobLogs } from './logs/job-logs.ts'
import type { Archives } from './open-archives.ts'

interface RunsParts extends Tools, Pick<Archives, 'archive' | 'itemBlobs' | 'logScans'> {
  store: Store
  fleet: Nodes['fleet']
  localItemsOf: Nodes['localItemsOf']
  hasLocalNode: boolean
  layout: LocalLayout
  projects: Pick<Projects, 'settingsOf'>
  loopDelay: LoopDelay
  recordLogKept: LeftCopiesParts['record']
}

export type Runs = ReturnType<typeof openRuns>

export function openRuns(opened: AsyncDisposableStack, options: LocalNodeSettings, parts: RunsParts) {
  const { store, archive, itemBlobs, fleet, layout, projects, clock, random, logger } = parts
  const itemsArchive = new ItemsArchive({
    store,
    clock,
    archive: itemBlobs,
    // Keeps the originals in a directory that the user chose, because users read them there.
    async deleteLocal(run) {
      const file = run.nodeId === LOCAL_NODE_ID ? parts.localItemsOf(run) : null
      if (file !== null && options.directories?.items === undefined) await rm(file, { force: true })
    }
  })
  const collector = new LogCollector({
    store,
    archive,
    fleet,
    clock,
    logger,
    runLimitsOf: ({ project, runLimits }) => effectiveRunLimits(projects.settingsOf(project).limits, runLimits),
    loopShare: () => parts.loopDelay.sampleShare()
  })
  opened.adopt(collector, stop)
  const jobFigures = new JobFigures({ store, collector })
  const formatOf = (attempt: Attempt) => jobFigures.formatOf(attempt)
  const jobLogs = new JobLogs({ store, archive, scans: parts.logScans, fleet, clock, formatOf })
  const errorGroups = opened.adopt(new ErrorGroups({ store, clock }), stop)
  let items: Promise<JobItems> | null = null
  const loadItems = async () => {
    const { openJobItems } = await import('./items/open-items.ts')
    return openJobItems(options, { store, fleet, itemsArchive, localFileOf: parts.localItemsOf, clock, random, logger })
  }
  opened.defer(async () => (await items)?.stop())
  const openItems = () => (items ??= loadItems())
  const sweeps = [
    sweepLeftCopies({ store, archive, fleet, record: parts.recordLogKept, clock, logger }),
    sweepLeftItems({ store, archive: itemBlobs, items: itemsArchive, clock, logger }),
    // The sweep is not needed if the logs are written elsewhere.
    ...(parts.hasLocalNode && layout.logs !== null
      ? [
          sweepLocalLogs({
            store,
            archive,
            directory: layout.logs,
            clock,
            logger,
            deletesFiles: options.directories?.logs === undefined
          })
        ]
      : [])
  ]
  return {
    itemsArchive,
    collector,
    jobFigures,
    jobLogs,
    errorGroups,
    /** The caller must stop the sweeps before the parts that they use. */
    sweeps,
    openItems,
    countFilled: async (jobId: JobId, signal: AbortSignal) => (await openItems()).countFilled({ jobId }, signal)
  }
}

import { DEFAULT_AUDIT_DAYS } from '../../shared/contract/index.ts'
import type { AccessOptions } from '../access/open-access.ts'
import type { LocalLayout } from '../nodes/local/optional-local-node.ts'
import type { Projects } from '../projects/projects.ts'
import type { Archives } from '../runs/open-archives.ts'
import type { Sweep } from '../runtime/sweep.ts'
import { stop, type Tools } from '../runtime/tools.ts'
import type { StorageOptions } from '../storage/open-storage.ts'
import type { SharedBlobs } from '../storage/blobs/shared-blobs.ts'
import type { Store } from '../storage/store.ts'
import { sweepLeftHolds } from './backup/held-files.ts'
import { Housekeeping, type HousekeepingParts } from './housekeeping.ts'
import { ArchivedItems } from './retention/local-files.ts'
import { DiskWatch, type MeasureDisk, measureDiskOf } from './retention/disk.ts'
import type { KeptEgg } from './retention/eggs.ts'
import { LocalFiles } from './retention/local-files.ts'
import { Retention, type RetentionParts } from './retention/retention.ts'
import { bothOf } from './retention/old-files.ts'
import { sweepUnusedBlobs } from './retention/eggs.ts'

interface MaintenanceParts
  extends Tools,
    Pick<Archives, 'archive' | 'itemBlobs' | 'reEncryption'>,
    Pick<HousekeepingParts, 'checkProblems' | 'fleet' | 'inventories'>,
    Pick<RetentionParts, 'deleteEgg'> {
  store: Store
  sweeps: readonly Pick<Sweep<never>, 'run' | 'stop'>[]
  logIndex: RetentionParts['searchIndex'] | null
  projects: Projects
  layout: LocalLayout | null
  isNeeded: (jobid: string) => boolean
  sharedBlobs: SharedBlobs | null
  measureDisk: MeasureDisk | undefined
}

export type Maintenance = ReturnType<typeof openMaintenance>

export function openMaintenance(
  opened: AsyncDisposableStack,
  { dataDirectory, audit }: AccessOptions & StorageOptions,
  parts: MaintenanceParts
) {
  const { store, archive, itemBlobs, projects, layout, isNeeded, sharedBlobs, clock, logger } = parts
  const localItems = new LocalFiles({
    store,
    directory: layout?.items ?? null,
    isNeeded,
    async recordDeletion({ jobId, number, project, spider, endedAtMs }) {
      // Items with an archived copy stay recorded. The copy has its own retention.
      if ((await store.findItems(jobId, number)) !== null) return
      const nowMs = clock.nowMs()
      const record = { jobId, number, project, spider, endedAtMs: endedAtMs ?? nowMs, sizes: null, problem: null }
      await store.recordItems({ ...record, deletedAtMs: nowMs })
    }
  })
  const measure = parts.measureDisk ?? measureDiskOf(dataDirectory)
  const disk = new DiskWatch({ clock, measure, onSample: () => retention.events.emit('changed') })
  opened.adopt(disk, stop)
  const retention: Retention = new Retention({
    store,
    archive,
    clock,
    logger,
    searchIndex: parts.logIndex ?? { sizeBytes: async () => 0, reclaim: async () => 0 },
    logs: new LocalFiles({ store, directory: layout?.written.logsDirectory ?? null, isNeeded }),
    items: bothOf(localItems, new ArchivedItems({ store, clock, archive: itemBlobs })),
    listEggs: () => listEggs(projects, store),
    deleteEgg: parts.deleteEgg,
    disk: () => disk.state(),
    encryption: () => parts.reEncryption?.state() ?? null
  })
  opened.adopt(retention, stop)
  const sweeps = [
    ...parts.sweeps,
    sweepLeftHolds({ directory: dataDirectory, clock, logger }),
    // Blobs in the data directory belong to one engine, which deletes them immediately.
    ...(sharedBlobs === null ? [] : [sweepUnusedBlobs({ projects, blobs: sharedBlobs.store, clock, logger })])
  ]
  for (const sweep of sweeps) opened.adopt(sweep, stop)
  const housekeeping = new Housekeeping({
    store,
    clock,
    logger,
    fleet: parts.fleet,
    inventories: parts.inventories,
    checkProblems: parts.checkProblems,
    sweeps,
    auditDays: audit?.days ?? DEFAULT_AUDIT_DAYS
  })
  opened.adopt(housekeeping, stop)
  return { disk, retention, housekeeping }
}

async function listEggs(projects: Projects, store: Store): Promise<KeptEgg[]> {
  const { catalog } = projects
  const [schedules, chains] = await Promise.all([store.listSchedules(), store.listChains()])
  const templates = [
    ...schedules.flatMap(({ settings }) => settings.jobs),
    ...chains.map(({ settings }) => settings.run)
  ]
  const named = new Set(
    templates.flatMap(({ project, version }) =>
      version === null ? [] : [`${project}\0${catalog.find(project, version)?.version ?? version}`]
    )
  )
  return catalog.all().flatMap((stored): KeptEgg[] => {
    const { project, version, sha256, sizeBytes, createdAtMs } = stored
    if (sha256 === null) return []
    const isActive = catalog.activeVersion(project) === version
    const isNamed = named.has(`${project}\0${version}`)
    const isPinned = projects.isPinned(stored)
    return [{ project, version, sizeBytes: sizeBytes ?? 0, createdAtMs, isActive, isPinned, isNamed }]
  })
}

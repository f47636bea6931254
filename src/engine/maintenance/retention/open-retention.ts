import type { EncryptionState } from '../../../shared/contract/index.ts'
import type { LogArchivePort } from '../../runs/logs/archive/log-archive.ts'
import type { Projects } from '../../projects/projects.ts'
import type { ProjectCommands } from '../../api/commands/project-commands.ts'
import { DiskWatch, type MeasureDisk } from './disk.ts'
import { ArchivedItems } from './archived-items.ts'
import type { KeptEgg } from './eggs.ts'
import { LocalFiles } from './local-files.ts'
import { bothOf } from './run-files.ts'
import { Retention } from './retention.ts'
import type { LogIndex } from '../../runs/search/log-index.ts'
import type { Base } from '../../runtime/tools.ts'

/** Retention, and the watch of the disk that it frees. */
export function wireRetention({
  archive,
  searchIndex,
  itemBlobs,
  projects,
  projectCommands,
  layout,
  isNeeded,
  measureDisk,
  encryption,
  onSample,
  ...base
}: Base & {
  archive: LogArchivePort
  searchIndex: Pick<LogIndex, 'sizeBytes' | 'reclaim'>
  itemBlobs: LogArchivePort
  projects: Projects
  projectCommands: Pick<ProjectCommands, 'deleteVersion'>
  /** null: no local node has files here. */
  layout: { writtenLogs: string | null; itemFiles: string | null }
  isNeeded: (jobid: string) => boolean
  measureDisk: MeasureDisk
  encryption: () => EncryptionState | null
  onSample: () => void
}) {
  const { store, clock } = base
  const localItems = new LocalFiles({
    ...{ store, directory: layout.itemFiles, isNeeded },
    async recordDeletion({ jobId, number, project, spider, endedAtMs }) {
      // Their archived copy has a retention of its own.
      if ((await store.findItems(jobId, number)) !== null) return
      const nowMs = clock.nowMs()
      const record = { jobId, number, project, spider, endedAtMs: endedAtMs ?? nowMs, sizes: null, problem: null }
      await store.recordItems({ ...record, deletedAtMs: nowMs })
    }
  })
  const disk = new DiskWatch({ clock, measure: measureDisk, onSample })
  const retention = new Retention({
    ...base,
    ...{ archive, searchIndex },
    logs: new LocalFiles({ store, directory: layout.writtenLogs, isNeeded }),
    items: bothOf(localItems, new ArchivedItems({ store, clock, archive: itemBlobs })),
    listEggs: () => listEggs(projects, store),
    deleteEgg: (project, version) => projectCommands.deleteVersion(project, version),
    disk: () => disk.state(),
    encryption
  })
  return { disk, retention }
}

async function listEggs(projects: Projects, store: Base['store']): Promise<KeptEgg[]> {
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

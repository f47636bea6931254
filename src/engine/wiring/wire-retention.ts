import type { LogArchivePort } from '../logs/archive/log-archive.ts'
import type { Projects } from '../projects/projects.ts'
import type { ProjectCommands } from '../commands/project-commands.ts'
import { DiskWatch, type MeasureDisk } from '../retention/disk.ts'
import type { KeptEgg } from '../retention/eggs.ts'
import { LocalFiles } from '../retention/local-files.ts'
import { Retention } from '../retention/retention.ts'
import type { Base } from './base.ts'

/** Retention, and the watch of the disk that it frees. */
export function wireRetention({
  archive,
  projects,
  projectCommands,
  layout,
  isNeeded,
  measureDisk,
  onSample,
  ...base
}: Base & {
  archive: LogArchivePort
  projects: Projects
  projectCommands: Pick<ProjectCommands, 'deleteVersion'>
  layout: { writtenLogs: string; itemFiles: string | null }
  isNeeded: (jobid: string) => boolean
  measureDisk: MeasureDisk
  onSample: () => void
}) {
  const { store, clock } = base
  const disk = new DiskWatch({ clock, measure: measureDisk, onSample })
  const retention = new Retention({
    ...base,
    archive,
    logs: new LocalFiles({ store, directory: layout.writtenLogs, isNeeded }),
    items: new LocalFiles({ store, directory: layout.itemFiles, isNeeded }),
    listEggs: () => listEggs(projects, store),
    deleteEgg: (project, version) => projectCommands.deleteVersion(project, version),
    disk: () => disk.state()
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

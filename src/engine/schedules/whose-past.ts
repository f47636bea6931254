import type { ProjectName, RunTemplate } from '../../shared/contract/index.ts'
import type { StoredSchedule } from '../model/records.ts'

// The history of a schedule or chain belongs to projects. Only users who see all of them may read it.

type Projects = ProjectName[]

export const projectsOfChain = ({ project, run }: { project: ProjectName; run: Pick<RunTemplate, 'project'> }) => [
  ...new Set([project, run.project])
]

export const projectsOfTemplates = (jobs: readonly Pick<RunTemplate, 'project'>[]): Projects => [
  ...new Set(jobs.map(({ project }) => project))
]

/**
 * The projects in which a schedule acted at `atMs`. null: its jobs were in other projects then, so only users who see
 * all projects may read about them.
 */
export const projectsAt = (
  { settings, movedAtMs }: Pick<StoredSchedule, 'movedAtMs'> & { settings: Pick<StoredSchedule['settings'], 'jobs'> },
  atMs: number
): Projects | null => (atMs <= movedAtMs ? null : projectsOfTemplates(settings.jobs))

/** null: several projects or an unknown one, so only for users who see all projects. */
export const oneProject = (projects: Projects | null): ProjectName | null =>
  projects?.length === 1 ? projects[0]! : null

/** A schedule whose jobs move to other projects loses its note, which was written for users of the former projects. */
export function afterMove(
  before: StoredSchedule,
  jobs: readonly Pick<RunTemplate, 'project'>[],
  atMs: number
): Pick<StoredSchedule, 'movedAtMs' | 'pauseNote' | 'pauseNoteCode' | 'pauseNoteParams'> {
  const [former, now] = [projectsOfTemplates(before.settings.jobs), projectsOfTemplates(jobs)]
  const isSame = former.length === now.length && former.every((project) => now.includes(project))
  return isSame ? before : { movedAtMs: atMs, pauseNote: null, pauseNoteCode: undefined, pauseNoteParams: undefined }
}

import type { Project, Version } from './contract/index.ts'

/** The version for a job that names this one, or the active one if it names none. Undefined if the project lacks it. */
export function versionOf(project: Project, name: string | null = null): Version | undefined {
  return project.versions.find(({ version }) => version === (name ?? project.activeVersion))
}

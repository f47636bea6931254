import type { Project, Version } from './contract/index.ts'

/** The version that a job gets which names this one, or none: then the latest. Undefined if the project lacks it. */
export function versionOf(project: Project, name: string | null = null): Version | undefined {
  return project.versions.find(({ version }) => version === (name ?? project.latestVersion))
}

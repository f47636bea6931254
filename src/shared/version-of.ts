import type { Project, Version } from './contract/index.ts'

/** The named version, or the active one without a name. Undefined if the project lacks it. */
export function versionOf(project: Project, name: string | null = null): Version | undefined {
  return project.versions.find(({ version }) => version === (name ?? project.activeVersion))
}

import type { Project, Version } from './contract/index.ts'

/** The named version, or without a name the active one. Undefined if the project lacks it. */
export function versionOf(project: Project, name: string | null = null): Version | undefined {
  return project.versions.find(({ version }) => version === (name ?? project.activeVersion))
}

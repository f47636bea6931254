import type { Project, Version } from './contract/index.ts'

export function versionOf(project: Project, name: string | null = null): Version | undefined {
  return project.versions.find(({ version }) => version === (name ?? project.activeVersion))
}

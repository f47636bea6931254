import type { Node, Project, Version } from '../../../shared/contract/index.ts'

/** Spiders that came and went from one version to the next; null where either list is not known. */
export function compareSpiders(
  version: Version,
  before: Version | undefined
): { added: string[]; removed: string[] } | null {
  const [now, then] = [version.spiders, before?.spiders]
  if (now === null || then === null || then === undefined) return null
  return {
    added: now.filter((spider) => !then.includes(spider)),
    removed: then.filter((spider) => !now.includes(spider))
  }
}

export interface Spread {
  readonly present: number
  readonly failed: number
  readonly total: number
}

/** On how many of the fleet's nodes a version is. Nodes that were removed do not count. */
export function spreadOf(version: Version | undefined, nodes: readonly Node[]): Spread {
  const states = new Map(version?.deployments.map(({ nodeId, state }) => [nodeId, state]))
  const here = nodes.map(({ id }) => states.get(id))
  return {
    present: here.filter((state) => state === 'present').length,
    failed: here.filter((state) => state === 'failed').length,
    total: nodes.length
  }
}

export function latestOf(project: Project): Version | undefined {
  return project.versions.find(({ version }) => version === project.latestVersion)
}

import type { Deployment, Node, Version } from '../../../shared/contract/index.ts'

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

/** The state of a version on a node; an egg that was replaced since is not this version. */
export type Place = Deployment['state'] | 'replaced'

export function placeOf(version: Version, { state, sha256 }: Deployment): Place {
  return state === 'present' && version.sha256 !== null && sha256 !== version.sha256 ? 'replaced' : state
}

/** What is to be mended by sending it (again). */
export const isDrift = (place: Place): boolean => place === 'missing' || place === 'foreign' || place === 'replaced'

export interface Spread {
  readonly present: number
  readonly failed: number
  /** Nodes that had it and lost it, or hold something else by its name. */
  readonly drifted: number
  readonly total: number
}

/** On how many of the fleet's nodes a version is. Nodes that were removed do not count. */
export function spreadOf(version: Version | undefined, nodes: readonly Node[]): Spread {
  const places = new Map(version?.deployments.map((one) => [one.nodeId, placeOf(version, one)]))
  const here = nodes.flatMap(({ id }) => places.get(id) ?? [])
  return {
    present: here.filter((place) => place === 'present').length,
    failed: here.filter((place) => place === 'failed').length,
    drifted: here.filter(isDrift).length,
    total: nodes.length
  }
}

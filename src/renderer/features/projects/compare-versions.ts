import type { Deployment, Node, Version } from '../../../shared/contract/index.ts'

/** Spiders added and removed from one version to the next. null: either list is unknown. */
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

/** The state of a version on a node. `replaced`: the node has a different egg under the version's name. */
export type Place = Deployment['state'] | 'replaced'

export function placeOf(version: Version, { state, sha256 }: Deployment): Place {
  return state === 'present' && version.sha256 !== null && sha256 !== version.sha256 ? 'replaced' : state
}

export const isDrift = (place: Place): boolean => place === 'missing' || place === 'foreign' || place === 'replaced'

export interface Spread {
  readonly present: number
  readonly failed: number
  /** Nodes that lost the version or have a different egg under the version's name. */
  readonly drifted: number
  readonly total: number
}

/** How many of the fleet's nodes have a version. Removed nodes do not count. */
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

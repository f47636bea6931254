import type { Placement } from '../../shared/contract/index.ts'

/** What placement looks at: jobs that are equal in it can stand in one line. */
export interface Lane {
  project: string
  version: string | null
  placement: Placement
}

/** The canonical text of a lane: the same for the same project, version, node and set of tags. */
export function laneText({ project, version, placement }: Lane): string {
  return JSON.stringify([project, version, placement.nodeId, [...new Set(placement.tags)].sort()])
}

export function parseLane(text: string): Lane {
  const [project, version, nodeId, tags] = JSON.parse(text) as [string, string | null, string | null, string[]]
  return { project, version, placement: { nodeId, tags } }
}

import type { NodeId, Placement, ProjectName, VersionName } from '../../shared/contract/index.ts'

/** The values that placement depends on. Jobs with identical values share a lane. */
export interface Lane {
  project: ProjectName
  spider: string
  version: VersionName | null
  placement: Placement
}

/** Returns identical texts for the same project, spider, version, node and set of tag terms. */
export function laneText({ project, spider, version, placement }: Lane): string {
  return JSON.stringify([project, version, placement.nodeId, [...new Set(placement.tags)].sort(), spider])
}

export function parseLane(text: string): Lane {
  const [project, version, nodeId, tags, spider] = JSON.parse(text) as [
    ProjectName,
    VersionName | null,
    NodeId | null,
    string[],
    string
  ]
  return { project, spider, version, placement: { nodeId, tags } }
}

import type { Placement } from '../../shared/contract/index.ts'
import { aJobId, aProjectName, branded } from '../../shared/testing/ids.ts'
import type { QueueLine } from '../jobs/queue/fair-order.ts'
import { lineKey } from '../jobs/queue/queue-view.ts'

export function aQueueLine(values: {
  lanes: Record<string, string[]>
  project?: string
  version?: string | null
  placement?: Placement
  priority?: number
  hasMore?: boolean
}): QueueLine {
  const { project = 'shop', version = '1', placement = { nodeId: null, tags: [] }, priority = 0 } = values
  const key = lineKey({ project: aProjectName(project), version: branded(version), placement })
  const lanes = Object.entries(values.lanes).map(([spider, ids]) => ({
    lane: `${spider} in ${key}`,
    spider,
    jobs: ids.map((id) => ({ id: aJobId(id), jobid: id, priority, rank: 0, attemptCount: 0 })),
    hasMore: values.hasMore ?? false
  }))
  return {
    key,
    project: aProjectName(project),
    version: branded(version),
    placement,
    placementKey: JSON.stringify([placement.nodeId, placement.tags]),
    lanes: new Map(lanes.map((lane) => [lane.lane, lane]))
  }
}

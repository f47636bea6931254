import type { Node, NodeId, RunningJob } from '../../../shared/contract/index.ts'
import { externalId } from '../../state/cancel-external.ts'

/** A job that others started on a node: the columns of a job of ours, of which its node tells few. */
export interface ExternalRow
  extends Pick<
    RunningJob,
    | 'project'
    | 'spider'
    | 'sentVersion'
    | 'state'
    | 'status'
    | 'cancelAskedAtMs'
    | 'unknownSinceMs'
    | 'startedAtMs'
    | 'pages'
    | 'items'
    | 'errors'
    | 'pagesPerMinute'
    | 'itemsPerMinute'
    | 'pid'
    | 'usage'
  > {
  id: string
  jobid: string
  nodeId: NodeId
}

export type RunningRow = RunningJob | ExternalRow

export const isExternal = (row: RunningRow): row is ExternalRow => 'jobid' in row

const UNKNOWN = {
  ...{ sentVersion: null, cancelAskedAtMs: null, unknownSinceMs: null, usage: null },
  ...{ pages: null, items: null, errors: null, pagesPerMinute: null, itemsPerMinute: null }
} as const

/** What others run on the nodes, as the nodes listed it last. */
export function externalRows(nodes: readonly Pick<Node, 'id' | 'runs'>[]): ExternalRow[] {
  return nodes.flatMap(({ id: nodeId, runs }) =>
    runs.flatMap(({ jobId, jobid, project, spider, state, sinceMs, pid }) => {
      if (jobId !== null) return []
      const startedAtMs = state === 'running' ? sinceMs : null
      const id = externalId(nodeId, { project, jobid })
      return [{ ...UNKNOWN, id, jobid, project, spider, nodeId, state, status: state, startedAtMs, pid }]
    })
  )
}

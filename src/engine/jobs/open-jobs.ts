import type { Node } from '../../shared/contract/index.ts'
import { asParam } from '../../shared/texts/message.ts'
import type { FleetNode } from '../nodes/fleet.ts'
import type { OptionalLocalNode } from '../nodes/local/optional-local-node.ts'
import type { LogCollector } from '../runs/log-collector/log-collector.ts'
import { stop } from '../runtime/tools.ts'
import { describeNode } from './dispatch/describe-node.ts'
import { Dispatch } from './dispatch/dispatch.ts'
import type { DispatchContext } from './dispatch/context.ts'
import { WaitingReasons } from './queue/waiting-reasons.ts'

interface JobsParts extends Omit<DispatchContext, 'waiting'> {
  collector: LogCollector
  local: Pick<OptionalLocalNode, 'node'>
}

export type Jobs = ReturnType<typeof openJobs>

export function openJobs(opened: AsyncDisposableStack, { local, ...parts }: JobsParts) {
  const { fleet, live, collector } = parts
  const waiting = new WaitingReasons(
    (nodeId) => fleet.get(nodeId)?.status.unreachableSinceMs ?? null,
    (jobId) => collector.liveOf(jobId),
    ({ id, nodeId }) => {
      const node = nodeId === null ? undefined : fleet.get(nodeId)
      const jobid = node?.client.whyPending === undefined ? undefined : live.ofJob(id)?.jobid
      const why = jobid === undefined ? null : (node?.client.whyPending?.(jobid) ?? null)
      return why === null ? null : { node: node!.stored.name, why: asParam(why) }
    }
  )
  const dispatch = opened.adopt(new Dispatch({ ...parts, waiting }), stop)
  return {
    waiting,
    dispatch,
    wakeDispatcher: () => dispatch.wake(),
    describeNode: (node: FleetNode): Node => describeNode(node, live, local.node, dispatch.stuckSinceMs(node.stored.id))
  }
}

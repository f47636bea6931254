import type { Node, NodeRun } from '../../shared/contract/index.ts'
import { showUnseen } from '../../shared/unseen.ts'
import type { Client } from '../api/wire.ts'
import { cancelSoon } from '../ui/cancel-grace.tsx'
import { notifyDone, notifyError } from '../ui/notify.tsx'

/** Nodes list any names. */
export const externalName = ({ project, spider }: Pick<NodeRun, 'project' | 'spider'>): string =>
  showUnseen(`${project}/${spider}`)

/** Of its row, and of its cancel. */
export const externalId = (nodeId: string, { project, jobid }: Pick<NodeRun, 'project' | 'jobid'>): string =>
  `${nodeId} ${project} ${jobid}`

/** Sends one signal to a job that others started on a node, and says what that did. */
export function cancelExternal(
  client: Client,
  node: Pick<Node, 'id' | 'name'>,
  run: Pick<NodeRun, 'project' | 'spider' | 'jobid'>
): void {
  const name = externalName(run)
  const send = async () => {
    try {
      const { wasState } = await client.nodes.cancelExternal({ id: node.id, project: run.project, jobid: run.jobid })
      notifyDone(
        wasState === null
          ? `${name} has already ended.`
          : wasState === 'pending'
            ? `${name} was removed from the queue of ${node.name}.`
            : `Cancel of ${name} on ${node.name} requested. Cancel again to kill it.`
      )
    } catch (error) {
      notifyError(`Could not cancel ${name} on ${node.name}`, error)
    }
  }
  cancelSoon({ ids: [externalId(node.id, run)], name, send })
}

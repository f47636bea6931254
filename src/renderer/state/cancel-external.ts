import type { Node, NodeRun } from '../../shared/contract/index.ts'
import { showUnseen } from '../../shared/unseen.ts'
import type { Client } from '../api/wire.ts'
import { notifyDone, notifyError } from '../ui/notify.tsx'

/** Nodes list any names. */
export const externalName = ({ project, spider }: Pick<NodeRun, 'project' | 'spider'>): string =>
  showUnseen(`${project}/${spider}`)

/** Sends one signal to a job that others started on a node, and says what that did. Never rejects. */
export async function cancelExternal(
  client: Client,
  node: Pick<Node, 'id' | 'name'>,
  run: Pick<NodeRun, 'project' | 'spider' | 'jobid'>
): Promise<void> {
  const name = externalName(run)
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

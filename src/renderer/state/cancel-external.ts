import type { Node, NodeRun } from '../../shared/contract/index.ts'
import { showUnseen } from '../../shared/unseen.ts'
import type { Client } from '../api/wire.ts'
import { cancelSoon } from '../ui/cancel-grace.tsx'
import { notifyDone, notifyError } from '../ui/notify.tsx'
import { texts } from '../../shared/texts/ui/shared.ts'

/** The name of an external job, made safe to show, because names on a node can contain any character. */
export const externalName = ({ project, spider }: Pick<NodeRun, 'project' | 'spider'>): string =>
  showUnseen(`${project}/${spider}`)

/** Identifies the job's row and its pending cancel. */
export const externalId = (nodeId: string, { project, jobid }: Pick<NodeRun, 'project' | 'jobid'>): string =>
  `${nodeId} ${project} ${jobid}`

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
          ? texts.jobHasEnded(name)
          : wasState === 'pending'
            ? texts.externalJobRemoved(name, node.name)
            : texts.externalCancelSent(name, node.name)
      )
    } catch (error) {
      notifyError(texts.couldNotCancelExternal(name, node.name), error)
    }
  }
  cancelSoon({ ids: [externalId(node.id, run)], name, send })
}

import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { Node } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { notifyDone, notifyError, notifyUndo } from '../../ui/notify.tsx'
import { plural } from '../../ui/numbers.ts'

/**
 * Removes at once with Undo, which adds the node again as it was. If jobs run there, or if that would lose a secret
 * that only the engine knows, a dialog first says what will be lost.
 */
export function useRemoveNode(node: Node, onRemoved: () => void) {
  const { client, query } = useApi()
  const [asking, setAsking] = useState(false)
  const ours = node.runs.filter(({ jobId }) => jobId !== null).length
  const hasProxy = node.proxyUrl !== null && node.proxyUrl !== 'direct'
  const hasSecrets = node.hasPassword || node.hasCaCertificate || node.hasClientCertificate || hasProxy
  const canUndo = ours === 0 && !hasSecrets
  const restore = async () => {
    const { url, username, proxyUrl, name, slots, slotsSource, tags, queueAhead, giveUpAfterSeconds, group, logsKept } =
      node
    const settings = {
      name,
      slots: slotsSource === 'set' ? slots : null,
      tags,
      queueAhead,
      giveUpAfterSeconds,
      group,
      logsKept
    }
    const { id } = await client.nodes.add({ url, username, proxyUrl, ...settings })
    if (node.mode !== 'active') await client.nodes.setMode({ id, mode: node.mode })
  }
  const { mutate, isPending } = useMutation(
    query.nodes.remove.mutationOptions({
      onSuccess: () => {
        setAsking(false)
        onRemoved()
        if (canUndo) notifyUndo(`${node.name} was removed.`, restore)
        else notifyDone(`${node.name} was removed.`)
      },
      onError: (error) => notifyError(`Could not remove ${node.name}`, error)
    })
  )
  const confirmation = asking && (
    <ConfirmDialog
      title={`Remove ${node.name}?`}
      act="Remove"
      onAct={() => mutate({ id: node.id, force: ours > 0 })}
      isActing={isPending}
      keep="Keep it"
      onClose={() => setAsking(false)}
    >
      <ul>
        {ours > 0 && (
          <li>
            {plural(ours, 'job')} still running on this node will be marked as lost, although the spiders continue. To
            let them finish, drain the node first.
          </li>
        )}
        {node.hasPassword && <li>Its password is deleted. You need it to add the node again.</li>}
        {node.hasCaCertificate && <li>Its CA certificate is deleted.</li>}
        {node.hasClientCertificate && <li>Its client certificate and key are deleted.</li>}
        {hasProxy && <li>The address of its proxy, with any password, is deleted.</li>}
        <li>Its jobs stay in the history.</li>
      </ul>
    </ConfirmDialog>
  )
  return { remove: () => (canUndo ? mutate({ id: node.id }) : setAsking(true)), confirmation }
}

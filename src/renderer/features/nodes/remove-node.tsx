import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { Node } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { notifyDone, notifyError, notifyUndo } from '../../ui/notify.tsx'
import { texts } from '../../../shared/texts/ui/nodes.ts'

/**
 * Removes a node immediately, with an Undo that adds it again unchanged. If jobs are running on it, or if a secret
 * that only the engine knows would be lost, a dialog first says what will be lost.
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
        if (canUndo) notifyUndo(texts.wasRemoved(node.name), restore)
        else notifyDone(texts.wasRemoved(node.name))
      },
      onError: (error) => notifyError(texts.couldNotRemove(node.name), error)
    })
  )
  const confirmation = asking && (
    <ConfirmDialog
      title={texts.askRemove(node.name)}
      act={texts.remove}
      onAct={() => mutate({ id: node.id, force: ours > 0 })}
      isActing={isPending}
      keep={texts.keepIt}
      onClose={() => setAsking(false)}
    >
      <ul>
        {ours > 0 && <li>{texts.removeRunningJobs(ours)}</li>}
        {node.hasPassword && <li>{texts.removePassword}</li>}
        {node.hasCaCertificate && <li>{texts.removeCaCertificate}</li>}
        {node.hasClientCertificate && <li>{texts.removeClientCertificate}</li>}
        {hasProxy && <li>{texts.removeProxy}</li>}
        <li>{texts.removeKeepsJobs}</li>
      </ul>
    </ConfirmDialog>
  )
  return { remove: () => (canUndo ? mutate({ id: node.id }) : setAsking(true)), confirmation }
}

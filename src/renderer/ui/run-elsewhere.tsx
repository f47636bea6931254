import { Button } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { NodeId } from '../../shared/contract/index.ts'
import { readJobs } from '../api/read-jobs.ts'
import { useApi } from '../api/api.tsx'
import { useMay } from '../api/use-me.ts'
import { ConfirmDialog } from './confirm-dialog.tsx'
import { Dialog, DialogFoot, DialogText } from './dialog.tsx'
import { notifyDone, notifyError } from './notify.tsx'
import { texts } from '../../shared/texts/ui/shared.ts'

/** Gives up the live runs of a node that does not respond, after explaining what that means. */
export function RunElsewhereButton({ nodeId, nodeName }: { nodeId: NodeId; nodeName: string }) {
  const { client, query } = useApi()
  const { may } = useMay('jobs.run')
  const [ids, setIds] = useState<string[] | null>(null)
  const close = () => setIds(null)
  const read = useMutation({
    mutationFn: () => readJobs(client, { nodeId, status: ['starting', 'running'] }),
    onSuccess: (jobs) => setIds(jobs.map(({ id }) => id)),
    onError: (error) => notifyError(texts.couldNotLoadTheLiveJobs(nodeName), error)
  })
  const giveUp = useMutation(
    query.jobs.runElsewhere.mutationOptions({
      onMutate: close,
      onSuccess: ({ changed }) =>
        notifyDone(
          changed.length === 0
            ? texts.nothingWasChangedIsReachable(nodeName)
            : texts.jobOfQueuedForOtherNodes(changed.length, nodeName)
        ),
      onError: (error) => notifyError(texts.couldNotRunTheJobsOf(nodeName), error)
    })
  )
  if (!may) return null
  const title = texts.runJobsOfElsewhere(nodeName)
  return (
    <>
      <Button loading={read.isPending} onClick={() => read.mutate()}>
        {texts.runElsewhere}
      </Button>
      {ids?.length === 0 && (
        <Dialog opened onClose={close} title={title}>
          <DialogText>{texts.thereAreNoLiveJobsOn(nodeName)}</DialogText>
          <DialogFoot>
            <Button onClick={close}>{texts.close2}</Button>
          </DialogFoot>
        </Dialog>
      )}
      {ids !== null && ids.length > 0 && (
        <ConfirmDialog
          title={title}
          act={texts.runElsewhere}
          onAct={() => giveUp.mutate({ ids })}
          focusesAct
          onClose={close}
        >
          {ids.length === 1 ? texts.n1JobWasLiveOnWhen(nodeName) : texts.jobWereLiveOnWhenIt(ids.length, nodeName)}
        </ConfirmDialog>
      )}
    </>
  )
}

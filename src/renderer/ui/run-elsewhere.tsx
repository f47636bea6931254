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

export function RunElsewhereButton({ nodeId, nodeName }: { nodeId: NodeId; nodeName: string }) {
  const { client, query } = useApi()
  const { may } = useMay('jobs.run')
  const [ids, setIds] = useState<string[] | null>(null)
  const close = () => setIds(null)
  const read = useMutation({
    mutationFn: () => readJobs(client, { nodeId, status: ['starting', 'running'] }),
    onSuccess: (jobs) => setIds(jobs.map(({ id }) => id)),
    onError: (error) => notifyError(texts.couldNotLoadLiveJobs(nodeName), error)
  })
  const giveUp = useMutation(
    query.jobs.runElsewhere.mutationOptions({
      onMutate: close,
      onSuccess: ({ changed }) =>
        notifyDone(
          changed.length === 0
            ? texts.nothingRunElsewhere(nodeName)
            : texts.jobsQueuedElsewhere(changed.length, nodeName)
        ),
      onError: (error) => notifyError(texts.couldNotRunElsewhere(nodeName), error)
    })
  )
  if (!may) return null
  const title = texts.runElsewhereQuestion(nodeName)
  return (
    <>
      <Button loading={read.isPending} onClick={() => read.mutate()}>
        {texts.runElsewhere}
      </Button>
      {ids?.length === 0 && (
        <Dialog opened onClose={close} title={title}>
          <DialogText>{texts.noLiveJobs(nodeName)}</DialogText>
          <DialogFoot>
            <Button onClick={close}>{texts.close}</Button>
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
          {texts.runElsewhereHint(ids.length, nodeName)}
        </ConfirmDialog>
      )}
    </>
  )
}

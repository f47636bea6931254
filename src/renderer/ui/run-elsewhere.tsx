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
import { plural } from './numbers.ts'

/** Gives up the live runs of a node that does not respond, after explaining what that means. */
export function RunElsewhereButton({ nodeId, nodeName }: { nodeId: NodeId; nodeName: string }) {
  const { client, query } = useApi()
  const { may } = useMay('jobs.run')
  const [ids, setIds] = useState<string[] | null>(null)
  const close = () => setIds(null)
  const read = useMutation({
    mutationFn: () => readJobs(client, { nodeId, status: ['starting', 'running'] }),
    onSuccess: (jobs) => setIds(jobs.map(({ id }) => id)),
    onError: (error) => notifyError(`Could not load the live jobs of ${nodeName}`, error)
  })
  const giveUp = useMutation(
    query.jobs.runElsewhere.mutationOptions({
      onMutate: close,
      onSuccess: ({ changed }) =>
        notifyDone(
          changed.length === 0
            ? `Nothing was changed: ${nodeName} is reachable again, or its jobs have ended.`
            : `${plural(changed.length, 'job')} of ${nodeName} queued for other nodes.`
        ),
      onError: (error) => notifyError(`Could not run the jobs of ${nodeName} elsewhere`, error)
    })
  )
  if (!may) return null
  const title = `Run jobs of ${nodeName} elsewhere?`
  return (
    <>
      <Button loading={read.isPending} onClick={() => read.mutate()}>
        Run elsewhere
      </Button>
      {ids?.length === 0 && (
        <Dialog opened onClose={close} title={title}>
          <DialogText>There are no live jobs on {nodeName}.</DialogText>
          <DialogFoot>
            <Button onClick={close}>Close</Button>
          </DialogFoot>
        </Dialog>
      )}
      {ids !== null && ids.length > 0 && (
        <ConfirmDialog
          title={title}
          act="Run elsewhere"
          onAct={() => giveUp.mutate({ ids })}
          focusesAct
          onClose={close}
        >
          {ids.length === 1
            ? `1 job was live on ${nodeName} when it last responded. It is queued again for other nodes. If it still runs there, it runs twice and is marked.`
            : `${plural(ids.length, 'job')} were live on ${nodeName} when it last responded. They are queued again for other nodes. Those that still run there run twice and are marked.`}
        </ConfirmDialog>
      )}
    </>
  )
}

import { ActionIcon } from '@mantine/core'
import { IconArrowBackUp, IconPlayerStopFilled } from '@tabler/icons-react'
import type { Job } from '../../../shared/contract/index.ts'
import { undoCancel, useCancelCountdown, usePendingCancels } from '../../ui/cancel-grace.tsx'
import { StatusText } from '../../ui/status.tsx'
import classes from './jobs-screen.module.css'
import { texts } from '../../../shared/texts/ui/jobs.ts'

/** The fields that a cancel needs. Not a whole job, because the running screen does not have one. */
export interface CancelTarget extends Pick<Job, 'project' | 'spider' | 'state' | 'status' | 'cancelAskedAtMs'> {
  id: string
}

export function isCancelling(job: CancelTarget): boolean {
  return job.cancelAskedAtMs !== null && job.state !== 'ended'
}

/** Cancels a live job with one click. Until the stop signal is sent, the same button offers Undo. */
export function CancelCell<One extends CancelTarget>({ job, cancel }: { job: One; cancel: (job: One) => unknown }) {
  const isPending = usePendingCancels(({ byId }) => byId.has(job.id))
  const name = `${job.project}/${job.spider}`
  if (job.state === 'ended' || (isCancelling(job) && !isPending)) return null
  return (
    <ActionIcon
      className={classes.cancel}
      data-pending={isPending || undefined}
      size={24}
      variant="subtle"
      color="gray"
      tabIndex={-1}
      aria-label={isPending ? texts.undoCancelOf(name) : texts.cancelLabel(name)}
      title={isPending ? texts.undo : texts.cancel}
      onClick={() => (isPending ? undoCancel(job.id) : cancel(job))}
    >
      {isPending ? <IconArrowBackUp size={15} /> : <IconPlayerStopFilled size={13} />}
    </ActionIcon>
  )
}

export function PendingCancel({ job }: { job: CancelTarget }) {
  return <StatusText status={job.status} word={useCancelCountdown(job.id) ?? undefined} />
}

import { ActionIcon, Button, Group } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconArrowBackUp, IconPlayerStopFilled } from '@tabler/icons-react'
import { useEffect } from 'react'
import type { Job } from '../../../shared/contract/index.ts'
import { useNow } from '../../ui/clock.ts'
import { showNotice } from '../../ui/notify.tsx'
import { StatusText } from '../../ui/status.tsx'
import classes from './jobs-screen.module.css'
import { cancelSoon, GRACE_MS, undoCancel, usePendingCancels } from './pending-cancels.ts'

/** What a cancel needs to know of a job: rows of live ones have no more. */
export interface CancelTarget extends Pick<Job, 'project' | 'spider' | 'state' | 'status' | 'cancelAskedAtMs'> {
  /** Of a job of ours, or of the row of another. */
  id: string
}

/** Cancellation requested, not yet confirmed. */
export function isCancelling(job: CancelTarget): boolean {
  return job.cancelAskedAtMs !== null && job.state !== 'ended'
}

/** Cancels a live job with one click; until the stop signal is sent, the same place undoes it. */
export function CancelCell<One extends CancelTarget>({
  job,
  cancelOne
}: {
  job: One
  cancelOne: (job: One) => Promise<void>
}) {
  const isPending = usePendingCancels(({ sentAtMs }) => sentAtMs.has(job.id))
  const name = `${job.project}/${job.spider}`
  if (job.state === 'ended' || (isCancelling(job) && !isPending)) return null
  const label = isPending ? `Undo the cancel of ${name}` : `Cancel ${name}`
  const cancel = () => {
    // A queued job returns to its place even after it was cancelled, so it needs no grace.
    if (job.state === 'queued') return void cancelOne(job)
    const close = () => notifications.hide(noticeId(job.id))
    showNotice({
      id: noticeId(job.id),
      autoClose: false,
      withCloseButton: false,
      message: <GraceNotice id={job.id} name={name} />
    })
    cancelSoon(job.id, () => {
      close()
      void cancelOne(job)
    })
  }
  return (
    <ActionIcon
      className={classes.cancel}
      data-pending={isPending || undefined}
      size={24}
      variant="subtle"
      color="gray"
      tabIndex={-1}
      aria-label={label}
      title={isPending ? 'Undo' : 'Cancel'}
      onClick={() => (isPending ? undo(job.id) : cancel())}
    >
      {isPending ? <IconArrowBackUp size={15} /> : <IconPlayerStopFilled size={13} />}
    </ActionIcon>
  )
}

const noticeId = (id: string) => `cancel-${id}`

function undo(id: string): void {
  undoCancel(id)
  notifications.hide(noticeId(id))
}

/** The shared clock may be a second behind. */
const secondsLeft = (atMs: number | undefined, nowMs: number) =>
  Math.min(GRACE_MS / 1000, Math.max(0, Math.ceil(((atMs ?? nowMs) - nowMs) / 1000)))

/** Until the cancel is sent, the row says when that will be. */
export function PendingCancel({ job }: { job: CancelTarget }) {
  const nowMs = useNow()
  const atMs = usePendingCancels(({ sentAtMs }) => sentAtMs.get(job.id))
  return <StatusText status={job.status} word={`cancel in ${secondsLeft(atMs, nowMs)} s`} />
}

function GraceNotice({ id, name }: { id: string; name: string }) {
  const nowMs = useNow()
  const atMs = usePendingCancels(({ sentAtMs }) => sentAtMs.get(id))
  useEffect(() => {
    if (atMs === undefined) notifications.hide(noticeId(id))
  }, [atMs, id])
  return (
    <Group justify="space-between" wrap="nowrap">
      <span id={noticeId(id)} role="status">
        Cancelling {name} in {secondsLeft(atMs, nowMs)} s.
        <span className={classes.graceNote}>Closing this page cancels it immediately.</span>
      </span>
      <Button flex="none" aria-describedby={noticeId(id)} onClick={() => undo(id)}>
        Undo
      </Button>
    </Group>
  )
}

import { Button } from '@mantine/core'
import type { Schedule } from '../../../shared/contract/index.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { plural } from '../../ui/numbers.ts'
import type { useScheduleActions } from './use-schedule-actions.tsx'

interface RemoveDialogProps {
  schedules: readonly Schedule[]
  actions: ReturnType<typeof useScheduleActions>
  onClose: () => void
  onRemoved?: () => void
}

/** A history cannot be restored, so this asks first instead of offering Undo, and suggests pausing. */
export function RemoveDialog({ schedules, actions, onClose, onRemoved }: RemoveDialogProps) {
  const [only] = schedules
  const isOne = schedules.length === 1 && only !== undefined
  const what = isOne ? only.name : plural(schedules.length, 'schedule')
  const canPause = schedules.some(({ paused }) => !paused)
  const pause = () => {
    void actions.setPaused(schedules, true)
    onClose()
  }
  return (
    <ConfirmDialog
      title={`Remove ${what}?`}
      act="Remove"
      onAct={() => actions.remove.mutate(schedules, { onSettled: onClose, onSuccess: () => onRemoved?.() })}
      isActing={actions.remove.isPending}
      keep={isOne ? 'Keep it' : 'Keep them'}
      instead={canPause && <Button onClick={pause}>Pause instead</Button>}
      onClose={onClose}
    >
      {isOne ? 'The schedule and its history are' : 'The schedules and their histories are'} deleted. Jobs that{' '}
      {isOne ? 'it' : 'they'} created are kept, and running jobs continue.
    </ConfirmDialog>
  )
}

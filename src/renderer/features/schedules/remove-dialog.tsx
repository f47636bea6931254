import { Button, Modal } from '@mantine/core'
import type { Schedule } from '../../../shared/contract/index.ts'
import { DialogFoot, DialogText } from '../../ui/dialog.tsx'
import { plural } from '../../ui/numbers.ts'
import type { useScheduleActions } from './use-schedule-actions.tsx'

interface RemoveDialogProps {
  schedules: readonly Schedule[]
  actions: ReturnType<typeof useScheduleActions>
  onClose: () => void
  onRemoved?: () => void
}

/** A history cannot be brought back, so this is asked and not undone; to pause is offered instead. */
export function RemoveDialog({ schedules, actions, onClose, onRemoved }: RemoveDialogProps) {
  const [only] = schedules
  const isOne = schedules.length === 1 && only !== undefined
  const what = isOne ? only.name : plural(schedules.length, 'schedule')
  const canPause = schedules.some(({ paused }) => !paused)
  return (
    <Modal opened onClose={onClose} title={`Remove ${what}?`} size={460}>
      <DialogText>
        {isOne ? 'It fires no more, and its history goes' : 'They fire no more, and their histories go'} with{' '}
        {isOne ? 'it' : 'them'}. Jobs that {isOne ? 'it' : 'they'} made stay, and those that run go on.
      </DialogText>
      <DialogFoot>
        <Button onClick={onClose}>Keep {isOne ? 'it' : 'them'}</Button>
        {canPause && (
          <Button
            onClick={() => {
              void actions.setPaused(schedules, true)
              onClose()
            }}
          >
            Pause instead
          </Button>
        )}
        <Button
          variant="filled"
          color="red"
          loading={actions.remove.isPending}
          onClick={() =>
            actions.remove.mutate(schedules, {
              onSettled: onClose,
              onSuccess: () => onRemoved?.()
            })
          }
        >
          Remove
        </Button>
      </DialogFoot>
    </Modal>
  )
}

import { Button, Stack, TextInput } from '@mantine/core'
import type { Schedule } from '../../../shared/contract/index.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import type { useScheduleActions } from './use-schedule-actions.tsx'
import { useState } from 'react'
import { Dialog, DialogFoot } from '../../ui/dialog.tsx'
import { texts } from '../../../shared/texts/ui/schedules.ts'

interface RemoveDialogProps {
  schedules: readonly Schedule[]
  actions: ReturnType<typeof useScheduleActions>
  onClose: () => void
  onRemoved?: () => void
}

/** A history cannot be restored, so this asks for confirmation, suggests pausing, and offers no Undo. */
export function RemoveDialog({ schedules, actions, onClose, onRemoved }: RemoveDialogProps) {
  const [only] = schedules
  const isOne = schedules.length === 1 && only !== undefined
  const what = isOne ? only.name : texts.scheduleCount(schedules.length)
  const canPause = schedules.some(({ paused }) => !paused)
  const pause = () => {
    void actions.setPaused(schedules, true)
    onClose()
  }
  return (
    <ConfirmDialog
      title={texts.askRemove(what)}
      act={texts.remove}
      onAct={() => actions.remove.mutate(schedules, { onSettled: onClose, onSuccess: () => onRemoved?.() })}
      isActing={actions.remove.isPending}
      keep={isOne ? texts.keepIt : texts.keepThem}
      instead={canPause && <Button onClick={pause}>{texts.pauseInstead}</Button>}
      onClose={onClose}
    >
      {isOne ? texts.removeHint : texts.removeManyHint}
    </ConfirmDialog>
  )
}

interface PauseDialogProps {
  schedule: Schedule
  actions: ReturnType<typeof useScheduleActions>
  onClose: () => void
}

export function PauseDialog({ schedule, actions, onClose }: PauseDialogProps) {
  const [note, setNote] = useState('')
  return (
    <Dialog opened onClose={onClose} title={texts.pauseTitle(schedule.name)} size={420}>
      <Stack
        component="form"
        gap={12}
        onSubmit={(event) => {
          event.preventDefault()
          void actions.setPaused([schedule], true, note.trim() || null)
          onClose()
        }}
      >
        <TextInput
          label={texts.note}
          description={texts.noteHint}
          placeholder={texts.noteExample}
          value={note}
          maxLength={1000}
          data-autofocus
          onChange={(event) => setNote(event.currentTarget.value)}
        />
        <p className="dim">{texts.pauseHint}</p>
        <DialogFoot>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button type="submit" variant="filled">
            {texts.pauseSchedule}
          </Button>
        </DialogFoot>
      </Stack>
    </Dialog>
  )
}

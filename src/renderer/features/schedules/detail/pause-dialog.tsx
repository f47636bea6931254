import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Schedule } from '../../../../shared/contract/index.ts'
import { Dialog, DialogFoot } from '../../../ui/dialog.tsx'
import type { useScheduleActions } from '../use-schedule-actions.tsx'
import classes from './schedule-detail.module.css'

interface PauseDialogProps {
  schedule: Schedule
  actions: ReturnType<typeof useScheduleActions>
  onClose: () => void
}

/** Pauses with a note, so that the next person sees why. */
export function PauseDialog({ schedule, actions, onClose }: PauseDialogProps) {
  const [note, setNote] = useState('')
  return (
    <Dialog opened onClose={onClose} title={`Pause ${schedule.name}`} size={420}>
      <form
        className={classes.form}
        onSubmit={(event) => {
          event.preventDefault()
          void actions.setPaused([schedule], true, note.trim() || null)
          onClose()
        }}
      >
        <TextInput
          label="Note"
          description="Reason and end of the pause, shown to all users"
          placeholder="Until the shop is back"
          value={note}
          maxLength={1000}
          data-autofocus
          onChange={(event) => setNote(event.currentTarget.value)}
        />
        <p className="dim">Running jobs continue. Runs that are due during the pause are skipped.</p>
        <DialogFoot>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="filled">
            Pause schedule
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  )
}

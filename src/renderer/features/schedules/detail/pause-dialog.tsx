import { Button, Modal, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Schedule } from '../../../../shared/contract/index.ts'
import { DialogFoot } from '../../../ui/dialog.tsx'
import type { useScheduleActions } from '../use-schedule-actions.tsx'
import classes from './schedule-detail.module.css'

interface PauseDialogProps {
  schedule: Schedule
  actions: ReturnType<typeof useScheduleActions>
  onClose: () => void
}

/** Pauses with a note: who comes next sees why. */
export function PauseDialog({ schedule, actions, onClose }: PauseDialogProps) {
  const [note, setNote] = useState('')
  return (
    <Modal opened onClose={onClose} title={`Pause ${schedule.name}`} size={420}>
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
          description="Why, and until when: shown to everybody who looks at it"
          placeholder="Until the shop is back"
          value={note}
          maxLength={1000}
          data-autofocus
          onChange={(event) => setNote(event.currentTarget.value)}
        />
        <p className="dim">What runs goes on. Nothing that falls into the pause is run later.</p>
        <DialogFoot>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="filled">
            Pause
          </Button>
        </DialogFoot>
      </form>
    </Modal>
  )
}

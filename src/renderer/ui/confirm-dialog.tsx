import { Button, Modal } from '@mantine/core'
import type { ReactNode } from 'react'
import { DialogFoot, DialogText } from './dialog.tsx'
import { FormFailure } from './fields/form-failure.tsx'

interface ConfirmDialogProps {
  /** A question that names the thing. */
  title: string
  /** What will happen. */
  children: ReactNode
  /** What the button does: a verb, with its object where the title does not say it. */
  act: string
  onAct: () => void
  isActing?: boolean
  /** Why it was refused, where no notice tells it. */
  error?: unknown
  /** It destroys nothing. */
  isHarmless?: boolean
  /** Enter does it at once. */
  focusesAct?: boolean
  /** The way out. */
  keep?: string
  /** Another way out, between the two. */
  instead?: ReactNode
  onClose: () => void
}

/** Asks before what cannot be undone. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { title, children, act, onAct, isActing, error = null, keep = 'Cancel', instead, onClose } = props
  return (
    <Modal opened onClose={onClose} title={title} size={460}>
      <DialogText>{children}</DialogText>
      <FormFailure error={error} />
      <DialogFoot>
        <Button onClick={onClose}>{keep}</Button>
        {instead}
        <Button
          variant="filled"
          color={props.isHarmless ? undefined : 'red'}
          loading={isActing}
          onClick={onAct}
          data-autofocus={props.focusesAct}
        >
          {act}
        </Button>
      </DialogFoot>
    </Modal>
  )
}

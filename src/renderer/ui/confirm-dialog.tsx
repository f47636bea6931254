import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { Dialog, DialogFoot, DialogText } from './dialog.tsx'
import { FormFailure } from './fields/form-failure.tsx'
import { texts } from '../../shared/texts/ui/shared.ts'

interface ConfirmDialogProps {
  title: string
  children: ReactNode
  /** The button's label: a verb, with its object if the title does not name it. */
  act: string
  onAct: () => void
  isActing?: boolean
  /** Why the action was refused, unless a notice shows it. */
  error?: unknown
  isHarmless?: boolean
  /** Whether to focus the action's button, so that Enter triggers it. */
  focusesAct?: boolean
  keep?: string
  instead?: ReactNode
  onClose: () => void
}

export function ConfirmDialog(props: ConfirmDialogProps) {
  const { title, children, act, onAct, isActing, error = null, keep = texts.cancel, instead, onClose } = props
  return (
    <Dialog opened onClose={onClose} title={title} size={460}>
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
    </Dialog>
  )
}

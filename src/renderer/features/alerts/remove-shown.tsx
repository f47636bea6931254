import { Button } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'

interface RemoveShownProps {
  act: string
  /** `Remove 3 rules` */
  label: string
  effect: string
  remove: () => Promise<unknown>
}

export function RemoveShown({ act, label, effect, remove }: RemoveShownProps) {
  const [isAsking, setAsking] = useState(false)
  const { mutate, isPending, error } = useMutation({ mutationFn: remove, onSuccess: () => setAsking(false) })
  return (
    <>
      <Button onClick={() => setAsking(true)}>{label}…</Button>
      {isAsking && (
        <ConfirmDialog
          title={`${label}?`}
          act={act}
          onAct={() => mutate()}
          isActing={isPending}
          error={error}
          onClose={() => setAsking(false)}
        >
          {effect}
        </ConfirmDialog>
      )}
    </>
  )
}

export const REMOVED_AT_ONCE = 1_000

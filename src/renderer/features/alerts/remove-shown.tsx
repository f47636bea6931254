import { Button } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { plural } from '../../ui/numbers.ts'

interface RemoveShownProps {
  act: 'Remove' | 'End'
  noun: 'rule' | 'silence'
  /** What will happen. */
  effect: string
  count: number
  remove: () => Promise<unknown>
}

/** Removes everything that a filter shows. */
export function RemoveShown({ act, noun, effect, count, remove }: RemoveShownProps) {
  const [isAsking, setAsking] = useState(false)
  const { mutate, isPending, error } = useMutation({ mutationFn: remove, onSuccess: () => setAsking(false) })
  const words = `${act} ${plural(count, noun)}`
  return (
    <>
      <Button onClick={() => setAsking(true)}>{words}…</Button>
      {isAsking && (
        <ConfirmDialog
          title={`${words}?`}
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

/** As many as one request takes. */
export const REMOVED_AT_ONCE = 1_000

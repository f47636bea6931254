import { Button, Modal } from '@mantine/core'
import { useBlocker } from '@tanstack/react-router'
import type { RefObject } from 'react'
import { DialogFoot, DialogText } from './dialog.tsx'

interface LeaveGuardProps {
  /** A sentence: what is not saved yet. null: nothing is lost by leaving. */
  unsaved: string | null
  /** Set by whoever leaves on purpose, before it does. */
  isLeaving: RefObject<boolean>
}

/** Asks before a screen is left by a link, a key, Back or the tab's end while something on it is not saved. */
export function LeaveGuard({ unsaved, isLeaving }: LeaveGuardProps) {
  const blocker = useBlocker({
    shouldBlockFn: () => unsaved !== null && !isLeaving.current,
    // A window of the desktop would only not close, and say nothing.
    enableBeforeUnload: () => unsaved !== null && window.scrapdeck === undefined,
    withResolver: true
  })
  if (blocker.status !== 'blocked') return null
  return (
    <Modal opened onClose={blocker.reset} title="Leave without saving?" size={420}>
      <DialogText>{unsaved}</DialogText>
      <DialogFoot>
        <Button onClick={blocker.reset}>Keep editing</Button>
        <Button variant="filled" color="red" onClick={blocker.proceed}>
          Discard and leave
        </Button>
      </DialogFoot>
    </Modal>
  )
}

import { useBlocker } from '@tanstack/react-router'
import type { RefObject } from 'react'
import { ConfirmDialog } from './confirm-dialog.tsx'

interface LeaveGuardProps {
  /** A sentence about what is not saved yet. null: nothing would be lost. */
  unsaved: string | null
  /** Set before the screen is left on purpose. */
  isLeaving: RefObject<boolean>
}

/** Asks before a link, a key, Back or closing the tab leaves a screen with unsaved changes. */
export function LeaveGuard({ unsaved, isLeaving }: LeaveGuardProps) {
  const blocker = useBlocker({
    shouldBlockFn: () => unsaved !== null && !isLeaving.current,
    // A desktop window would just not close, without a message.
    enableBeforeUnload: () => unsaved !== null && window.scrapdeck === undefined,
    withResolver: true
  })
  if (blocker.status !== 'blocked') return null
  return (
    <ConfirmDialog
      title="Leave without saving?"
      act="Discard and leave"
      onAct={blocker.proceed}
      keep="Keep editing"
      onClose={blocker.reset}
    >
      {unsaved}
    </ConfirmDialog>
  )
}

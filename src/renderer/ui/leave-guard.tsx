import { useBlocker } from '@tanstack/react-router'
import type { RefObject } from 'react'
import { ConfirmDialog } from './confirm-dialog.tsx'

interface LeaveGuardProps {
  /** A sentence: what is not saved yet. null: nothing is lost by leaving. */
  unsaved: string | null
  /** Set before the screen is left on purpose. */
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

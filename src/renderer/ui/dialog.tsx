import type { ReactNode } from 'react'
import classes from './dialog.module.css'

interface DialogFootProps {
  /** Shown before the buttons: what is missing, or what will happen. */
  says?: string
  children: ReactNode
}

/** The buttons of a dialog, visible however long it is. */
export function DialogFoot({ says, children }: DialogFootProps) {
  return (
    <footer className={classes.foot}>
      {says !== undefined && (
        <span className={classes.says} role="status">
          {says}
        </span>
      )}
      {children}
    </footer>
  )
}

/** What a dialog's question is about, in a sentence or two. */
export function DialogText({ children }: { children: ReactNode }) {
  return <div className={classes.text}>{children}</div>
}

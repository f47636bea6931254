import type { ReactNode } from 'react'
import classes from './list-screen.module.css'

/** What stands above a list: the head of the screen, and what belongs below it. */
export function ListHead({ children }: { children: ReactNode }) {
  return <div className={classes.head}>{children}</div>
}

/** A list and, beside it, the pane of the row that is open. */
export function ListAndPane({ children }: { children: ReactNode }) {
  return <div className={classes.split}>{children}</div>
}

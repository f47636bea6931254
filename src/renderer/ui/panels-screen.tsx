import type { ReactNode } from 'react'
import classes from './panels-screen.module.css'

/** A screen of panels one below the other, which scrolls as a whole. `isNarrow`: of forms and texts, not of tables. */
export function PanelsScreen({ isNarrow = false, children }: { isNarrow?: boolean; children: ReactNode }) {
  return (
    <div className={classes.screen} data-narrow={isNarrow || undefined}>
      {children}
    </div>
  )
}

import type { ReactNode } from 'react'
import classes from './banner.module.css'

/** A line above every screen: an icon, what is so in a `span`, and buttons. */
export function Banner({ isBad = false, children }: { isBad?: boolean; children: ReactNode }) {
  return (
    <div className={classes.banner} data-bad={isBad || undefined} role="status">
      {children}
    </div>
  )
}

import { Group } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './banner.module.css'

/** A line above every screen: an icon, a text in a `span`, and buttons. */
export function Banner({ isBad = false, children }: { isBad?: boolean; children: ReactNode }) {
  return (
    <Group gap={8} className={`${classes.banner} fixed`} data-bad={isBad || undefined} role="status">
      {children}
    </Group>
  )
}

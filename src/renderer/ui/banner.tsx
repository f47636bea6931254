import { Group } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './banner.module.css'

export function Banner({ isBad = false, children }: { isBad?: boolean; children: ReactNode }) {
  return (
    <Group gap={8} className={`${classes.banner} fixed`} data-bad={isBad || undefined} role="status">
      {children}
    </Group>
  )
}

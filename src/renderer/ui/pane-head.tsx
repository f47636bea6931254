import { ActionIcon, Tooltip } from '@mantine/core'
import { IconX } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import classes from './pane-head.module.css'

interface PaneHeadProps {
  /** Completes "Close …". */
  what: string
  /** Its name and state. */
  children: ReactNode
  menu?: ReactNode
  onClose: () => void
}

/** The head of a detail pane: what it shows, and a button that closes it. */
export function PaneHead({ what, children, menu, onClose }: PaneHeadProps) {
  return (
    <header className={classes.head}>
      {children}
      <span className={classes.acts}>
        {menu}
        <Tooltip label="Close (Esc)">
          <ActionIcon onClick={onClose} aria-label={`Close ${what}`}>
            <IconX size={16} />
          </ActionIcon>
        </Tooltip>
      </span>
    </header>
  )
}

import { ActionIcon, Tooltip } from '@mantine/core'
import { IconX } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import classes from './pane-head.module.css'

/** What a pane beside a view shows, and the way to close it; `what` completes "Close the …". */
export function PaneHead({ title, what, onClose }: { title: ReactNode; what: string; onClose: () => void }) {
  return (
    <header className={classes.head}>
      <h2>{title}</h2>
      <Tooltip label="Close (Esc)">
        <ActionIcon onClick={onClose} aria-label={`Close ${what}`}>
          <IconX size={16} />
        </ActionIcon>
      </Tooltip>
    </header>
  )
}

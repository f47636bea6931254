import { ActionIcon, Button } from '@mantine/core'
import { IconX } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import classes from './filter-bar.module.css'

interface FilterBarProps {
  /** Filters without a field of their own, each with a button that removes it. */
  chips?: readonly { label: string; onRemove: () => void }[]
  /** null: nothing is filtered. */
  onClear: (() => void) | null
  /** Its fields. */
  children: ReactNode
}

/** The filters of a list, below the head of its screen. */
export function FilterBar({ chips = [], onClear, children }: FilterBarProps) {
  return (
    <div className={classes.bar} role="group" aria-label="Filter">
      {children}
      {chips.map(({ label, onRemove }) => (
        <span key={label} className={classes.chip}>
          <span className="ellipsis">{label}</span>
          <ActionIcon size={18} aria-label={`Remove filter ${label}`} onClick={onRemove}>
            <IconX size={12} />
          </ActionIcon>
        </span>
      ))}
      {onClear !== null && (
        <Button size="compact-sm" variant="subtle" color="gray" onClick={onClear}>
          Clear filter
        </Button>
      )}
    </div>
  )
}

import { Button, Group } from '@mantine/core'
import type { ReactNode } from 'react'
import { Kbd } from './kbd.tsx'
import classes from './marks-bar.module.css'
import { plural } from './numbers.ts'

interface MarksBarProps {
  /** How many are marked, and what one is called. */
  count: number
  noun: string
  /** The actions on all of them. */
  children: ReactNode
  onClear: () => void
}

/** Below a list: what can be done with the marked rows. */
export function MarksBar({ count, noun, children, onClear }: MarksBarProps) {
  return (
    <Group gap={8} className={classes.bar} role="toolbar" aria-label={`Selected ${noun}s`}>
      <strong>{plural(count, noun)} selected</strong>
      {children}
      <Button variant="subtle" color="gray" onClick={onClear} rightSection={<Kbd>Esc</Kbd>}>
        Clear selection
      </Button>
    </Group>
  )
}

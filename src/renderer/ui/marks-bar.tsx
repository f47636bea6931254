import { Button, Group } from '@mantine/core'
import type { ReactNode } from 'react'
import { Kbd } from './kbd.tsx'
import classes from './marks-bar.module.css'
import { texts } from '../../shared/texts/ui/shared.ts'

interface MarksBarProps {
  /** `Selected alerts` */
  label: string
  /** `3 alerts selected` */
  selected: string
  children: ReactNode
  onClear: () => void
}

export function MarksBar({ label, selected, children, onClear }: MarksBarProps) {
  return (
    <Group gap={8} className={classes.bar} role="toolbar" aria-label={label}>
      <strong className="semibold">{selected}</strong>
      {children}
      <Button variant="subtle" color="gray" onClick={onClear} rightSection={<Kbd>{texts.escapeKey}</Kbd>}>
        {texts.clearSelection}
      </Button>
    </Group>
  )
}

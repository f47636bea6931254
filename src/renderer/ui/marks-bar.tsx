import { Button, Group } from '@mantine/core'
import type { ReactNode } from 'react'
import { Kbd } from './kbd.tsx'
import classes from './marks-bar.module.css'
import { plural } from './numbers.ts'
import { texts } from '../../shared/texts/ui/shared.ts'

interface MarksBarProps {
  count: number
  noun: string
  children: ReactNode
  onClear: () => void
}

export function MarksBar({ count, noun, children, onClear }: MarksBarProps) {
  return (
    <Group gap={8} className={classes.bar} role="toolbar" aria-label={texts.selectedToolbar(noun)}>
      <strong className="semibold">{texts.selectedCount(plural(count, noun))}</strong>
      {children}
      <Button variant="subtle" color="gray" onClick={onClear} rightSection={<Kbd>{texts.escapeKey}</Kbd>}>
        {texts.clearSelection}
      </Button>
    </Group>
  )
}

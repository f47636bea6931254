import { Group } from '@mantine/core'
import { IconAlertTriangle, IconCheck, IconX } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import classes from './outcome-line.module.css'

const ICONS = { ok: IconCheck, bad: IconX, wait: IconAlertTriangle }

interface OutcomeLineProps {
  tone: keyof typeof ICONS
  /** `alert`: something is wrong now. `status`: the result of an action. */
  role: 'alert' | 'status'
  children: ReactNode
}

export function OutcomeLine({ tone, role, children }: OutcomeLineProps) {
  const Icon = ICONS[tone]
  return (
    <Group align="stretch" gap={6} wrap="nowrap" className={`${classes.line} break`} role={role}>
      <Icon size={15} className={`tone-${tone}`} aria-hidden />
      <span>{children}</span>
    </Group>
  )
}

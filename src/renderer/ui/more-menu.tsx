import { ActionIcon, Menu } from '@mantine/core'
import { IconDots, IconDotsVertical } from '@tabler/icons-react'
import type { ReactNode } from 'react'

interface MoreMenuProps {
  label: string
  /** In pixels. */
  size?: number
  isVertical?: boolean
  children: ReactNode
}

export function MoreMenu({ label, size, isVertical = false, children }: MoreMenuProps) {
  const Icon = isVertical ? IconDotsVertical : IconDots
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon size={size} aria-label={label}>
          <Icon size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>{children}</Menu.Dropdown>
    </Menu>
  )
}

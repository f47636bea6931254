import { ActionIcon, Button, Flex, Group, TextInput } from '@mantine/core'
import { IconX, IconSearch } from '@tabler/icons-react'
import type { ReactNode, RefObject } from 'react'
import classes from './filter-bar.module.css'
import filterBoxClasses from './filter-box.module.css'
import { texts } from '../../shared/texts/ui/shared.ts'

interface FilterBarProps {
  /** Filters without their own field, each with a button that removes it. */
  chips?: readonly { label: string; onRemove: () => void }[]
  onClear: (() => void) | null
  children: ReactNode
}

export function FilterBar({ chips = [], onClear, children }: FilterBarProps) {
  return (
    <Group gap={8} className={classes.bar} role="group" aria-label={texts.filter}>
      {children}
      {chips.map(({ label, onRemove }) => (
        <Flex key={label} component="span" display="inline-flex" align="center" gap={4} className={classes.chip}>
          <span className="ellipsis">{label}</span>
          <ActionIcon size={18} aria-label={texts.removeFilter(label)} onClick={onRemove}>
            <IconX size={12} />
          </ActionIcon>
        </Flex>
      ))}
      {onClear !== null && (
        <Button size="compact-sm" variant="subtle" color="gray" onClick={onClear}>
          {texts.clearFilter}
        </Button>
      )}
    </Group>
  )
}

export interface FilterBoxProps {
  label: string
  placeholder: string
  value: string
  onChange: (value: string) => void
  onClear?: () => void
  inputRef?: RefObject<HTMLInputElement | null>
}

/** Esc clears and leaves the box. */
export function FilterBox({ label, placeholder, value, onChange, onClear, inputRef }: FilterBoxProps) {
  return (
    <TextInput
      ref={inputRef}
      className={filterBoxClasses.box}
      placeholder={placeholder}
      aria-label={label}
      leftSection={<IconSearch size={14} />}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return
        if (onClear === undefined) onChange('')
        else onClear()
        event.currentTarget.blur()
      }}
    />
  )
}

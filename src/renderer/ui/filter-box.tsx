import { TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import type { RefObject } from 'react'
import classes from './filter-box.module.css'

export interface FilterBoxProps {
  /** `Filter nodes` */
  label: string
  /** What it searches. */
  placeholder: string
  value: string
  onChange: (value: string) => void
  /** Default: empties the box. */
  onClear?: () => void
}

interface InputRef {
  inputRef?: RefObject<HTMLInputElement | null>
}

/** Filters a screen's table while typing; Esc clears and leaves it. */
export function FilterBox({ label, placeholder, value, onChange, onClear, inputRef }: FilterBoxProps & InputRef) {
  return (
    <TextInput
      ref={inputRef}
      className={classes.box}
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

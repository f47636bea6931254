import { Button, Checkbox, Popover, TextInput } from '@mantine/core'
import { IconColumns } from '@tabler/icons-react'
import { useState } from 'react'
import type { ItemColumn } from '../../../shared/contract/index.ts'
import { ITEMS_BOUNDS } from '../../../shared/contract/index.ts'
import classes from './items-screen.module.css'

interface ColumnsMenuProps {
  columns: readonly ItemColumn[]
  hasMoreFields: boolean
  shown: readonly string[]
  onChange: (shown: string[]) => void
}

/** Which fields the table has. Their order stays that of the items. */
export function ColumnsMenu({ columns, hasMoreFields, shown, onChange }: ColumnsMenuProps) {
  const [search, setSearch] = useState('')
  const isShown = new Set(shown)
  const found = columns.filter(({ name }) => name.toLowerCase().includes(search.toLowerCase()))
  const toggle = (name: string) => {
    const next = new Set(isShown)
    if (!next.delete(name)) next.add(name)
    onChange(columns.map((column) => column.name).filter((each) => next.has(each)))
  }
  return (
    <Popover position="bottom-end" shadow="md" width={260} trapFocus>
      <Popover.Target>
        <Button leftSection={<IconColumns size={14} />}>
          Columns{' '}
          <span className="faint">
            &nbsp;{shown.length}/{columns.length}
          </span>
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        {columns.length > 12 && (
          <TextInput
            aria-label="Find a field"
            placeholder="Find a field"
            value={search}
            onChange={(event) => setSearch(event.currentTarget.value)}
          />
        )}
        <div className={classes.columns}>
          {found.map(({ name, type }) => (
            <Checkbox
              key={name}
              label={
                <>
                  {name === '' ? '(no name)' : name} <span className="faint">{type}</span>
                </>
              }
              checked={isShown.has(name)}
              disabled={!isShown.has(name) && shown.length >= ITEMS_BOUNDS.pageColumns}
              onChange={() => toggle(name)}
            />
          ))}
        </div>
        {hasMoreFields && <p className={classes.note}>There are more fields. Open an item to see all of them.</p>}
      </Popover.Dropdown>
    </Popover>
  )
}

import { Menu } from '@mantine/core'
import {
  IconChartBar,
  IconEyeOff,
  IconFilterOff,
  IconSortAscending,
  IconSortDescending,
  IconX
} from '@tabler/icons-react'
import type { ItemsSort } from './items-filter.ts'
import classes from './items-screen.module.css'

interface FieldHeaderProps {
  name: string
  sort: ItemsSort | undefined
  /** Why there is neither sorting nor statistics; null: there is. */
  engineProblem: string | null
  onSort: (sort: ItemsSort | undefined) => void
  onStatistics: () => void
  onOnlyFilled: () => void
  onHide: () => void
}

/** A column's name, with what can be done with its field. */
export function FieldHeader({ name, sort, engineProblem, ...act }: FieldHeaderProps) {
  const isSorted = sort?.field === name
  const isMissing = engineProblem !== null
  return (
    <Menu position="bottom-start">
      <Menu.Target>
        <button type="button" className={classes.fieldHeader} aria-label={`Field ${name}`}>
          <span className="ellipsis">{name === '' ? '(no name)' : name}</span>
          {isSorted && <i aria-hidden>{sort.descending ? '↓' : '↑'}</i>}
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        {isMissing && <Menu.Label className={classes.missing}>{engineProblem}</Menu.Label>}
        <Menu.Item
          leftSection={<IconSortAscending size={14} />}
          disabled={isMissing}
          onClick={() => act.onSort({ field: name, descending: false })}
        >
          Sort ascending
        </Menu.Item>
        <Menu.Item
          leftSection={<IconSortDescending size={14} />}
          disabled={isMissing}
          onClick={() => act.onSort({ field: name, descending: true })}
        >
          Sort descending
        </Menu.Item>
        {isSorted && (
          <Menu.Item leftSection={<IconX size={14} />} onClick={() => act.onSort(undefined)}>
            Clear sorting
          </Menu.Item>
        )}
        <Menu.Item leftSection={<IconChartBar size={14} />} disabled={isMissing} onClick={act.onStatistics}>
          Statistics
        </Menu.Item>
        <Menu.Item leftSection={<IconFilterOff size={14} />} onClick={act.onOnlyFilled}>
          Hide items without a value
        </Menu.Item>
        <Menu.Item leftSection={<IconEyeOff size={14} />} onClick={act.onHide}>
          Hide column
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

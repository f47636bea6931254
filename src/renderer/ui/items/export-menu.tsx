import { ActionIcon, Button, Menu } from '@mantine/core'
import { IconDownload, IconX } from '@tabler/icons-react'
import type { ItemCondition, ItemsFormat } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { plural } from '../numbers.ts'
import { useDownload } from '../use-download.ts'
import { exportItems } from './export-items.ts'
import classes from './items.module.css'
import type { ItemsOf } from './items-of.ts'

interface ExportMenuProps {
  of: ItemsOf
  filter?: ItemCondition[]
  /** Why there is no Parquet; null: there is. */
  engineProblem: string | null
}

const FORMATS: { format: ItemsFormat; label: string; hint?: string }[] = [
  { format: 'jsonl', label: 'JSON lines' },
  { format: 'json', label: 'JSON' },
  {
    format: 'csv',
    label: 'CSV',
    hint: 'Values are exported unchanged. A spreadsheet may run values that begin with = as formulas.'
  },
  { format: 'parquet', label: 'Parquet' }
]

/** Exports what the filter selects, and shows how far it is. */
export function ExportMenu({ of, filter = [], engineProblem }: ExportMenuProps) {
  const { client } = useApi()
  const { progress: share, start, cancel } = useDownload('Could not export the items')

  const exportAs = (format: ItemsFormat) =>
    start(async (signal, onProgress) => {
      const count = await exportItems({ items: client.items, of, format, filter, signal, onProgress })
      return `Exported ${plural(count, 'item')}`
    })

  if (share !== null) {
    return (
      <span className={classes.exporting} role="status">
        Exporting… {Math.floor(100 * share)} %
        <ActionIcon aria-label="Cancel export" onClick={cancel}>
          <IconX size={14} />
        </ActionIcon>
      </span>
    )
  }
  return (
    <Menu>
      <Menu.Target>
        <Button leftSection={<IconDownload size={14} />}>Export</Button>
      </Menu.Target>
      <Menu.Dropdown>
        {filter.length > 0 && <Menu.Label>Only items that match the filter</Menu.Label>}
        {FORMATS.map(({ format, label, hint }) => {
          const problem = format === 'parquet' ? engineProblem : null
          return (
            <Menu.Item key={format} disabled={problem !== null} onClick={() => void exportAs(format)}>
              {label}
              {(problem ?? hint) !== undefined && <span className={classes.hint}>{problem ?? hint}</span>}
            </Menu.Item>
          )
        })}
      </Menu.Dropdown>
    </Menu>
  )
}

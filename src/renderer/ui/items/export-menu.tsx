import { ActionIcon, Button, Menu } from '@mantine/core'
import { IconDownload, IconX } from '@tabler/icons-react'
import type { ItemCondition, ItemsFormat } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useDownload } from '../use-download.ts'
import classes from './items.module.css'
import type { ItemsOf } from './items-facts.ts'
import type { Client } from '../../api/wire.ts'
import { bytesOf } from '../base64.ts'
import { saveFile } from '../save-file.ts'
import { texts } from '../../../shared/texts/ui/shared.ts'

interface ExportMenuProps {
  of: ItemsOf
  filter?: ItemCondition[]
  engineProblem: string | null
}

const FORMATS: { format: ItemsFormat; label: string; hint?: string }[] = [
  { format: 'jsonl', label: texts.jsonLines },
  { format: 'json', label: 'JSON' },
  {
    format: 'csv',
    label: 'CSV',
    hint: texts.csvHint
  },
  { format: 'parquet', label: texts.parquet }
]

export function ExportMenu({ of, filter = [], engineProblem }: ExportMenuProps) {
  const { client } = useApi()
  const { progress: share, start, cancel } = useDownload(texts.couldNotExportItems)

  const exportAs = (format: ItemsFormat) =>
    start(async (signal, onProgress) => {
      const count = await exportItems({ items: client.items, of, format, filter, signal, onProgress })
      return texts.itemsExported(count)
    })

  if (share !== null) {
    return (
      <span className="inline" role="status">
        {texts.exporting(Math.floor(100 * share))}
        <ActionIcon aria-label={texts.cancelExport} onClick={cancel}>
          <IconX size={14} />
        </ActionIcon>
      </span>
    )
  }
  return (
    <Menu>
      <Menu.Target>
        <Button leftSection={<IconDownload size={14} />}>{texts.exportItems}</Button>
      </Menu.Target>
      <Menu.Dropdown>
        {filter.length > 0 && <Menu.Label>{texts.exportFilterHint}</Menu.Label>}
        {FORMATS.map(({ format, label, hint }) => {
          const problem = format === 'parquet' ? engineProblem : null
          return (
            <Menu.Item key={format} disabled={problem !== null} onClick={() => void exportAs(format)}>
              {label}
              {(problem ?? hint) !== undefined && <span className={`${classes.hint} dim`}>{problem ?? hint}</span>}
            </Menu.Item>
          )
        })}
      </Menu.Dropdown>
    </Menu>
  )
}

interface ExportOptions {
  items: Client['items']
  of: ItemsOf
  format: ItemsFormat
  filter: ItemCondition[]
  signal: AbortSignal
  /** From 0 to 1. The first half is for writing the file, the second for fetching it. */
  onProgress: (share: number) => void
}

/** Resolves to the number of items. */
async function exportItems(options: ExportOptions): Promise<number> {
  const { name, items, parts } = await fetchExport(options)
  saveFile(name, parts)
  return items
}

/** Fetches the file in pieces, because the desktop's transport cannot download files. */
async function fetchExport({ items, of, format, filter, signal, onProgress }: ExportOptions) {
  for await (const { share, file } of await items.export({ ...of, format, filter }, { signal })) {
    onProgress(share / 2)
    if (file === null) continue
    const parts: Uint8Array<ArrayBuffer>[] = []
    for (let offset: number | null = 0; offset !== null; ) {
      const piece: { base64: string; nextOffset: number | null } = await items.readExport(
        { id: file.id, offset },
        { signal }
      )
      parts.push(bytesOf(piece.base64))
      offset = piece.nextOffset
      onProgress(0.5 + (offset ?? file.sizeBytes) / Math.max(1, file.sizeBytes) / 2)
    }
    return { name: file.name, items: file.items, parts }
  }
  throw new Error('The export ended without a file')
}

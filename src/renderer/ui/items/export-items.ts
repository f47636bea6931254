import type { ItemCondition, ItemsFormat } from '../../../shared/contract/index.ts'
import type { Client } from '../../api/wire.ts'
import { bytesOf } from '../base64.ts'
import { saveFile } from '../save-file.ts'
import type { ItemsOf } from './items-of.ts'

export interface ExportOptions {
  items: Client['items']
  of: ItemsOf
  format: ItemsFormat
  filter: ItemCondition[]
  signal: AbortSignal
  /** From 0 to 1: half of it is writing, half is fetching. */
  onProgress: (share: number) => void
}

/** Has the items written into a file, fetches it, and hands it to the browser; the number of items. */
export async function exportItems(options: ExportOptions): Promise<number> {
  const { name, items, parts } = await fetchExport(options)
  saveFile(name, parts)
  return items
}

/** In pieces, because the desktop's wire knows no downloads. */
export async function fetchExport({ items, of, format, filter, signal, onProgress }: ExportOptions) {
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

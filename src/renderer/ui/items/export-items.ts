import type { ItemCondition, ItemsFormat } from '../../../shared/contract/index.ts'
import type { Client } from '../../api/wire.ts'
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
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob(parts))
  link.download = name
  link.click()
  // Some browsers open the URL only later.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
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

/** A loop, because `Uint8Array.from` with a function takes a third of a second for each piece. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64)
  const bytes = new Uint8Array(binary.length)
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at)
  return bytes
}

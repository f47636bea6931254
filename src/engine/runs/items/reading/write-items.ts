import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import type { ItemCondition, ItemsFormat } from '../../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../../shared/errors.ts'
import { sentence } from '../../../../shared/texts/errors/runs.ts'
import type { ExportedFile, ItemsSource } from '../messages.ts'
import { matches } from './filter.ts'
import { type Item, parseItem, type RawItem, textOf } from './raw-item.ts'
import { type Head, readItems } from './read-items.ts'

const BUFFER_BYTES = 1024 * 1024
const FIELDS_MAX = 5_000

export interface WriteOptions {
  format: Exclude<ItemsFormat, 'parquet'>
  filter: readonly ItemCondition[]
  targetPath: string
  maxBytes: number
  onProgress?: (share: number) => void
}

export async function writeItems(
  source: ItemsSource,
  head: Head,
  options: WriteOptions,
  signal: AbortSignal
): Promise<ExportedFile> {
  const { format, filter, targetPath, maxBytes, onProgress = () => {} } = options
  const columns = format === 'csv' ? await allFields(source, head, signal, (share) => onProgress(share / 2)) : []
  const target = createWriteStream(targetPath, { mode: 0o600, highWaterMark: BUFFER_BYTES })
  const failed = once(target, 'error').then(([error]) => Promise.reject(explainFull(error as Error)))
  failed.catch(() => {})
  let sizeBytes = 0
  let items = 0
  const write = async (text: string | Buffer): Promise<void> => {
    sizeBytes += Buffer.byteLength(text)
    if (sizeBytes > maxBytes) throw new ScrapdeckError('ITEMS_TOO_LARGE', sentence('runs.export_too_large_unfiltered'))
    if (!target.write(text)) await Promise.race([once(target, 'drain'), failed])
  }
  try {
    if (format === 'csv') await write(`${columns.map(quoteCell).join(',')}\r\n`)
    if (format === 'json') await write('[')
    for await (const batch of readItems(source, head, signal)) {
      const parts: (string | Buffer)[] = []
      for (const raw of batch.items) {
        const item = parseItem(raw, format === 'csv')
        if (item === null || !matches(item, filter)) continue
        if (format === 'json') parts.push(items === 0 ? '\n' : ',\n')
        parts.push(format === 'csv' ? csvLine(item, columns) : raw.bytes!)
        if (format === 'jsonl') parts.push('\n')
        items += 1
      }
      if (parts.length > 0) await write(Buffer.concat(parts.map((part) => Buffer.from(part))))
      const share = batch.readBytes / Math.max(1, source.sizeBytes)
      onProgress(format === 'csv' ? 0.5 + share / 2 : share)
    }
    if (format === 'json') await write('\n]\n')
    target.end()
    await Promise.race([once(target, 'close'), failed])
    return { sizeBytes, items }
  } catch (error) {
    target.destroy()
    await rm(targetPath, { force: true })
    throw error
  }
}

/** Converts the file to JSON lines for DuckDB, at `convertedPath`. Keeps lines that are not items. */
export async function convertToLines(source: ItemsSource, head: Head, signal: AbortSignal): Promise<void> {
  const unfinished = `${source.convertedPath}.part`
  const target = createWriteStream(unfinished, { mode: 0o600, highWaterMark: BUFFER_BYTES })
  const failed = once(target, 'error').then(([error]) => Promise.reject(explainFull(error as Error)))
  failed.catch(() => {})
  let writtenBytes = 0
  try {
    for await (const { items } of readItems(source, head, signal)) {
      const text = Buffer.concat(items.flatMap((raw) => [lineOf(raw), Buffer.from('\n')]))
      writtenBytes += text.length
      if (writtenBytes > source.convertedMaxBytes)
        throw new ScrapdeckError('ITEMS_TOO_LARGE', sentence('runs.items_too_large_for_duckdb'))
      if (!target.write(text)) await Promise.race([once(target, 'drain'), failed])
    }
    target.end()
    await Promise.race([once(target, 'close'), failed])
    await rename(unfinished, source.convertedPath)
  } catch (error) {
    target.destroy()
    await rm(unfinished, { force: true })
    throw error
  }
}

/** A line that is too long for an item becomes `null`, so that the numbers of the other lines stay the same. */
const lineOf = ({ bytes }: RawItem): Buffer => bytes ?? Buffer.from('null')

/** The header of a CSV file comes first, so all fields must be known in advance. */
async function allFields(
  source: ItemsSource,
  head: Head,
  signal: AbortSignal,
  onProgress: (share: number) => void
): Promise<string[]> {
  const found = new Set<string>()
  for await (const { items, readBytes } of readItems(source, head, signal)) {
    for (const raw of items) for (const name of Object.keys(parseItem(raw) ?? {})) found.add(name)
    if (found.size > FIELDS_MAX) {
      const text = sentence('runs.too_many_fields', { fieldsMax: FIELDS_MAX })
      throw new ScrapdeckError('ITEMS_TOO_LARGE', text)
    }
    onProgress(readBytes / Math.max(1, source.sizeBytes))
  }
  return [...found]
}

/**
 * Does not escape values for spreadsheets, which can run a value that starts with `=`. docs/items.md warns about this.
 */
function csvLine(item: Item, columns: readonly string[]): string {
  const cells = columns.map((name) => quoteCell(textOf(Object.hasOwn(item, name) ? item[name] : null) ?? ''))
  return `${cells.join(',')}\r\n`
}

function quoteCell(text: string): string {
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

function explainFull(error: Error): Error {
  const { code } = error as NodeJS.ErrnoException
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return error
  return new ScrapdeckError('ITEMS_TOO_LARGE', sentence('runs.disk_full'), {
    cause: error
  })
}

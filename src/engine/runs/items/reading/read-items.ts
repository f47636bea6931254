import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { parse } from 'csv-parse'
import type { ItemsFacts } from '../../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../../shared/errors.ts'
import { sentence } from '../../../../shared/texts/errors/runs.ts'
import type { ItemsSource } from '../messages.ts'
import { ITEM_MAX_BYTES, PIECE_BYTES } from './bounds.ts'
import type { RawItem } from './raw-item.ts'
import { isBlank, type Splitter, splitLines } from './split-lines.ts'

export type Format = ItemsFacts['format']

const BOM = Buffer.from([0xef, 0xbb, 0xbf])
const HEAD_BYTES = 64 * 1024
const CSV_RECORDS_AT_ONCE = 500

export interface Head {
  format: Format
  startOffset: number
}

/** Detects the format from the first bytes. The name does not help, because a node calls every file `.jl`. */
export async function readHead(source: Pick<ItemsSource, 'path' | 'sizeBytes'>): Promise<Head> {
  const bytes = await readRange(source.path, 0, Math.min(HEAD_BYTES, source.sizeBytes))
  const startOffset = bytes.subarray(0, 3).equals(BOM) ? 3 : 0
  return { format: formatOf(bytes.subarray(startOffset)), startOffset }
}

function formatOf(head: Buffer): Format {
  if (isBlank(head)) return 'jsonl'
  const text = head.toString('utf8').trimStart()
  if (text.startsWith('{')) return 'jsonl'
  // A JSON list is empty or starts with an object. Any other list is a line of JSON lines that is not an item.
  if (/^\[\s*(?:[{\]]|$)/.test(text)) return 'json'
  const [line = ''] = text.split(/\r?\n/, 1)
  // If the first line is broken JSON or a JSON value other than an object, JSON lines are more likely than CSV.
  const isText = !head.includes(0) && !/^["[\]]|^(?:-?\d|true$|false$|null$)/.test(line)
  if (isText && (line.includes(',') || /^[\w .-]{1,100}$/.test(line))) return 'csv'
  if (/\n\s*\{/.test(text)) return 'jsonl'
  if (isText || head.includes(0)) {
    throw new ScrapdeckError('ITEMS_UNREADABLE', sentence('runs.items_unreadable'))
  }
  return line.startsWith('"') && line.includes('",') ? 'csv' : 'jsonl'
}

/** Rejects if the file is not a regular file, because opening a pipe would wait for a writer. */
export async function readRange(path: string, offset: number, length: number): Promise<Buffer> {
  await using file = await openItems(path)
  const bytes = Buffer.allocUnsafe(length)
  const { bytesRead } = await file.read(bytes, 0, length, offset)
  return bytes.subarray(0, bytesRead)
}

async function openItems(path: string) {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((error: unknown) => {
    throw new ScrapdeckError('ITEMS_NOT_FOUND', sentence('runs.items_file_gone'), { cause: error })
  })
  if ((await file.stat()).isFile()) return file
  await file.close()
  throw new ScrapdeckError('ITEMS_NOT_FOUND', sentence('runs.items_not_a_file'))
}

export interface Place {
  index: number
  offset: number
}

export interface Batch {
  items: RawItem[]
  readBytes: number
}

/** Yields all items of a file in order, in batches. Reading pauses until the next batch is requested. */
export async function* readItems(
  source: Pick<ItemsSource, 'path' | 'sizeBytes'>,
  { format, startOffset }: Head,
  signal: AbortSignal,
  from: Place = { index: 0, offset: startOffset }
): AsyncGenerator<Batch> {
  await using file = await openItems(source.path)
  if (source.sizeBytes <= from.offset) return
  // A stream created with an aborted signal emits its error before it has a listener, which would crash the process.
  signal.throwIfAborted()
  const range = { start: from.offset, end: source.sizeBytes - 1, highWaterMark: PIECE_BYTES, autoClose: false, signal }
  const stream = file.createReadStream(range)
  if (format === 'csv') return yield* readCsv(stream, source.sizeBytes)
  const splitter: Splitter = format === 'json' ? splitArray() : splitLines(from)
  let readBytes = from.offset
  for await (const piece of stream as AsyncIterable<Buffer>) {
    readBytes += piece.length
    yield { items: splitter.push(piece), readBytes }
  }
  yield { items: splitter.end(), readBytes }
}

async function* readCsv(stream: Readable, sizeBytes: number): AsyncGenerator<Batch> {
  const parser = parse({
    bom: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: ITEM_MAX_BYTES
  })
  let readBytes = 0
  stream.on('data', (piece: Buffer) => {
    readBytes += piece.length
  })
  stream.on('error', (error) => parser.destroy(error))
  let header: string[] | null = null
  let items: RawItem[] = []
  let index = 0
  try {
    for await (const record of stream.pipe(parser) as AsyncIterable<string[]>) {
      if (header === null) {
        header = record
        continue
      }
      items.push({ index: index++, bytes: Buffer.from(JSON.stringify(itemOf(header, record))), endOffset: readBytes })
      if (items.length < CSV_RECORDS_AT_ONCE) continue
      yield { items, readBytes }
      items = []
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'CSV_QUOTE_NOT_CLOSED') items.push({ index, bytes: null, endOffset: sizeBytes })
    else if (code?.startsWith('CSV_') === true) {
      const text = sentence('runs.row_not_csv', { index, error: (error as Error).message })
      throw new ScrapdeckError('ITEMS_UNREADABLE', text, { cause: error })
    } else throw error
  } finally {
    stream.destroy()
  }
  yield { items, readBytes }
}

function itemOf(header: string[], record: string[]): Record<string, string> {
  // No prototype, because a column can be called __proto__.
  const item = Object.create(null) as Record<string, string>
  record.forEach((value, at) => {
    item[header[at] ?? `column ${at + 1}`] = value
  })
  return item
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPENING = new Set([0x5b, 0x7b])
const CLOSING = new Set([0x5d, 0x7d])

/** Splits a JSON array of any layout. Scrapy writes one element per line. Other tools indent elements. */
function splitArray(): Splitter {
  let index = 0
  let offset = 0
  /** The nesting depth. 1: between the elements of the array. */
  let depth = 0
  let isInText = false
  let isEscaped = false
  let hasEnded = false
  let kept: Buffer[] = []
  let keptBytes = 0
  const keep = (part: Buffer): void => {
    keptBytes += part.length
    if (keptBytes > ITEM_MAX_BYTES) kept = []
    else if (part.length > 0) kept.push(Buffer.from(part))
  }
  const take = (endOffset: number): RawItem[] => {
    const bytes = keptBytes > ITEM_MAX_BYTES ? null : onOneLine(Buffer.concat(kept))
    kept = []
    keptBytes = 0
    return bytes !== null && bytes.length === 0 ? [] : [{ index: index++, bytes, endOffset }]
  }
  return {
    push(piece) {
      const items: RawItem[] = []
      let from = 0
      for (let at = 0; at < piece.length && !hasEnded; at += 1) {
        const byte = piece[at]!
        if (isInText) {
          if (isEscaped) isEscaped = false
          else if (byte === BACKSLASH) isEscaped = true
          else if (byte === QUOTE) isInText = false
        } else if (byte === QUOTE) {
          isInText = true
        } else if (OPENING.has(byte)) {
          depth += 1
          if (depth === 1) from = at + 1
        } else if (CLOSING.has(byte) || (byte === COMMA && depth === 1)) {
          if (byte !== COMMA) depth -= 1
          if (depth > 1 || (depth === 1 && byte !== COMMA)) continue
          keep(piece.subarray(from, at))
          for (const item of take(offset + at + 1)) items.push(item)
          from = at + 1
          hasEnded = depth <= 0
        }
      }
      if (depth > 0) keep(piece.subarray(from))
      offset += piece.length
      return items
    },
    end: () => (hasEnded ? [] : take(offset))
  }
}

/** In JSON, line breaks occur only between tokens, so replacing them with spaces makes an element one JSON line. */
function onOneLine(bytes: Buffer): Buffer {
  for (let at = 0; at < bytes.length; at += 1) if (bytes[at] === 0x0a || bytes[at] === 0x0d) bytes[at] = 0x20
  let start = 0
  let end = bytes.length
  while (start < end && bytes[start]! <= 0x20) start += 1
  while (end > start && bytes[end - 1]! <= 0x20) end -= 1
  return bytes.subarray(start, end)
}

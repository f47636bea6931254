import type { ItemColumn, ItemRow } from '../../../../shared/contract/index.ts'
import type { ItemsSource } from '../messages.ts'
import { CELL_MAX_CHARACTERS, COLUMNS_MAX } from './bounds.ts'
import { type Item, parseItem, type RawItem, textOf, typeOf, type ValueType } from './raw-item.ts'
import { type Head, readItems, readRange } from './read-items.ts'
import { splitLines } from './split-lines.ts'

const SAMPLED_ITEMS = 1_000
const SAMPLED_BYTES = 2 * 1024 * 1024
/** How many bytes are sampled in the middle and at the end of a JSON lines file. Some fields first appear late. */
const LATER_SAMPLE_BYTES = 256 * 1024

export interface Columns {
  columns: ItemColumn[]
  hasMoreFields: boolean
}

export async function inferColumns(source: ItemsSource, head: Head, signal: AbortSignal): Promise<Columns> {
  const found = new Map<string, Set<ValueType>>()
  let hasMoreFields = false
  const add = (item: Item | null): void => {
    for (const [name, value] of Object.entries(item ?? {})) {
      const types = found.get(name)
      if (types !== undefined) types.add(typeOf(value))
      else if (found.size < COLUMNS_MAX && name.length <= 200) found.set(name, new Set([typeOf(value)]))
      else hasMoreFields = true
    }
  }
  let sampled = 0
  for await (const { items, readBytes } of readItems(source, head, signal)) {
    for (const raw of items.slice(0, SAMPLED_ITEMS - sampled)) add(parseItem(raw))
    sampled += items.length
    if (sampled >= SAMPLED_ITEMS || readBytes - head.startOffset >= SAMPLED_BYTES) break
  }
  if (head.format === 'jsonl' && source.sizeBytes > 2 * SAMPLED_BYTES) {
    for (const from of [source.sizeBytes / 2, source.sizeBytes - LATER_SAMPLE_BYTES]) {
      for (const raw of await sampleAt(source, Math.floor(from))) add(parseItem(raw))
    }
  }
  return { columns: [...found].map(([name, types]) => ({ name, type: oneTypeOf(types) })), hasMoreFields }
}

async function sampleAt(source: ItemsSource, offset: number): Promise<RawItem[]> {
  const lines = splitLines({ index: 0, offset }).push(await readRange(source.path, offset, LATER_SAMPLE_BYTES))
  return lines.slice(1)
}

function oneTypeOf(types: Set<ValueType>): ItemColumn['type'] {
  const [type, ...others] = [...types].filter((one) => one !== 'null') as Exclude<ValueType, 'null'>[]
  return type === undefined ? 'empty' : others.length > 0 ? 'mixed' : type
}

export function rowOf(raw: RawItem, columns: readonly string[]): ItemRow {
  const item = parseItem(raw, true)
  if (item === null) return { index: raw.index, cells: null }
  const cells = columns.map((name) => {
    const value = Object.hasOwn(item, name) ? item[name] : undefined
    if (value === undefined) return null
    const text = textOf(value) ?? ''
    const isCut = text.length > CELL_MAX_CHARACTERS
    return { type: typeOf(value), text: isCut ? text.slice(0, CELL_MAX_CHARACTERS) : text, isCut }
  })
  return { index: raw.index, cells }
}

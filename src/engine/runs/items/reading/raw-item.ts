import { isUtf8 } from 'node:buffer'

export type Item = Record<string, unknown>

/** One line or element of a file, in the order of the file. */
export interface RawItem {
  index: number
  /** JSON. null: longer than ITEM_MAX_BYTES. */
  bytes: Buffer | null
  /** Behind it in the file. */
  endOffset: number
}

/** null: it is no item. `exact` keeps numbers as they are written; JSON.stringify writes them so. */
export function parseItem({ bytes }: Pick<RawItem, 'bytes'>, exact = false): Item | null {
  if (bytes === null || !isUtf8(bytes)) return null
  const text = bytes.toString('utf8')
  const value = exact ? (parseJson(text, keepNumber) ?? parseJson(text)) : parseJson(text)
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Item) : null
}

function parseJson(text: string, reviver?: Parameters<typeof JSON.parse>[1]): unknown {
  try {
    return JSON.parse(text, reviver)
  } catch {
    // Broken, or (with a reviver) nested too deeply: reported as a line without an item.
    return null
  }
}

interface WithRawJson {
  rawJSON(text: string): object
  isRawJSON(value: unknown): value is { rawJSON: string }
}
const Raw = JSON as unknown as WithRawJson

/** 12345678901234567890 or 1.0 would become another text as a JavaScript number. */
function keepNumber(this: unknown, _key: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source
  return typeof value === 'number' && source !== undefined && String(value) !== source ? Raw.rawJSON(source) : value
}

export type ValueType = 'text' | 'number' | 'boolean' | 'null' | 'nested'

export function typeOf(value: unknown): ValueType {
  if (value === null) return 'null'
  if (typeof value === 'string') return 'text'
  if (typeof value === 'number' || Raw.isRawJSON(value)) return 'number'
  return typeof value === 'boolean' ? 'boolean' : 'nested'
}

/** A value as users and filters see it; null: absent or null. The SQL of `->>` gives the same. */
export function textOf(value: unknown): string | null {
  if (value === undefined || value === null) return null
  if (typeof value === 'string') return value
  try {
    return JSON.stringify(value)
  } catch {
    // Nested more deeply than the stack allows.
    return Array.isArray(value) ? '[…]' : '{…}'
  }
}

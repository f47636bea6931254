import { isUtf8 } from 'node:buffer'

export type Item = Record<string, unknown>

export interface RawItem {
  index: number
  /** JSON. Null if longer than ITEM_MAX_BYTES. */
  bytes: Buffer | null
  endOffset: number
}

/** Null: not an item. `exact` keeps the spelling of numbers; JSON.stringify then writes them unchanged. */
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
    // The JSON is invalid or, with a reviver, nested too deeply. The line is reported as a line without an item.
    return null
  }
}

interface WithRawJson {
  rawJSON(text: string): object
  isRawJSON(value: unknown): value is { rawJSON: string }
}
const Raw = JSON as unknown as WithRawJson

/** As JavaScript numbers, 12345678901234567890 and 1.0 would be written differently. */
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

/** A value as users and filters see it. Null: absent or null. SQL's `->>` returns the same. */
export function textOf(value: unknown): string | null {
  if (value === undefined || value === null) return null
  if (typeof value === 'string') return value
  try {
    return JSON.stringify(value)
  } catch {
    // The value is nested too deeply for the stack.
    return Array.isArray(value) ? '[…]' : '{…}'
  }
}

import type { ItemCondition } from '../../../../shared/contract/index.ts'
import { type Item, textOf } from './raw-item.ts'

/** Whether an item meets all conditions. The SQL in duckdb/queries.ts must select the same items, as a test checks. */
export function matches(item: Item, filter: readonly ItemCondition[]): boolean {
  return filter.every((condition) =>
    meets(textOf(Object.hasOwn(item, condition.field) ? item[condition.field] : null), condition)
  )
}

function meets(text: string | null, { operator, value }: ItemCondition): boolean {
  switch (operator) {
    case 'empty':
      return text === null || text === ''
    case 'not empty':
      return text !== null && text !== ''
    case 'is':
      return text !== null && isSame(text, value)
    case 'is not':
      return text === null || !isSame(text, value)
    case 'contains':
      return text?.toLowerCase().includes(value.toLowerCase()) ?? false
    case 'starts with':
      return text?.toLowerCase().startsWith(value.toLowerCase()) ?? false
    case 'greater':
      return text !== null && compare(text, value) > 0
    case 'less':
      return text !== null && compare(text, value) < 0
  }
}

function isSame(text: string, value: string): boolean {
  if (text === value) return true
  const number = numberOf(value)
  return number !== null && numberOf(text) === number
}

/** Compares as numbers if the filter's value is a number. Other text is then neither greater nor less. */
function compare(text: string, value: string): number {
  const wanted = numberOf(value)
  if (wanted === null) return Buffer.compare(Buffer.from(text), Buffer.from(value))
  const number = numberOf(text)
  return number === null ? Number.NaN : number - wanted
}

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i

export function numberOf(text: string): number | null {
  if (!NUMBER.test(text)) return null
  const number = Number(text)
  return Number.isFinite(number) ? number : null
}

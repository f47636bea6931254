import { ItemCondition } from '../../../shared/contract/index.ts'
import { texts } from '../../../shared/texts/ui/items.ts'

export const OPERATORS = ItemCondition.shape.operator.options
export const MOST_CONDITIONS = 10

/** Reads conditions from the address; drops anything invalid. */
export function parseWhere(where: string | undefined): ItemCondition[] {
  if (where === undefined) return []
  try {
    const parsed = ItemCondition.array().max(MOST_CONDITIONS).safeParse(JSON.parse(where))
    return parsed.success ? parsed.data : []
  } catch {
    // Not JSON, so this app did not write it.
    return []
  }
}

export const formatWhere = (conditions: readonly ItemCondition[]): string | undefined =>
  conditions.length === 0 ? undefined : JSON.stringify(conditions)

export const takesValue = ({ operator }: Pick<ItemCondition, 'operator'>): boolean =>
  operator !== 'empty' && operator !== 'not empty'

/** `price greater 10`, `isbn is empty`. */
export function describeCondition({ field, operator, value }: ItemCondition): string {
  if (operator === 'empty' || operator === 'not empty') return texts.is(field, operator)
  return `${field} ${operator === 'greater' || operator === 'less' ? texts.than(operator) : operator} ${value}`
}

export interface ItemsSort {
  field: string
  descending: boolean
}

export const parseSort = (sort: string | undefined): ItemsSort | undefined =>
  sort === undefined ? undefined : { field: sort.replace(/^-/, ''), descending: sort.startsWith('-') }

export const formatSort = ({ field, descending }: ItemsSort): string => `${descending ? '-' : ''}${field}`

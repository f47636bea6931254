import { ItemCondition } from '../../../shared/contract/index.ts'
import { texts } from '../../../shared/texts/ui/items.ts'

export const OPERATOR = ItemCondition.shape.operator.enum
export const OPERATOR_LABELS: Record<ItemCondition['operator'], string> = {
  is: texts.is,
  'is not': texts.isNot,
  contains: texts.contains,
  'starts with': texts.startsWith,
  empty: texts.isEmpty,
  'not empty': texts.isNotEmpty,
  greater: texts.isGreaterThan,
  less: texts.isLessThan
}
export const MOST_CONDITIONS = 10

/** Reads conditions from the URL. If any is invalid, drops all of them. */
export function parseWhere(where: string | undefined): ItemCondition[] {
  if (where === undefined) return []
  try {
    const parsed = ItemCondition.array().max(MOST_CONDITIONS).safeParse(JSON.parse(where))
    return parsed.success ? parsed.data : []
  } catch {
    return []
  }
}

export const formatWhere = (conditions: readonly ItemCondition[]): string | undefined =>
  conditions.length === 0 ? undefined : JSON.stringify(conditions)

export const takesValue = ({ operator }: Pick<ItemCondition, 'operator'>): boolean =>
  operator !== 'empty' && operator !== 'not empty'

/** `price is greater than 10`, `isbn is empty`. */
export function describeCondition({ field, operator, value }: ItemCondition): string {
  const label = OPERATOR_LABELS[operator]
  return takesValue({ operator }) ? texts.conditionOf(field, label, value) : texts.conditionWithoutValue(field, label)
}

export interface ItemsSort {
  field: string
  descending: boolean
}

export const parseSort = (sort: string | undefined): ItemsSort | undefined =>
  sort === undefined ? undefined : { field: sort.replace(/^-/, ''), descending: sort.startsWith('-') }

export const formatSort = ({ field, descending }: ItemsSort): string => `${descending ? '-' : ''}${field}`

import type { DuckDBValue } from '@duckdb/node-api'
import type { ItemCondition } from '../../../../shared/contract/index.ts'
import { ITEM_MAX_BYTES } from '../reading/bounds.ts'
import { numberOf } from '../reading/filter.ts'

/** Collects bound values. The statement refers to them as `$1`, `$2`… */
export class Parameters {
  readonly values: DuckDBValue[] = []

  add(value: DuckDBValue): string {
    this.values.push(value)
    return `$${this.values.length}`
  }

  /** An item's field as text. SQL NULL if it is absent or null. */
  field(name: string): string {
    return `(json ->> ${this.add(pointerTo(name))})`
  }
}

/** The lines of a JSON lines file as `json`, numbered from 0 as `n`. NULL for a line that is not valid JSON. */
export function numberedLines(path: string): string {
  return `(SELECT row_number() OVER () - 1 AS n, json FROM ${lines(path)})`
}

/** Like `numberedLines`, but without numbers, because numbering costs as much as reading. */
export function lines(path: string): string {
  return `read_ndjson_objects(${quoteText(path)}, ignore_errors = true, compression = 'uncompressed', maximum_object_size = ${ITEM_MAX_BYTES})`
}

/** Whether a line is an item, by the rules of parseItem (reading/raw-item.ts). `json` is valid JSON or NULL. */
export const IS_ITEM = `(json IS NOT NULL AND strlen(json::VARCHAR) <= ${ITEM_MAX_BYTES} AND starts_with(json::VARCHAR, '{'))`

/** SQL that converts text to a number by the rules of numberOf (reading/filter.ts): no `inf`, no `nan`, no spaces. */
export function asNumber(text: string): string {
  return `(CASE WHEN regexp_full_match(${text}, '[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?') AND isfinite(TRY_CAST(${text} AS DOUBLE)) THEN TRY_CAST(${text} AS DOUBLE) END)`
}

/** Faster than `asNumber`. For sorting and statistics, where spaces around a number do not matter. */
export function asLooseNumber(text: string): string {
  return `(CASE WHEN isfinite(TRY_CAST(${text} AS DOUBLE)) THEN TRY_CAST(${text} AS DOUBLE) END)`
}

export function whereOf(filter: readonly ItemCondition[], parameters: Parameters): string {
  return filter.map((condition) => `AND ${termOf(condition, parameters)}`).join(' ')
}

/** Must select the same items as `matches` (reading/filter.ts). */
function termOf({ field, operator, value }: ItemCondition, parameters: Parameters): string {
  const text = parameters.field(field)
  const asked = () => `${parameters.add(value)}::VARCHAR`
  const number = numberOf(value)
  const same = () => {
    const isText = `${text} = ${asked()}`
    return number === null ? isText : `(${isText} OR ${asNumber(text)} = ${parameters.add(number)}::DOUBLE)`
  }
  switch (operator) {
    case 'empty':
      return `coalesce(${text}, '') = ''`
    case 'not empty':
      return `coalesce(${text}, '') <> ''`
    case 'is':
      return `coalesce(${same()}, false)`
    case 'is not':
      return `NOT coalesce(${same()}, false)`
    case 'contains':
      return `contains(lower(${text}), lower(${asked()}))`
    case 'starts with':
      return `starts_with(lower(${text}), lower(${asked()}))`
    case 'greater':
    case 'less': {
      const sign = operator === 'greater' ? '>' : '<'
      if (number === null) return `${text} ${sign} ${asked()}`
      return `${asNumber(text)} ${sign} ${parameters.add(number)}::DOUBLE`
    }
  }
}

/** Numbers sort before other text. Items without the field are last. */
export function orderOf({ field, descending }: { field: string; descending: boolean }, parameters: Parameters): string {
  const text = parameters.field(field)
  const direction = descending ? 'DESC' : 'ASC'
  return `ORDER BY (${text} IS NULL), ${asLooseNumber(text)} ${direction} NULLS LAST, ${text} ${direction}, n`
}

/** Only quoteName and quoteText put text into SQL. Bind everything else that comes from outside. */

export function quoteName(name: string): string {
  return `"${name.replaceAll('\0', '').replaceAll('"', '""')}"`
}

export function quoteText(text: string): string {
  if (text.includes('\0')) throw new Error('A path contains a NUL character')
  return `'${text.replaceAll("'", "''")}'`
}

/** A field as a JSON pointer (RFC 6901) for a bound parameter, so that no character in its name is special. */
export function pointerTo(field: string): string {
  return `/${field.replaceAll('~', '~0').replaceAll('/', '~1')}`
}

import type { Cell, ManySql } from '../sql/database.ts'

export const TYPES = { TEXT: 'text', INTEGER: 'bigint', REAL: 'double precision', BLOB: 'bytea' } as const

/**
 * A condition that is true for each row. The planner estimates that few rows meet it, so the plan looks them up by key
 * instead of scanning the table.
 */
const FEW = 'c0 IS NOT DISTINCT FROM c0'

/** SQL for `Database.prepareMany`. All rows are one parameter, so that the plan does not depend on their number. */
export function withGivenSql({ sql, given, with: other, isAlike = false }: ManySql): string {
  const names = Object.keys(given).map((name) => `"${name}"`)
  const cells = Object.values(given).map((kind, index) => `c${index} ${TYPES[kind]}`)
  const rows = isAlike
    ? `SELECT ${names.map((_name, index) => `coalesce(own.c${index}, same.c${index})`).join(', ')}
      FROM json_to_recordset($1::json) AS own(${cells.join(', ')}), json_to_record($2::json) AS same(${cells.join(', ')})`
    : `SELECT * FROM json_to_recordset($1::json) AS cells(${cells.join(', ')}) WHERE ${FEW}`
  return `WITH given(${names.join(', ')}) AS
    (${rows})${other === undefined ? '' : `, ${other}`}
    ${sql}`
}

export function givenValues(rows: readonly Cell[][], { isAlike = false }: Pick<ManySql, 'isAlike'>): string[] {
  if (!isAlike) return [asJson(rows)]
  const [first = [], ...others] = rows
  const isSame = first.map((cell, index) => others.every((row) => row[index] === cell))
  const own = rows.map((row) => toObject(row, (index) => !isSame[index]!))
  return [JSON.stringify(own), JSON.stringify(toObject(first, (index) => isSame[index]!))]
}

export function asJson(rows: readonly Cell[][]): string {
  return JSON.stringify(rows.map((row) => toObject(row)))
}

function toObject(row: Cell[], isWanted: (index: number) => boolean = () => true): Record<string, string | number> {
  const given: Record<string, string | number> = {}
  row.forEach((cell, index) => {
    if (cell === null || !isWanted(index)) return
    if (typeof cell === 'number') given[`c${index}`] = Number.isFinite(cell) ? cell : String(cell)
    else given[`c${index}`] = typeof cell === 'string' ? withoutNul(cell) : `\\x${Buffer.from(cell).toString('hex')}`
  })
  return given
}

/** PostgreSQL's text type cannot contain NUL, which occurs only in strings from spiders and other untrusted sources. */
export const withoutNul = (text: string): string => (text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text)

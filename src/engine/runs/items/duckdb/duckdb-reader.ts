import { stat } from 'node:fs/promises'
import type { DuckDBValue } from '@duckdb/node-api'
import type { FieldStatistics, ItemsPage } from '../../../../shared/contract/index.ts'
import type { ItemsSource, PageInput } from '../messages.ts'
import { CELL_MAX_CHARACTERS } from '../reading/bounds.ts'
import { createPage } from '../reading/plain-reader.ts'
import { type LockedDuckdb, openLockedDuckdb } from './locked-duckdb.ts'
import { asLooseNumber, IS_ITEM, lines, numberedLines, orderOf, Parameters, whereOf } from './queries.ts'

const TOP_VALUES = 20
/** If there are more distinct values than this, the candidates for the top values are estimated. */
const COUNTED_VALUES = 200_000
/** The length above which items are fetched separately, several at a time. */
const LONG_ITEM_CHARACTERS = 100_000
const LONG_ITEMS_AT_ONCE = 10
const SET_ASIDE_MAX_BYTES = 1_000_000_000

export type LinesFile = Pick<ItemsSource, 'path' | 'spillDirectory'> & { endsInside: boolean }

export async function pageWithDuckdb(
  file: LinesFile,
  input: PageInput & { columns: string[] },
  signal: AbortSignal
): Promise<ItemsPage> {
  using database = await openLockedDuckdb([file.path], file.spillDirectory, signal)
  const page = createPage(input, input.columns)
  const lines = await chooseLines(database, file, input)
  for (const [at, { index, text }] of lines.entries()) {
    if (text === null) await fetchLongItems(database, file, lines.slice(at))
    if (!page.add({ index, bytes: Buffer.from(lines[at]!.text ?? ''), endOffset: 0 })) break
    lines[at]!.text = null
  }
  return page.done()
}

interface Line {
  index: number
  text: string | null
}

async function chooseLines(database: LockedDuckdb, file: LinesFile, input: PageInput): Promise<Line[]> {
  const parameters = new Parameters()
  const where = whereOf(input.filter, parameters)
  // Without ORDER BY, DuckDB keeps the order of the file and stops reading when the page is full.
  const order = input.sort === null ? '' : orderOf(input.sort, parameters)
  const limits = `LIMIT ${parameters.add(input.limit + 1)} OFFSET ${parameters.add(input.offset)}`
  const text = `CASE WHEN strlen(json::VARCHAR) <= ${LONG_ITEM_CHARACTERS} THEN json::VARCHAR END`
  const from = `FROM ${numberedLines(file.path)} WHERE ${IS_ITEM} ${where}`
  const rows = await database.query(`SELECT n, ${text} ${from} ${order} ${limits}`, parameters.values)
  return rows.map(([n, line]) => ({ index: Number(n), text: line === null ? null : String(line) }))
}

async function fetchLongItems(database: LockedDuckdb, file: LinesFile, lines: Line[]): Promise<void> {
  const missing = lines.filter(({ text }) => text === null).slice(0, LONG_ITEMS_AT_ONCE)
  const parameters = new Parameters()
  const wanted = missing.map(({ index }) => `${parameters.add(BigInt(index))}::BIGINT`).join(', ')
  const sql = `SELECT n, json::VARCHAR FROM ${numberedLines(file.path)} WHERE n IN (${wanted})`
  const texts = new Map((await database.query(sql, parameters.values)).map(([n, text]) => [Number(n), String(text)]))
  for (const line of missing) line.text = texts.get(line.index) ?? ''
}

export async function statisticsWithDuckdb(
  file: LinesFile,
  field: string,
  signal: AbortSignal
): Promise<FieldStatistics> {
  using database = await openLockedDuckdb([file.path], file.spillDirectory, signal)
  const values = await valuesOf(database, file, field)
  const [row = []] = await database.query(
    `SELECT count(*) FILTER (is_item), count(*) FILTER (NOT is_item), count(x),
      approx_count_distinct(x), count(v), min(v), max(v), avg(v), min(length(x)), max(length(x)), avg(length(x))
     FROM (SELECT is_item, x, ${asLooseNumber('x')} AS v FROM ${values.sql})`,
    values.parameters
  )
  const [items, unreadable, filled, distinct, numbers, min, max, mean, shortest, longest, meanLength] = row.map(Number)
  return {
    field,
    items: items!,
    unreadable: Math.max(0, unreadable! - (file.endsInside ? 1 : 0)),
    filled: filled!,
    distinct: Math.min(distinct!, filled!),
    numbers: numbers === 0 ? null : { count: numbers!, min: min!, max: max!, mean: mean! },
    length: filled === 0 ? null : { min: shortest!, max: longest!, mean: meanLength! },
    top: isNearlyUnique(distinct!, filled!) ? [] : await topValues(database, values, distinct!)
  }
}

/**
 * Whether nearly all values differ. In that case no value is frequent, and a search for repeated values would dominate
 * the query's cost.
 */
const isNearlyUnique = (distinct: number, filled: number): boolean => filled > 10_000 && distinct > filled / 2

interface Values {
  /** SQL for a table with `is_item` for each line, and with the field's text in `x` if the field is filled. */
  sql: string
  parameters: DuckDBValue[]
}

/**
 * Stores the values in a table, because reading and parsing the file dominates the cost. A file above
 * SET_ASIDE_MAX_BYTES is read for each query instead.
 */
async function valuesOf(database: LockedDuckdb, file: LinesFile, field: string): Promise<Values> {
  const parameters = new Parameters()
  // A subquery, because DuckDB would otherwise extract the field once per use.
  const read = `(SELECT ${IS_ITEM} AS is_item, ${parameters.field(field)} AS f FROM ${lines(file.path)})`
  const sql = `(SELECT is_item, CASE WHEN is_item AND f <> '' THEN f END AS x FROM ${read})`
  if ((await stat(file.path)).size > SET_ASIDE_MAX_BYTES) return { sql, parameters: parameters.values }
  await database.query(`CREATE TEMP TABLE field_values AS FROM ${sql}`, parameters.values)
  return { sql: 'field_values', parameters: [] }
}

async function topValues(database: LockedDuckdb, values: Values, distinct: number): Promise<FieldStatistics['top']> {
  const parameters = new Parameters()
  for (const value of values.parameters) parameters.add(value)
  const shown = `(SELECT left(x, ${CELL_MAX_CHARACTERS}) AS x FROM ${values.sql})`
  let among = 'x IS NOT NULL'
  if (distinct > COUNTED_VALUES) {
    // Counting every value would need too much memory. The candidates are estimated first, and only they are counted.
    const [[found] = []] = await database.query(
      `SELECT approx_top_k(x, ${TOP_VALUES}) FROM ${shown} WHERE x IS NOT NULL`,
      parameters.values
    )
    const candidates = (found as { items: readonly unknown[] }).items.map(String)
    among = `x IN (${candidates.map((value) => `${parameters.add(value)}::VARCHAR`).join(', ')})`
  }
  const rows = await database.query(
    `SELECT x, count(*) AS c FROM ${shown} WHERE ${among} GROUP BY x ORDER BY c DESC, x LIMIT ${TOP_VALUES}`,
    parameters.values
  )
  return rows.map(([value, count]) => ({ value: String(value), count: Number(count) }))
}

import { stat } from 'node:fs/promises'
import type { ItemCondition } from '../../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../../shared/errors.ts'
import { sentence } from '../../../../shared/texts/errors/runs.ts'
import type { ExportedFile } from '../messages.ts'
import type { LinesFile } from './duckdb-reader.ts'
import { type LockedDuckdb, openLockedDuckdb } from './locked-duckdb.ts'
import { asNumber, IS_ITEM, lines, Parameters, whereOf, pointerTo, quoteName, quoteText } from './queries.ts'

const FIELDS_MAX = 1_000

/** Numbers and booleans keep their type if all values of the field have it. Nested values become JSON text. */
export async function exportParquet(
  file: LinesFile,
  { filter, targetPath, maxBytes }: { filter: ItemCondition[]; targetPath: string; maxBytes: number },
  signal: AbortSignal
): Promise<ExportedFile> {
  using database = await openLockedDuckdb([file.path, targetPath], file.spillDirectory, signal)
  const parameters = new Parameters()
  const names = new Set<string>()
  const columns = (await listFields(database, file)).map(({ name, type }) => {
    const text = parameters.field(name)
    const value = type === 'number' ? asNumber(text) : type === 'boolean' ? `TRY_CAST(${text} AS BOOLEAN)` : text
    return `${value} AS ${quoteName(freeName(name, names))}`
  })
  if (columns.length === 0) throw new ScrapdeckError('ITEMS_NOT_FOUND', sentence('runs.no_items_export'))
  const from = `FROM ${lines(file.path)} WHERE ${IS_ITEM} ${whereOf(filter, parameters)}`
  const target = `${quoteText(targetPath)} (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)`
  const [row = []] = await database.query(`COPY (SELECT ${columns.join(', ')} ${from}) TO ${target}`, parameters.values)
  const sizeBytes = (await stat(targetPath)).size
  if (sizeBytes > maxBytes) throw new ScrapdeckError('ITEMS_TOO_LARGE', sentence('runs.export_too_large'))
  return { sizeBytes, items: Number(row[0]) }
}

interface Field {
  name: string
  type: 'number' | 'boolean' | 'text'
}

async function listFields(database: LockedDuckdb, file: LinesFile): Promise<Field[]> {
  const from = `FROM ${lines(file.path)} WHERE ${IS_ITEM}`
  const found = await database.query(
    `SELECT key FROM (SELECT unnest(json_keys(json)) AS key ${from}) GROUP BY key ORDER BY key LIMIT ${FIELDS_MAX + 1}`,
    []
  )
  if (found.length > FIELDS_MAX) {
    const text = sentence('runs.too_many_fields', { fieldsMax: FIELDS_MAX })
    throw new ScrapdeckError('ITEMS_TOO_LARGE', text)
  }
  if (found.length === 0) return []
  const names = found.map(([name]) => String(name))
  const parameters = new Parameters()
  // All types of a line are in one expression, so that DuckDB parses the line once.
  const pointers = names.map((name) => `${parameters.add(pointerTo(name))}::VARCHAR`).join(', ')
  const isAll = (types: string) => names.map((_, at) => `bool_and(t[${at + 1}] IN (${types}))`).join(', ')
  const [row = []] = await database.query(
    `SELECT ${isAll(NUMBERS)}, ${isAll(BOOLEANS)} FROM (SELECT json_type(json, [${pointers}]) AS t ${from})`,
    parameters.values
  )
  return names.map((name, at) => {
    // A field that is always null matches both types and becomes text.
    const [isNumber, isBoolean] = [row[at] === true, row[names.length + at] === true]
    return { name, type: isNumber === isBoolean ? 'text' : isNumber ? 'number' : 'boolean' }
  })
}

/** The JSON types that count as numbers. An absent field is SQL NULL, which `bool_and` ignores. */
const NUMBERS = "'BIGINT', 'UBIGINT', 'DOUBLE', 'HUGEINT', 'UHUGEINT', 'NULL'"
const BOOLEANS = "'BOOLEAN', 'NULL'"

/** DuckDB's column names are case-insensitive: `Price` beside `price` becomes `Price_2`. */
function freeName(name: string, used: Set<string>): string {
  for (let count = 1; ; count += 1) {
    const candidate = count === 1 && name !== '' ? name : `${name}_${count}`
    if (used.has(candidate.toLowerCase())) continue
    used.add(candidate.toLowerCase())
    return candidate
  }
}

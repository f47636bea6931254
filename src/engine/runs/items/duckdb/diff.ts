import type { DiffOfFiles } from '../messages.ts'
import { CELL_MAX_CHARACTERS } from '../reading/bounds.ts'
import type { LinesFile } from './duckdb-reader.ts'
import { type LockedDuckdb, openLockedDuckdb } from './locked-duckdb.ts'
import { IS_ITEM, lines, Parameters, pointerTo } from './queries.ts'

const EXAMPLES = 20
/** The maximum number of fields of both runs together. A longer list would not help users. */
export const DIFF_FIELDS_MAX = 200

export async function diffWithDuckdb(
  { before, after }: { before: LinesFile; after: LinesFile },
  { fields, key }: { fields: { name: string; isBefore: boolean; isAfter: boolean }[]; key: string | null },
  signal: AbortSignal
): Promise<DiffOfFiles> {
  using database = await openLockedDuckdb([before.path, after.path], after.spillDirectory, signal)
  const names = fields.map(({ name }) => name)
  const counted = {
    before: await countFields(database, before, names),
    after: await countFields(database, after, names)
  }
  return {
    before: { items: counted.before.items, unreadable: counted.before.unreadable },
    after: { items: counted.after.items, unreadable: counted.after.unreadable },
    fields: fields.map(({ name, isBefore, isAfter }, at) => ({
      name,
      before: isBefore || counted.before.filled[at]! > 0 ? counted.before.filled[at]! : null,
      after: isAfter || counted.after.filled[at]! > 0 ? counted.after.filled[at]! : null
    })),
    ...(await compareItems(database, { before, after }, key, counted.before.items + counted.after.items))
  }
}

async function countFields(database: LockedDuckdb, file: LinesFile, names: string[]) {
  const parameters = new Parameters()
  // All fields of a line are in one expression, so that DuckDB parses the line once.
  const pointers = names.map((name) => `${parameters.add(pointerTo(name))}::VARCHAR`).join(', ')
  const values = names.length === 0 ? 'NULL' : `json_extract_string(json, [${pointers}])`
  const filled = names.map((_, at) => `, count(*) FILTER (coalesce(x[${at + 1}], '') <> '')`).join('')
  const [row = []] = await database.query(
    `SELECT count(*) FILTER (is_item), count(*) FILTER (NOT is_item)${filled}
     FROM (SELECT ${IS_ITEM} AS is_item, ${values} AS x FROM ${lines(file.path)})`,
    parameters.values
  )
  const [items = 0, unreadable = 0, ...counts] = row.map(Number)
  return { items, unreadable: Math.max(0, unreadable - (file.endsInside ? 1 : 0)), filled: counts }
}

type Compared = Pick<DiffOfFiles, 'added' | 'removed' | 'changed' | 'same' | 'repeatedKeys' | 'examples'>

/** Keeps only hashes of keys and items, because the text of a million items would not fit in memory. */
async function compareItems(
  database: LockedDuckdb,
  { before, after }: { before: LinesFile; after: LinesFile },
  key: string | null,
  totalItems: number
): Promise<Compared> {
  const parameters = new Parameters()
  const name = nameOf(key, parameters)
  const side = ({ path }: LinesFile) =>
    `(SELECT hash(${name}) AS k, count(*) AS c, min(hash(json::VARCHAR)) AS h
      FROM ${lines(path)} WHERE ${IS_ITEM} AND ${name} IS NOT NULL GROUP BY k)`
  await database.query(
    `CREATE TEMP TABLE compared AS SELECT coalesce(a.k, b.k) AS k, coalesce(b.c, 0) AS before, coalesce(a.c, 0) AS after,
      a.h = b.h AS is_same FROM ${side(before)} AS b FULL JOIN ${side(after)} AS a ON a.k = b.k`,
    parameters.values
  )
  const is =
    key === null
      ? { added: 'after > before', removed: 'before > after', changed: 'false', same: 'after > 0 AND before > 0' }
      : { added: 'before = 0', removed: 'after = 0', changed: 'NOT is_same', same: 'is_same' }
  const count =
    key === null
      ? { added: 'sum(after - before)', removed: 'sum(before - after)', same: 'sum(least(after, before))' }
      : { added: 'count(*)', removed: 'count(*)', same: 'count(*)' }
  const [row = []] = await database.query(
    `SELECT ${count.added} FILTER (${is.added}), ${count.removed} FILTER (${is.removed}), count(*) FILTER (${is.changed}),
      ${count.same} FILTER (${is.same}), count(*) FILTER (before > 0) + count(*) FILTER (after > 0) FROM compared`,
    []
  )
  const [added = 0, removed = 0, changed = 0, same = 0, keys = 0] = row.map(Number)
  return {
    added,
    removed,
    changed: key === null ? null : changed,
    same,
    repeatedKeys: key === null ? null : totalItems - keys,
    examples: {
      added: await findExamples(database, after, key, is.added),
      removed: await findExamples(database, before, key, is.removed),
      changed: await findExamples(database, after, key, is.changed)
    }
  }
}

async function findExamples(
  database: LockedDuckdb,
  { path }: LinesFile,
  key: string | null,
  when: string
): Promise<string[]> {
  const hashes = await database.query(`SELECT k FROM compared WHERE ${when} ORDER BY k LIMIT ${EXAMPLES}`, [])
  if (hashes.length === 0) return []
  const parameters = new Parameters()
  const name = nameOf(key, parameters)
  const wanted = hashes.map(([hash]) => `${parameters.add(String(hash))}::UBIGINT`).join(', ')
  const rows = await database.query(
    `SELECT DISTINCT left(${name}, ${CELL_MAX_CHARACTERS}) AS shown FROM ${lines(path)}
     WHERE ${IS_ITEM} AND hash(${name}) IN (${wanted}) ORDER BY shown`,
    parameters.values
  )
  return rows.map(([text]) => String(text))
}

function nameOf(key: string | null, parameters: Parameters): string {
  return key === null ? 'json::VARCHAR' : `nullif(${parameters.field(key)}, '')`
}

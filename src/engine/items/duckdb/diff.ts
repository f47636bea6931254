import type { DiffOfFiles } from '../messages.ts'
import { CELL_MAX_CHARACTERS } from '../reading/bounds.ts'
import type { LinesFile } from './duckdb-reader.ts'
import { type LockedDuckdb, openLockedDuckdb } from './locked-duckdb.ts'
import { IS_ITEM, lines, Parameters } from './queries.ts'
import { pointerTo } from './quote.ts'

const EXAMPLES = 20
/** Of both runs together; more than that nobody reads. */
export const DIFF_FIELDS_MAX = 200

/** Compares the items of two files: `fields` of both, and the items by `key`, or as a whole. */
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
  // All fields of a line at once: it is parsed once for them.
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

/** Without a key, an item that occurs several times counts that often. */
async function compareItems(
  database: LockedDuckdb,
  { before, after }: { before: LinesFile; after: LinesFile },
  key: string | null,
  totalItems: number
): Promise<Compared> {
  const parameters = new Parameters()
  const side = (file: LinesFile): string => {
    const from = `FROM ${lines(file.path)} WHERE ${IS_ITEM}`
    const text = 'json::VARCHAR'
    // Of a whole item only the hash and a beginning are kept.
    const [name, shown] =
      key === null ? [`hash(${text})`, `left(${text}, ${CELL_MAX_CHARACTERS})`] : nameOf(key, parameters)
    return `(SELECT k, count(*) AS c, first(h) AS h, first(shown) AS shown
      FROM (SELECT ${name} AS k, hash(${text}) AS h, ${shown} AS shown ${from}) WHERE k IS NOT NULL GROUP BY k)`
  }
  await database.query(
    `CREATE TEMP TABLE compared AS SELECT coalesce(b.c, 0) AS before, coalesce(a.c, 0) AS after, a.h = b.h AS is_same,
      CASE WHEN a.h IS DISTINCT FROM b.h OR a.c <> b.c THEN coalesce(a.shown, b.shown) END AS shown
     FROM ${side(before)} AS b FULL JOIN ${side(after)} AS a ON a.k = b.k`,
    parameters.values
  )
  // With a key, each counts once.
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
  const examplesOf = async (when: string) => {
    const rows = await database.query(
      `SELECT shown FROM compared WHERE ${when} AND shown IS NOT NULL ORDER BY shown LIMIT ${EXAMPLES}`,
      []
    )
    return rows.map(([text]) => String(text))
  }
  return {
    added,
    removed,
    changed: key === null ? null : changed,
    same,
    repeatedKeys: key === null ? null : totalItems - keys,
    examples: {
      added: await examplesOf(is.added),
      removed: await examplesOf(is.removed),
      changed: await examplesOf(is.changed)
    }
  }
}

/** An empty key is none. */
function nameOf(key: string, parameters: Parameters): [string, string] {
  const text = parameters.field(key)
  return [`nullif(${text}, '')`, `left(${text}, ${CELL_MAX_CHARACTERS})`]
}

/**
 * The SQL of the store's parts (../sql) is written as SQLite has it. This is all in which PostgreSQL differs; whatever
 * both understand is written so in the parts.
 */
export interface PostgresStatement {
  text: string
  /** For each parameter, in order: its name, or its place among values that have none. */
  parameters: (string | number)[]
}

/** The same statement for PostgreSQL. Pure. */
export function toPostgres(sql: string): PostgresStatement {
  const parameters: (string | number)[] = []
  let places = 0
  const text = inForms(sql).replace(/'(?:[^']|'')*'|"[^"]*"|::|\?|:[A-Za-z]\w*/g, (part) => {
    if (part === '?') parameters.push(places++)
    else if (/^:[A-Za-z]/.test(part)) parameters.push(part.slice(1))
    else return part
    return `$${parameters.length}`
  })
  return { text, parameters }
}

type Form = [pattern: RegExp, replacement: string | ((...parts: string[]) => string)]

const FORMS: Form[] = [
  // A join order: SQLite needs it, PostgreSQL finds it.
  [/\bCROSS JOIN ((?:\w+)(?: AS \w+)?|json_each\([^)]*\)(?: AS \w+)?)\s+ON\b/g, 'JOIN $1 ON'],
  [/ INDEXED BY \w+/g, ''],
  // The number of rows is unknown at planning time: as a list, they are found in the index all the same.
  [/\b(DELETE FROM \w+ WHERE \w+) IN \((SELECT [^()]* LIMIT (?:\?|:\w+))\)/g, '$1 = ANY (ARRAY($2))'],
  // As the indexes have it (0003-long-lanes.ts).
  [/\bqueue_lanes\.lane = (\?|given\.\w+)/g, 'scrapdeck_digest(queue_lanes.lane) = scrapdeck_digest($1)'],
  [/\b(WHERE|AND) lane = (\?|:\w+|queue_lanes\.lane|given\.\w+)/g, '$1 scrapdeck_same_lane(lane, $2)'],
  [/\bON CONFLICT \(lane\)/g, 'ON CONFLICT (scrapdeck_digest(lane))'],
  // The place of a row in its table: ids of jobs ascend in the same way.
  [/\bORDER BY rowid\b/g, 'ORDER BY id'],
  // SQLite's LIKE takes upper and lower case of ASCII letters as the same.
  [/\bLIKE\b/g, 'ILIKE'],
  [/([\w.]+) GLOB (\?|:\w+)/g, 'scrapdeck_glob($2, $1)'],
  [/([\w.]+) = (\?|:\w+) COLLATE NOCASE/g, 'lower($1) = lower($2)'],
  [/([\w.]+) COLLATE NOCASE (>=|>|=) (\?|:\w+)/g, 'lower($1) $2 lower($3)'],
  [/([\w.]+) COLLATE NOCASE/g, 'lower($1)'],
  // As the indexes have it (0001-baseline.ts): IS NOT DISTINCT FROM uses none.
  [/\b((?:jobs\.)?outcome) IS (\?|CASE .*? END)/g, "coalesce($1, '') = coalesce($2, '')"],
  [/\b(max|min)\((?=[\w.]+(?:\([^()]*\))?,)/g, (_, name) => (name === 'max' ? 'greatest(' : 'least(')],
  // A parameter that is compared with nothing has no type.
  [/(\?|:\w+) IS NULL/g, 'CAST($1 AS text) IS NULL'],
  [/(\w+) ->> (\d+)/g, 'CAST($1 AS json) ->> $2'],
  [/\bvalue ->> '\$\.(\w+)'/g, "value ->> '$1'"],
  [/(\w+) ->> '\$\.(\w+)'/g, "CAST($1 AS json) ->> '$2'"],
  [/ AS ([a-z]+[A-Z]\w*)/g, ' AS "$1"'],
  [
    /SELECT seq FROM sqlite_sequence WHERE name = 'changes'/g,
    'SELECT greatest((SELECT max(position) FROM changes), (SELECT position FROM last_forgotten_change))'
  ],
  [/(?<!LIMIT )LIMIT (\?|:\w+)/g, 'LIMIT nullif(CAST($1 AS bigint), -1)']
]

function inForms(sql: string): string {
  return withElements(FORMS.reduce((text, [pattern, by]) => text.replace(pattern, by as string), inWantedOrder(sql)))
}

/** Rows for a list of keys are in the order of the list: with SQLite, because it is the outer loop of the join. */
function inWantedOrder(sql: string): string {
  const isForKeys = /\) AS wanted\s+CROSS JOIN\b/.test(sql) && !/ORDER BY|GROUP BY/.test(sql)
  return isForKeys ? `${sql} ORDER BY wanted.key` : sql
}

/** json_each: the elements of a list, as text, or as JSON where parts of them are read. */
function withElements(sql: string): string {
  return sql.replace(/json_each\((\?|:\w+|[\w.]+)(, '\$\.(\w+)')?\)(?: AS (\w+))?/g, (_, list, __, member, alias) => {
    const isRead = /\bvalue ->> /.test(sql)
    const value = member === undefined ? `CAST(${list} AS json)` : `CAST(${list} AS json) -> '${member}'`
    const name = alias ?? 'json_each'
    return `json_array_elements${isRead ? '' : '_text'}(${value}) WITH ORDINALITY AS ${name}(value, key)`
  })
}

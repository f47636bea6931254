/** SQL that differs between SQLite and PostgreSQL. Both understand all other SQL. */
export interface Fragments {
  /**
   * Joins with one lookup per row of the preceding table. SQLite needs CROSS for this order
   * (https://sqlite.org/optoverview.html).
   */
  readonly thenJoin: string
  /** A table of the strings in a JSON list, with the columns `value` and `key` (the index). */
  texts(list: string, name: string): string
  /** A table like `texts`, for a list of objects. `member`: the list is this member of the object `list`. */
  objects(list: string, name: string, member?: string): string
  /** Sorts by the list that a join starts with. SQLite needs no sorting, because the list is its outer loop. */
  inOrderOf(name: string): string
  json(text: string): string
  /** Compares with the rows of a SELECT with a LIMIT. PostgreSQL uses the index only if they are an array. */
  oneOf(select: string): string
  /** LIKE, ignoring the case of ASCII letters. */
  readonly like: string
  /** `*` in the pattern matches anything; `[*]`, `[?]` and `[[]` match these characters literally. */
  glob(text: string, pattern: string): string
  /** The text folded to one case, in the same form as in the indexes. */
  folded(text: string): string
  /** Compares outcomes, which can both be null. */
  sameOutcome(outcome: string, other: string): string
  readonly greatest: string
  readonly least: string
  /** PostgreSQL's indexes contain a lane's hash, because the lane itself is too long (0001-baseline.ts). */
  sameLane(lane: string, other: string): string
  laneKey(lane: string): string
  /** Ascends with job ids, in the order of the index on jobids. */
  readonly insertOrder: string
  /** The last position ever assigned, even if its row was deleted. */
  readonly lastChange: string
  /** Names the index to use where SQLite considers a different index equally good. */
  byIndex(name: string): string
}

export const SQLITE: Fragments = {
  thenJoin: 'CROSS JOIN',
  texts: (list, name) => `json_each(${list}) AS ${name}`,
  objects: (list, name, member) => `json_each(${list}${member === undefined ? '' : `, '$.${member}'`}) AS ${name}`,
  inOrderOf: () => '',
  json: (text) => text,
  oneOf: (select) => `IN (${select})`,
  like: 'LIKE',
  glob: (text, pattern) => `${text} GLOB ${pattern}`,
  folded: (text) => `${text} COLLATE NOCASE`,
  sameOutcome: (outcome, other) => `${outcome} IS ${other}`,
  greatest: 'max',
  least: 'min',
  sameLane: (lane, other) => `${lane} = ${other}`,
  laneKey: (lane) => lane,
  insertOrder: 'rowid',
  lastChange: `SELECT seq FROM sqlite_sequence WHERE name = 'changes'`,
  byIndex: (name) => `INDEXED BY ${name}`
}

/** The functions `scrapdeck_…` are in postgres/migrations/0001-baseline.ts. */
export const POSTGRES: Fragments = {
  thenJoin: 'JOIN',
  texts: (list, name) => `json_array_elements_text(CAST(${list} AS json)) WITH ORDINALITY AS ${name}(value, key)`,
  objects: (list, name, member) =>
    `json_array_elements(CAST(${list} AS json)${member === undefined ? '' : ` -> '${member}'`})
      WITH ORDINALITY AS ${name}(value, key)`,
  inOrderOf: (name) => `ORDER BY ${name}.key`,
  json: (text) => `CAST(${text} AS json)`,
  oneOf: (select) => `= ANY (ARRAY(${select}))`,
  like: 'ILIKE',
  glob: (text, pattern) => `scrapdeck_glob(${pattern}, ${text})`,
  folded: (text) => `lower(${text})`,
  // PostgreSQL uses no index for IS NOT DISTINCT FROM.
  sameOutcome: (outcome, other) => `coalesce(${outcome}, '') = coalesce(${other}, '')`,
  greatest: 'greatest',
  least: 'least',
  sameLane: (lane, other) => `scrapdeck_same_lane(${lane}, ${other})`,
  laneKey: (lane) => `scrapdeck_digest(${lane})`,
  insertOrder: 'id',
  lastChange: `SELECT greatest((SELECT max(position) FROM changes), (SELECT position FROM last_forgotten_change))`,
  byIndex: () => ''
}

/** Compares with the strings in a JSON list: `id ${among(sql, '?')}`. */
export const among = (sql: Fragments, list: string): string =>
  `IN (SELECT listed.value FROM ${sql.texts(list, 'listed')})`

/**
 * The SQL that SQLite and PostgreSQL write differently. Parts build their statements from these pieces once, when they
 * are created. All other SQL is understood by both.
 */
export interface Fragments {
  /**
   * Joins a table with one lookup per earlier row. PostgreSQL finds that order; SQLite needs the keyword
   * (https://sqlite.org/optoverview.html).
   */
  readonly thenJoin: string
  /** A table of the texts in a JSON list: `value`, and `key`, their position. */
  texts(list: string, name: string): string
  /**
   * The same for a list of objects; `value ->> 'member'` reads a member. `member`: the list is in this member of an
   * object.
   */
  objects(list: string, name: string, member?: string): string
  /** Sorts by the list that a join starts with. SQLite needs no sorting: the list is its outer loop. */
  inOrderOf(name: string): string
  /** A text column with JSON, before `->>`. */
  json(text: string): string
  /** Compares with the rows of a SELECT with a LIMIT. PostgreSQL uses the index only for an array. */
  oneOf(select: string): string
  /** LIKE that ignores the case of ASCII letters. */
  readonly like: string
  /** `*` in the pattern matches anything; `[*]`, `[?]` and `[[]` are the characters themselves. */
  glob(text: string, pattern: string): string
  /** A text without its case, as in the indexes. */
  folded(text: string): string
  /** Outcomes that are equal, or both null. */
  sameOutcome(outcome: string, other: string): string
  readonly greatest: string
  readonly least: string
  /** Equal lanes. A lane is too long for PostgreSQL's indexes, which have its hash (0001-baseline.ts). */
  sameLane(lane: string, other: string): string
  /** The unique key of `queue_lanes`. */
  laneKey(lane: string): string
  /** Ascends with the ids of jobs, in the order of the index on their jobids. */
  readonly insertOrder: string
  /** The last position that was ever assigned, even if its row has been deleted. */
  readonly lastChange: string
  /** Names the index, where SQLite considers another one as good. */
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

/** Functions `scrapdeck_…` are in postgres/migrations/0001-baseline.ts. */
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
  // IS NOT DISTINCT FROM would use no index.
  sameOutcome: (outcome, other) => `coalesce(${outcome}, '') = coalesce(${other}, '')`,
  greatest: 'greatest',
  least: 'least',
  sameLane: (lane, other) => `scrapdeck_same_lane(${lane}, ${other})`,
  laneKey: (lane) => `scrapdeck_digest(${lane})`,
  insertOrder: 'id',
  lastChange: `SELECT greatest((SELECT max(position) FROM changes), (SELECT position FROM last_forgotten_change))`,
  byIndex: () => ''
}

/** Compares with the texts of a JSON list: `id ${among(sql, '?')}`. */
export const among = (sql: Fragments, list: string): string =>
  `IN (SELECT listed.value FROM ${sql.texts(list, 'listed')})`

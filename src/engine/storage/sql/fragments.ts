/**
 * The pieces of SQL that SQLite and PostgreSQL write differently. A part builds each of its statements from them once,
 * when it is created; everything else in a statement is SQL that both understand.
 */
export interface Fragments {
  /**
   * Joins a table whose rows are looked up for each row before it. PostgreSQL finds that order; SQLite has to be told
   * (https://sqlite.org/optoverview.html).
   */
  readonly thenJoin: string
  /** A table of the texts in a JSON list: `value`, and `key`, their place. */
  texts(list: string, name: string): string
  /** The same for a list of objects; `value ->> 'member'` reads a member. `member`: of an object that has the list. */
  objects(list: string, name: string, member?: string): string
  /** Sorts by the list that a join starts with. SQLite needs no sorting: the list is its outer loop. */
  inOrderOf(name: string): string
  /** A column of text that has JSON, before `->>`. */
  json(text: string): string
  /** Compares with the rows of a SELECT that has a LIMIT. As an array, PostgreSQL finds them in the index. */
  oneOf(select: string): string
  /** LIKE that ignores the case of ASCII letters. */
  readonly like: string
  /** `*` in the pattern matches anything; `[*]`, `[?]` and `[[]` are the characters themselves. */
  glob(text: string, pattern: string): string
  /** A text without its case, as it is in the indexes. */
  folded(text: string): string
  /** Outcomes that are equal, or both null. */
  sameOutcome(outcome: string, other: string): string
  readonly greatest: string
  readonly least: string
  /** Lanes that are equal: a lane is too long for PostgreSQL's indexes, which have its hash (0001-baseline.ts). */
  sameLane(lane: string, other: string): string
  /** What is unique in `queue_lanes`. */
  laneKey(lane: string): string
  /** Ascends with the ids of jobs, in the order of the index on their jobids. */
  readonly insertOrder: string
  /** The last position that was ever given out, even if its row has been deleted. */
  readonly lastChange: string
  /** Names the index to use, where SQLite considers another one as good. */
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

/** Functions whose names begin with `scrapdeck_` are in postgres/migrations/0001-baseline.ts. */
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
  // Not IS NOT DISTINCT FROM, which uses no index.
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

import { describe, expect, test } from 'vitest'
import { toPostgres } from './dialect.ts'

describe('SQL for PostgreSQL', () => {
  test('numbers parameters, with or without names, and leaves text and casts alone', () => {
    expect(toPostgres(`SELECT ':no', a::text FROM t WHERE b = ? AND c IN (?, '?')`)).toEqual({
      text: `SELECT ':no', a::text FROM t WHERE b = $1 AND c IN ($2, '?')`,
      parameters: [0, 1]
    })
    // Each place has a type of its own, so a name that is used twice is two parameters.
    expect(toPostgres('SELECT :a + :b FROM t WHERE c = :a')).toEqual({
      text: 'SELECT $1 + $2 FROM t WHERE c = $3',
      parameters: ['a', 'b', 'a']
    })
  })

  test.each([
    ['SELECT a AS camelCase FROM t', 'SELECT a AS "camelCase" FROM t'],
    ['SELECT a FROM t CROSS JOIN u ON u.id = t.id', 'SELECT a FROM t JOIN u ON u.id = t.id'],
    ["SELECT a FROM t WHERE a LIKE 'x%'", "SELECT a FROM t WHERE a ILIKE 'x%'"],
    ['SELECT a FROM t WHERE a GLOB ?', 'SELECT a FROM t WHERE scrapdeck_glob($1, a)'],
    ['SELECT a FROM t ORDER BY a COLLATE NOCASE', 'SELECT a FROM t ORDER BY lower(a)'],
    ['SELECT a FROM t WHERE a = :a COLLATE NOCASE', 'SELECT a FROM t WHERE lower(a) = lower($1)'],
    ['SELECT a FROM t WHERE :x IS NULL', 'SELECT a FROM t WHERE CAST($1 AS text) IS NULL'],
    ['SELECT max(a) FROM t', 'SELECT max(a) FROM t'],
    ['UPDATE t SET a = max(t.a, excluded.a)', 'UPDATE t SET a = greatest(t.a, excluded.a)'],
    [
      'DELETE FROM t WHERE a IN (SELECT a FROM t WHERE b < ? ORDER BY a LIMIT ?) RETURNING a',
      'DELETE FROM t WHERE a = ANY (ARRAY(SELECT a FROM t WHERE b < $1 ORDER BY a LIMIT nullif(CAST($2 AS bigint), -1))) RETURNING a'
    ],
    [
      'UPDATE t SET lane = ? WHERE a = ? AND lane = ?',
      'UPDATE t SET lane = $1 WHERE a = $2 AND scrapdeck_same_lane(lane, $3)'
    ],
    ['SELECT a FROM t LIMIT ?', 'SELECT a FROM t LIMIT nullif(CAST($1 AS bigint), -1)']
  ])('%s', (sql, text) => {
    expect(toPostgres(sql).text).toBe(text)
  })

  test('rows for a list of keys are in the order of the list', () => {
    const { text } = toPostgres('SELECT a FROM json_each(?) AS wanted CROSS JOIN t ON t.id = wanted.value')
    expect(text).toBe(
      'SELECT a FROM json_array_elements_text(CAST($1 AS json)) WITH ORDINALITY AS wanted(value, key) ' +
        'JOIN t ON t.id = wanted.value ORDER BY wanted.key'
    )
  })
})

import DatabaseConstructor from 'better-sqlite3'
import { expect, test } from 'vitest'
import { planOnce, withHiddenParameters } from './plan-once.ts'

test('the planner sees no parameter, and texts that look like one stay as they are', () => {
  expect(withHiddenParameters(`SELECT 'a?:b', x ->> '$.c' FROM t WHERE a = :owner AND b IN (?, ?) LIMIT ?`)).toBe(
    `SELECT 'a?:b', x ->> '$.c' FROM t WHERE a = +:owner AND b IN (+?, +?) LIMIT +?`
  )
  expect(withHiddenParameters(`SELECT 'it''s ?' WHERE a = ?`)).toBe(`SELECT 'it''s ?' WHERE a = +?`)
})

test('values of every type arrive as they were given', () => {
  using database = Object.assign(new DatabaseConstructor(':memory:'), {
    [Symbol.dispose]: () => void database.close()
  })
  planOnce(database)
  database.exec('CREATE TABLE one (i INTEGER, r REAL, t TEXT, b BLOB, n TEXT) STRICT')
  const values = [7, 0.5, '12', Buffer.from('x'), null]
  database.prepare('INSERT INTO one VALUES (?, ?, ?, ?, ?)').run(values)
  const named = database.prepare(
    'SELECT * FROM one WHERE i = :i AND r = :r AND t = :t AND b = :b AND n IS :n LIMIT :max'
  )
  const [i, r, t, b, n] = values
  expect(named.raw().all({ i, r, t, b, n, max: 1 })).toEqual([values])
})

import DatabaseConstructor from 'better-sqlite3'
import { expect, test } from 'vitest'
import { SqliteDatabase, withHiddenParameters } from './sqlite-database.ts'

function open() {
  const connection = new DatabaseConstructor(':memory:')
  return {
    database: new SqliteDatabase(connection),
    exec: (sql: string) => connection.exec(sql),
    [Symbol.dispose]: () => void connection.close()
  }
}

test('a statement is compiled at its first use, not when it is prepared', () => {
  using opened = open()
  const early = opened.database.prepare<[], number>('SELECT count(*) FROM later').pluck()
  expect(() => early.get()).toThrow('no such table')
  opened.exec('CREATE TABLE later (id INTEGER)')
  expect(early.get()).toBe(0)
})

test('rows are objects, lists or single values, as the statement is configured', () => {
  using opened = open()
  const { database } = opened
  opened.exec('CREATE TABLE one (a INTEGER, b TEXT) STRICT')
  expect(database.prepare<object>('INSERT INTO one VALUES (:a, :b)').run({ a: 1, b: 'x' }).changes).toBe(1)
  const select = 'SELECT a, b FROM one WHERE a = ?'
  expect(database.prepare(select).all(1)).toEqual([{ a: 1, b: 'x' }])
  expect(database.prepare(select).raw().get(1)).toEqual([1, 'x'])
  expect([...database.prepare(select).pluck().iterate(1)]).toEqual([1])
})

test('the planner gets no parameters, and texts that look like one are unchanged', () => {
  expect(withHiddenParameters(`SELECT 'a?:b', x ->> '$.c' FROM t WHERE a = :owner AND b IN (?, ?) LIMIT ?`)).toBe(
    `SELECT 'a?:b', x ->> '$.c' FROM t WHERE a = +:owner AND b IN (+?, +?) LIMIT +?`
  )
  expect(withHiddenParameters(`SELECT 'it''s ?' WHERE a = ?`)).toBe(`SELECT 'it''s ?' WHERE a = +?`)
})

test('values of every type are returned unchanged', () => {
  using opened = open()
  opened.exec('CREATE TABLE one (i INTEGER, r REAL, t TEXT, b BLOB, n TEXT) STRICT')
  const [i, r, t, b, n] = [7, 0.5, '12', Buffer.from('x'), null]
  opened.database.prepare('INSERT INTO one VALUES (?, ?, ?, ?, ?)').run(i, r, t, b, n)
  const named = opened.database.prepare<object>(
    'SELECT * FROM one WHERE i = :i AND r = :r AND t = :t AND b = :b AND n IS :n LIMIT :max'
  )
  expect(named.raw().all({ i, r, t, b, n, max: 1 })).toEqual([[i, r, t, b, n]])
})

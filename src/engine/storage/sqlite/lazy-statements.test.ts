import DatabaseConstructor, { type Database } from 'better-sqlite3'
import { expect, test } from 'vitest'
import { prepareLazily } from './lazy-statements.ts'

function openLazily(): Database & Disposable {
  const database = new DatabaseConstructor(':memory:')
  prepareLazily(database)
  return Object.assign(database, { [Symbol.dispose]: () => void database.close() })
}

test('a statement is compiled when it is first used, not when it is prepared', () => {
  using database = openLazily()
  const early = database.prepare<[], number>('SELECT count(*) FROM later').pluck()
  expect(() => early.get()).toThrow('no such table')
  database.exec('CREATE TABLE later (id INTEGER)')
  expect(early.get()).toBe(0)
})

test('rows come as objects, as lists or as single values, as the statement was told', () => {
  using database = openLazily()
  database.exec('CREATE TABLE one (a INTEGER, b TEXT) STRICT')
  expect(database.prepare('INSERT INTO one VALUES (:a, :b)').run({ a: 1, b: 'x' }).changes).toBe(1)
  const select = 'SELECT a, b FROM one WHERE a = ?'
  expect(database.prepare(select).all(1)).toEqual([{ a: 1, b: 'x' }])
  expect(database.prepare(select).raw().get(1)).toEqual([1, 'x'])
  expect([...database.prepare(select).pluck().iterate(1)]).toEqual([1])
})

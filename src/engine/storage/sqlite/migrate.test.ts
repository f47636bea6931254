import DatabaseConstructor, { type Database } from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Migrations } from '../schema-versions.ts'
import { MIGRATIONS, migrate } from './migrate.ts'

let database: Database

beforeEach(() => {
  database = new DatabaseConstructor(':memory:')
})

afterEach(() => database.close())

const form = () => database.pragma('user_version', { simple: true })
const tables = () => database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").pluck().all()

const first = 'CREATE TABLE a (x); INSERT INTO a VALUES (1)'
const second = 'CREATE TABLE b (x)'
const from7 = (...steps: string[]): Migrations => ({ baseline: 7, steps })

test('steps run once, in order, from the current version of the data', () => {
  migrate(database, from7(first))
  expect(form()).toBe(7)
  migrate(database, from7(first, second))
  migrate(database, from7(first, second))
  expect([form(), tables()]).toEqual([8, ['a', 'b']])
  expect(database.prepare('SELECT count(*) FROM a').pluck().get()).toBe(1)
})

test('an upgrade that fails halfway changes nothing, and can be tried again', () => {
  expect(() => migrate(database, from7(first, `${second}; INSERT INTO missing VALUES (1)`))).toThrow('missing')
  expect([form(), tables()]).toEqual([0, []])
  migrate(database, from7(first, second))
  expect([form(), tables()]).toEqual([8, ['a', 'b']])
})

test('data of a newer version is refused', () => {
  migrate(database, from7(first, second))
  expect(() => migrate(database, from7(first))).toThrow(/newer Scrapdeck/)
})

test('data from before the first step is refused with its version, and left unchanged', () => {
  database.pragma('user_version = 6')
  expect(() => migrate(database, from7(first, second))).toThrow(/schema version 6.*Open it once with.*another data/)
  expect([form(), tables()]).toEqual([6, []])
})

test('all our tables are strict', () => {
  migrate(database, MIGRATIONS)
  const lax = database
    .prepare("SELECT name FROM pragma_table_list WHERE strict = 0 AND name NOT LIKE 'sqlite_%'")
    .pluck()
  expect(lax.all()).toEqual([])
})

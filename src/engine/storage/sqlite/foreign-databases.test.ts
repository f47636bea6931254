import { join } from 'node:path'
import DatabaseConstructor from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeTemporaryDirectory, type TemporaryDirectory } from '../../testing/temporary-directory.ts'
import { newestVersion } from '../schema-versions.ts'
import { MIGRATIONS } from './migrate.ts'
import { openDatabase } from './open-database.ts'
import { checkSnapshot, snapshotSqlite } from './snapshot.ts'

let directory: TemporaryDirectory
let path: string

beforeEach(async () => {
  directory = await makeTemporaryDirectory()
  path = join(directory.path, 'scrapdeck.sqlite')
})
afterEach(() => directory.remove())

function change(sql: string): void {
  const database = new DatabaseConstructor(path)
  database.exec(sql)
  database.close()
}

function openAndClose(): void {
  const { database, lock } = openDatabase(path)
  database.close()
  lock.release()
}

function namesIn(): unknown[] {
  const database = new DatabaseConstructor(path)
  const names = database.prepare('SELECT name FROM sqlite_schema ORDER BY name').pluck().all()
  database.close()
  return names
}

test("another program's database is refused, and gets no table of ours", () => {
  change('CREATE TABLE spider_queue (id INTEGER PRIMARY KEY, message BLOB)')
  expect(openAndClose).toThrow(/damaged or not a Scrapdeck database/)
  expect(namesIn()).toEqual(['spider_queue'])
})

test('a database that only claims to be ours is refused', () => {
  change(`CREATE TABLE spider_queue (id INTEGER PRIMARY KEY); PRAGMA user_version = ${newestVersion(MIGRATIONS)}`)
  expect(openAndClose).toThrow(/damaged or not a Scrapdeck database/)
})

const PLANTED = {
  trigger: 'CREATE TRIGGER planted AFTER DELETE ON users BEGIN INSERT INTO settings VALUES (old.id, 1); END',
  view: 'CREATE VIEW planted AS WITH RECURSIVE r (x) AS (SELECT 1 UNION ALL SELECT x FROM r) SELECT x FROM r',
  'virtual table': 'CREATE VIRTUAL TABLE planted USING fts5 (text)'
}

test.each(Object.entries(PLANTED))('a %s in a database is refused by name, also in a backup', (_kind, sql) => {
  openAndClose()
  change(sql)
  expect(() => checkSnapshot(path)).toThrow(/in the backup is damaged.*planted/)
  expect(openAndClose).toThrow(/planted.*DROP/)
  expect(() => snapshotSqlite(path, `${path}.copy`)).toThrow(/planted.*DROP/)
})

/** Migrates a database with a slow or `endless` step: `… PATH [endless]`. Prints a line when the step starts. */
import DatabaseConstructor from 'better-sqlite3'
import { MIGRATIONS, migrate } from '../../src/engine/storage/sqlite/migrate.ts'

const STEP = `CREATE TABLE added (x INTEGER PRIMARY KEY, y TEXT) STRICT;
  WITH RECURSIVE r (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 150000)
    INSERT INTO added SELECT i, hex(randomblob(60)) FROM r;
  ALTER TABLE jobs ADD COLUMN added TEXT; UPDATE jobs SET added = 'x'; CREATE INDEX added_y ON added (y)`

const ENDLESS = 'WITH RECURSIVE r (i) AS (SELECT 1 UNION ALL SELECT i FROM r) SELECT max(i) FROM r'

const database = new DatabaseConstructor(process.argv[2])
database.pragma('journal_mode = WAL')
database.pragma('synchronous = FULL')
console.log('begins')
migrate(database, {
  ...MIGRATIONS,
  steps: [...MIGRATIONS.steps, process.argv[3] === 'endless' ? `${STEP}; ${ENDLESS}` : STEP]
})
database.close()

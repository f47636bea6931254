import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Driver } from '../sql/database.ts'
import { createIdleWork } from './idle-work.ts'
import { compactDatabase, openDatabase } from './open-database.ts'
import { SqliteDatabase } from './sqlite-database.ts'
import { explainSqliteError } from './sqlite-error.ts'

/** A value of `auto_vacuum` (https://sqlite.org/pragma.html#pragma_auto_vacuum). */
export const INCREMENTAL = 2

/** Throws like openDatabase. `isIdleUsed`: whether to do deferrable work between writes. */
export function openSqliteDriver(options: { path: string; clock: Clock; logger: Logger; isIdleUsed: boolean }): Driver {
  const { path, clock, logger, isIdleUsed } = options
  const { database, lock } = openDatabase(path)
  const idle = isIdleUsed ? createIdleWork({ database, clock, logger }) : null
  const changeCount = database.prepare<[], number>('SELECT total_changes()').pluck()
  const pragma = (name: string) => database.pragma(name, { simple: true }) as number
  return {
    database: new SqliteDatabase(database),
    changeCount: () => changeCount.get()!,
    explain: (error) => explainSqliteError(error, path),
    settle: () => {},
    committed: () => idle?.postpone(),
    size() {
      const pageBytes = pragma('page_size')
      return {
        bytes: pragma('page_count') * pageBytes,
        freeBytes: pragma('freelist_count') * pageBytes,
        canShrink: pragma('auto_vacuum') === INCREMENTAL
      }
    },
    shrink(pages) {
      if (pragma('auto_vacuum') !== INCREMENTAL) return 0
      database.pragma(`incremental_vacuum(${Math.trunc(pages)})`)
      return pragma('freelist_count')
    },
    compact: () => compactDatabase(database),
    close() {
      idle?.stop()
      database.close()
      lock.release()
    }
  }
}

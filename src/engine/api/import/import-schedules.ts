import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isZone } from '../../../shared/calendar/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { writeFleetFile } from '../fleet-file/yaml.ts'
import { readGerapyTasks, readScrapydWebTasks } from '../../storage/timer-databases.ts'
import { importCrontab } from './schedules/crontab.ts'
import type { Imported } from './schedules/draft.ts'
import { importGerapy } from './schedules/gerapy.ts'
import { importScrapydWeb } from './schedules/scrapydweb.ts'

export type ImportSource = 'scrapydweb' | 'gerapy' | 'crontab'

export interface ImportSchedulesOptions {
  from: ImportSource
  /** The database, the crontab, or the folder that contains one; with `text` (from a pipe) only its name. */
  path: string
  text?: string
  /** For schedules without a zone; null: the other program's own, else this machine's. */
  zone: string | null
  /** Ignores the original nodes: the queue chooses. */
  anyNode?: boolean
  hasUsers?: boolean
  project?: string | null
}

const CRONTAB_BYTES_MAX = 4_000_000
const PLACES: Record<ImportSource, string[]> = {
  scrapydweb: ['timer_tasks.db', 'database/timer_tasks.db', 'data/database/timer_tasks.db'],
  gerapy: ['db.sqlite3', 'dbs/db.sqlite3'],
  crontab: []
}

/**
 * Converts another program's schedules into a fleet file, with a result for each task or line. Read-only. Throws
 * BAD_INPUT if there is nothing to read.
 */
export function importSchedules(options: ImportSchedulesOptions): { yaml: string; imported: Imported[] } {
  if (options.zone !== null && !isZone(options.zone))
    throw new ScrapdeckError('BAD_INPUT', `"${options.zone}" is not a time zone; use a name such as Europe/Berlin`)
  let imported: Imported[]
  try {
    imported = read(options)
  } catch (error) {
    if (error instanceof ScrapdeckError) throw error
    throw new ScrapdeckError('BAD_INPUT', `${options.path} cannot be read: ${(error as Error).message}`, {
      cause: error
    })
  }
  const schedules = imported.flatMap(({ schedule }) => (schedule === null ? [] : [schedule]))
  const heading = `Schedules of ${options.from === 'crontab' ? 'a crontab' : options.from}, for "scrapdeck apply"`
  return { yaml: writeFleetFile({ version: 1, schedules }, heading), imported }
}

function read({ from, path, text, zone, anyNode = false, hasUsers = false, project = null }: ImportSchedulesOptions) {
  if (from === 'crontab')
    return importCrontab(text ?? readCrontab(path), { zone: zone ?? ownZone(), hasUsers, project, anyNode })
  const file = find(from, path)
  if (from === 'gerapy') return importGerapy(readGerapyTasks(file), zone, anyNode)
  const beside = (name: string) => {
    const other = join(dirname(file), name)
    return existsSync(other) ? other : null
  }
  const databases = { apscheduler: beside('apscheduler.db'), metadata: beside('metadata.db') }
  return importScrapydWeb(readScrapydWebTasks(file, databases), zone ?? ownZone(), anyNode)
}

const ownZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone

function readCrontab(path: string): string {
  if (statSync(path).size > CRONTAB_BYTES_MAX) throw new Error('it is too large to be a crontab')
  return readFileSync(path, 'utf8')
}

function find(from: ImportSource, path: string): string {
  if (!existsSync(path)) throw new ScrapdeckError('BAD_INPUT', `There is no ${path}`)
  if (!statSync(path).isDirectory()) return path
  const file = PLACES[from].map((place) => join(path, place)).find((candidate) => existsSync(candidate))
  if (file !== undefined) return file
  throw new ScrapdeckError(
    'BAD_INPUT',
    `${path} contains neither ${PLACES[from].join(' nor ')}. Specify the file itself`
  )
}

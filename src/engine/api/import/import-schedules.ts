import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isZone, problemOfCron } from '../../../shared/calendar/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/api.ts'
import { writeFleetFile } from '../fleet-file/yaml.ts'
import { readGerapyTasks, readScrapydWebTasks } from '../../storage/timer-databases.ts'
import { type Imported, finish, refused, zoneOr } from './schedules/draft.ts'
import { importGerapy } from './schedules/gerapy.ts'
import { importScrapydWeb } from './schedules/scrapydweb.ts'
import { readCommand } from './schedules/crontab-command.ts'

export type ImportSource = 'scrapydweb' | 'gerapy' | 'crontab'

export interface ImportSchedulesOptions {
  from: ImportSource
  /** The path of the database or crontab, or of its folder. If `text` is given (from a pipe), only errors use this. */
  path: string
  text?: string
  /** The zone for schedules without one. null: the zone of the other program or of this machine. */
  zone: string | null
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

/** Converts another program's schedules into a fleet file. Throws BAD_INPUT if there is nothing to read. */
export function importSchedules(options: ImportSchedulesOptions): { yaml: string; imported: Imported[] } {
  if (options.zone !== null && !isZone(options.zone))
    throw new ScrapdeckError('BAD_INPUT', sentence('api.time_zone_unknown', { zone: options.zone }))
  let imported: Imported[]
  try {
    imported = read(options)
  } catch (error) {
    if (error instanceof ScrapdeckError) throw error
    throw new ScrapdeckError(
      'BAD_INPUT',
      sentence('api.cannot_read', { path: options.path, error: (error as Error).message }),
      {
        cause: error
      }
    )
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
  if (!existsSync(path)) throw new ScrapdeckError('BAD_INPUT', sentence('api.no_file', { path }))
  if (!statSync(path).isDirectory()) return path
  const file = PLACES[from].map((place) => join(path, place)).find((candidate) => existsSync(candidate))
  if (file !== undefined) return file
  throw new ScrapdeckError(
    'BAD_INPUT',
    sentence('api.no_schedules_in_directory', { path, places: PLACES[from].join(' nor ') })
  )
}

const NICKNAME = /^(@[a-z]+)\s+(.*)$/s
const FIVE_FIELDS = /^((?:\S+\s+){4}\S+)\s+(.*)$/s
const VARIABLE = /^([A-Za-z_]\w*)\s*=\s*(.*)$/

interface CrontabOptions {
  /** The zone of lines without a preceding CRON_TZ. */
  zone: string
  /** Whether lines have a user name between the times and the command, as in /etc/crontab and /etc/cron.d. */
  hasUsers: boolean
  /** The project for commands that name none (`scrapy crawl`). */
  project: string | null
  anyNode: boolean
}

/** Lines that start no spider are reported and stay with cron. */
function importCrontab(crontab: string, options: CrontabOptions): Imported[] {
  const found: Imported[] = []
  const names = new Map<string, number>()
  let zone: string | null = options.zone
  for (const [index, raw] of crontab.split(/\r?\n/).entries()) {
    const line = raw.trim()
    if (line === '' || line.startsWith('#')) continue
    const origin = `line ${index + 1}`
    const [, name, value] = VARIABLE.exec(line) ?? []
    if (name !== undefined && value !== undefined) {
      // TZ only affects the commands.
      if (name === 'CRON_TZ') zone = zoneOr(value.replaceAll(/^["']|["']$/g, ''), options.zone)
      continue
    }
    try {
      found.push(
        zone === null ? refused(origin, 'its time zone is unknown') : importLine(origin, line, zone, options, names)
      )
    } catch (error) {
      // The problem may be an unescaped %, because cron ends the command there.
      const isCut = PERCENT_SIGN.test(line)
      const { message } = error as Error
      found.push(refused(origin, isCut ? `${message} (cron ends the command at its first %: write \\%)` : message))
    }
  }
  return found
}

function importLine(
  origin: string,
  line: string,
  zone: string,
  { hasUsers, project, anyNode }: CrontabOptions,
  names: Map<string, number>
): Imported {
  const [, cron, rest] = NICKNAME.exec(line) ?? FIVE_FIELDS.exec(line) ?? []
  if (cron === undefined || rest === undefined) return refused(origin, 'it is not a crontab line')
  if (cron === '@reboot') return refused(origin, '@reboot is not a time')
  const problem = problemOfCron(cron)
  if (problem !== null) return refused(origin, problem.text)
  const notes: string[] = []
  const command = readCommand(withoutInput(hasUsers ? rest.replace(/^\S+\s+/, '') : rest), project, notes)
  const base = `${command.project} ${command.spider}`
  const count = (names.get(base) ?? 0) + 1
  names.set(base, count)
  const { project: ofCommand, spider, version, settings, args } = command
  const node = anyNode ? null : command.node
  const template = { project: ofCommand, spiders: [spider], version, settings, args, node }
  // Cron starts a job even while the previous one runs, and does not catch up on missed runs.
  const draft = { name: count === 1 ? base : `${base} ${count}`, zone, rules: [{ cron }], jobs: [template] }
  return finish(origin, { ...draft, overlap: 'allow', catchUp: 'none' }, notes)
}

const PERCENT_SIGN = /(?<!\\)%/

/** In a crontab, `%` ends the command and starts its input. `\%` is a literal percent sign. */
function withoutInput(command: string): string {
  const end = PERCENT_SIGN.exec(command)?.index ?? command.length
  return command.slice(0, end).replaceAll('\\%', '%')
}

import { problemOfCron } from '../../../../shared/calendar/index.ts'
import { finish, type Imported, refused, zoneOr } from './draft.ts'
import { readCommand } from './crontab-command.ts'

const NICKNAME = /^(@[a-z]+)\s+(.*)$/s
const FIVE_FIELDS = /^((?:\S+\s+){4}\S+)\s+(.*)$/s
const VARIABLE = /^([A-Za-z_]\w*)\s*=\s*(.*)$/

export interface CrontabOptions {
  /** For lines without a preceding CRON_TZ. */
  zone: string
  /** Lines have a user name between the times and the command, as in /etc/crontab and /etc/cron.d. */
  hasUsers: boolean
  /** For commands that name no project (`scrapy crawl`). */
  project: string | null
  /** Ignores the node that a command calls; the queue chooses one. */
  anyNode: boolean
}

/** Converts the lines of a crontab that start spiders into schedules. Other lines are reported and left to cron. */
export function importCrontab(crontab: string, options: CrontabOptions): Imported[] {
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
      // The problem may be an unescaped %, at which cron ends the command.
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
  if (problem !== null) return refused(origin, problem)
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

/** In a crontab, `%` ends the command and starts its input; `\%` is a literal percent sign. */
function withoutInput(command: string): string {
  const end = PERCENT_SIGN.exec(command)?.index ?? command.length
  return command.slice(0, end).replaceAll('\\%', '%')
}

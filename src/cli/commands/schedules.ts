import type {
  Project,
  ProjectName,
  RunTemplate,
  Schedule,
  ScheduleRule,
  VersionName
} from '../../shared/contract/index.ts'
import { OVERLAP_POLICIES } from '../../shared/choices.ts'
import { describeTiming } from '../../shared/calendar/index.ts'
import { isScrapdeckError } from '../../shared/errors.ts'
import { versionOf } from '../../shared/version-of.ts'
import { collect, collectPair, wholeNumber, withConsent } from '../client/arguments.ts'
import { type Client, toCommandError } from '../client/connect.ts'
import { CommandEnd, EXIT_CODES } from '../client/exit-codes.ts'
import { findSchedule, listSchedules, requireProject, scheduleNames } from '../client/find.ts'
import { localTime, plural, table } from '../client/output.ts'
import type { ClientCommands, Session } from '../client/session.ts'
import { withoutSteering } from '../client/terminal.ts'
import { moment, requireFuture } from '../client/times.ts'

interface CreateFlags extends TimingFlags {
  project: ProjectName
  spider: string[]
  version?: VersionName
  argument?: Record<string, string>
  setting?: Record<string, string>
  overlap?: string
  replace?: boolean
}

interface TimingFlags {
  cron?: string[]
  every?: number
  at?: number
  zone?: string
}

export function addScheduleCommands({ group, terminal }: ClientCommands): void {
  const add = group('schedules', 'Schedules: list, create, pause, run now, backfill.')

  add('list', 'List the schedules by name.', (command) =>
    command
      .option('--project <name>', 'only those with jobs of this project')
      .option('--text <words>', 'only those whose name contains this')
  )(async (session, _words, { project, text }: { project?: ProjectName; text?: string }) => {
    const { client, print } = session
    const all = await listSchedules(client, { project, text, recent: 1 })
    if (all.length === 0) await requireProject(client, project)
    print({ schedules: all }, (answer) =>
      table(
        ['name', 'state', 'runs', 'next', 'last', 'when', 'id'],
        answer.schedules.map((one) => [
          one.name,
          one.paused ? `paused${one.pauseNote === null ? '' : ` (${one.pauseNote})`}` : 'active',
          spidersOf(one.jobs),
          nextOf(one),
          one.recent[0]?.outcome ?? one.recent[0]?.state ?? null,
          describeTiming(one),
          one.id
        ]),
        'No schedules.'
      )
    )
  })

  add(
    'show <name>',
    'Show a schedule: its next times and its last firings.'
  )(async (session, [name = '']) => {
    const { id } = await findSchedule(session.client, name)
    const schedule = await session.client.schedules.get({ id })
    const { occurrences } = await session.client.schedules.preview({ timing: timingOf(schedule), count: 10 })
    session.print({ schedule, next: occurrences }, () =>
      [
        `${schedule.name}: ${describeTiming(schedule)}`,
        ...schedule.jobs.map((job) => `Runs ${describeTemplate(job)}`),
        schedule.paused ? `Paused${schedule.pauseNote === null ? '' : `: ${schedule.pauseNote}`}` : 'Next:',
        ...(schedule.paused ? [] : occurrences.map(({ local, kind }) => `  ${local}${KINDS[kind]}`)),
        schedule.recent.length === 0 ? 'Last: it has not fired yet' : 'Last:',
        ...schedule.recent
          .slice(0, 10)
          .map(
            (firing) =>
              `  ${localTime(firing.nominalMs, schedule.zone)}  ${firing.outcome ?? firing.state}  ${firing.text}`
          )
      ].join('\n')
    )
  })

  add('create <name>', 'Create a schedule. For all options, use a fleet file (scrapdeck apply).', (command) =>
    withTiming(command)
      .requiredOption('--project <name>', 'the project')
      .requiredOption('--spider <name>', 'a spider (can be repeated)', collect)
      .option(
        '--version <version>',
        'the version of the project (default: the pinned one, else the latest when it runs)'
      )
      .option(
        '-a, --argument <name=value>',
        'an argument; {nominal} is the scheduled time of the run (can be repeated)',
        collectPair
      )
      .option('-s, --setting <NAME=value>', 'a setting of Scrapy (can be repeated)', collectPair)
      .option('--replace', 'if there is a schedule with this name, give it these settings')
      .option('--overlap <policy>', `while a run is live: ${OVERLAP_POLICIES.join(', ')} (default skip)`)
  )(async ({ client, flags, print }, [name = ''], options: CreateFlags) => {
    const overlap = OVERLAP_POLICIES.find((policy) => policy === (options.overlap ?? 'skip'))
    if (overlap === undefined) {
      throw new CommandEnd(EXIT_CODES.usage, `--overlap takes one of ${OVERLAP_POLICIES.join(', ')}.`)
    }
    const { replace = false } = options
    requireFuture(options.at, terminal.nowMs(), 'The schedule would never fire then.')
    const answer = await client.schedules.create({
      name,
      replace,
      ...readTiming(options, terminal.nowMs()),
      overlap,
      jobs: [
        {
          project: options.project,
          version: options.version ?? null,
          spiders: options.spider,
          args: options.argument ?? {},
          settings: options.setting ?? {}
        }
      ]
    })
    print(
      answer,
      ({ schedule }) =>
        `${replace && schedule.revision > 1 ? 'Replaced' : 'Created'} ${schedule.name} (${schedule.id}). ${describeNext(schedule)}`
    )
    const lacking = flags.json === true ? null : await whatIsNotDeployed(client, options)
    if (lacking !== null) {
      terminal.error(withoutSteering(`${lacking} so far: the firings of this schedule fail until that is deployed.\n`))
    }
  })

  add(
    'preview',
    'Show when a schedule would fire, without creating it.',
    withTiming
  )(async ({ client, print }, _words, options: TimingFlags) => {
    const answer = await client.schedules.preview({ timing: readTiming(options, terminal.nowMs()) })
    print(answer, ({ words, occurrences }) =>
      [words, ...occurrences.map(({ local, kind }) => `  ${local}${KINDS[kind]}`)].join('\n')
    )
  })

  add('pause <name...>', 'Pause schedules.', (command) => command.option('--note <words>', 'why'))(
    (session, names, { note }: { note?: string }) => setPaused(session, names, true, note ?? null)
  )
  add('resume <name...>', 'Resume paused schedules.')((session, names) => setPaused(session, names, false, null))

  add(
    'run <name>',
    'Run a schedule now, in addition to its times.'
  )(async ({ client, print }, [name = '']) => {
    const answer = await client.schedules.runNow({ id: (await findSchedule(client, name)).id })
    print(answer, ({ firing }) => `${firing.state}: ${firing.jobIds.join(' ') || firing.text}`)
  })

  add('history [name]', 'List firings, newest first: which ran, and which were missed or skipped and why.', (command) =>
    command
      .option('--missed', 'only what did not run')
      .option('--limit <number>', 'maximum number of firings', wholeNumber, 50)
  )(async ({ client, flags, print }, [name], { missed, limit }: { missed?: boolean; limit: number }) => {
    const answer = await client.schedules.firings({
      limit: Math.min(500, Math.max(1, limit)),
      scheduleId: name === undefined ? undefined : (await findSchedule(client, name)).id,
      state: missed ? ['missed', 'skipped', 'failed'] : undefined
    })
    const ids = new Set(flags.json === true ? [] : answer.firings.map(({ scheduleId }) => scheduleId))
    const names = await scheduleNames(client, ids)
    print(answer, ({ firings }) =>
      table(
        ['schedule', 'for', 'state', 'outcome', 'count', 'why', 'jobs'],
        firings.map((one) => [
          names.get(one.scheduleId) ?? one.scheduleId,
          localTime(one.nominalMs),
          one.state,
          one.outcome,
          one.count,
          one.text,
          one.jobIds.join(' ')
        ]),
        'No firings.'
      )
    )
  })

  add('backfill <name>', 'Run a schedule for a period in the past. Shows the plan; --yes starts it.', (command) =>
    withConsent(command)
      .requiredOption('--from <time>', 'from this time on', moment)
      .requiredOption('--until <time>', 'up to this time', moment)
      .option('--newest-first', 'start with the newest')
      .option('--concurrency <number>', 'maximum number of runs at once', wholeNumber, 1)
  )(async ({ client, print }, [name = ''], options: BackfillFlags) => {
    const { id } = await findSchedule(client, name)
    const span = { id, fromMs: options.from, untilMs: options.until }
    if (!options.yes) {
      print(await client.schedules.planBackfill(span), ({ count, jobs, alreadyRun, forgotten }) =>
        [
          `${plural(count, 'firing')} with ${plural(jobs, 'job')}; ${alreadyRun} ran already and are left out.`,
          ...(forgotten === 0
            ? []
            : [`For ${forgotten} there is no longer a record of whether they ran; they are skipped too.`]),
          'No changes made. Add --yes to apply.'
        ].join('\n')
      )
      return
    }
    const order = options.newestFirst ? ('newest_first' as const) : ('oldest_first' as const)
    const answer = await client.schedules.backfill({ ...span, order, concurrency: options.concurrency })
    print(answer, ({ backfill }) => `Backfill of ${plural(backfill.total, 'firing')} started.`)
  })

  add(
    'remove <name...>',
    'Remove schedules and their history; their jobs stay.'
  )(async ({ client, print }, names) => {
    const ids = await idsOf(client, names)
    print(await client.schedules.remove({ ids }), ({ removed }) => `${plural(removed.length, 'schedule')} removed.`)
  })
}

function spidersOf(jobs: readonly RunTemplate[]): string {
  return jobs.flatMap(({ project, spiders }) => spiders.map((spider) => `${project}/${spider}`)).join(', ')
}

/** `shop / prices (1.2) day={nominal}`. The engine masks secret values. */
function describeTemplate({ project, spiders, version, args, settings }: RunTemplate): string {
  const values = Object.entries({ ...args, ...settings }).map(([name, value]) => `${name}=${value}`)
  return [`${project} / ${spiders.join(', ')}`, version === null ? '' : `(${version})`, ...values]
    .filter((text) => text !== '')
    .join(' ')
}

function describeNext(schedule: Schedule): string {
  if (schedule.paused) return 'It is paused.'
  const next = nextOf(schedule)
  return next === null ? 'It never fires again.' : `Next: ${next}`
}

const nextOf = ({ nextAtMs, zone }: Pick<Schedule, 'nextAtMs' | 'zone'>): string | null =>
  nextAtMs === null ? null : `${localTime(nextAtMs, zone)} ${zone}`

interface BackfillFlags {
  from: number
  until: number
  newestFirst?: boolean
  concurrency: number
  yes?: boolean
}

const KINDS = {
  normal: '',
  gap: '  (clocks jump over the time meant: at the change)',
  first_of_two: '  (clocks show this time twice: the first)',
  second_of_two: '  (clocks show this time twice: the second)'
} as const

function withTiming(command: Parameters<Parameters<ClientCommands['add']>[2] & object>[0]) {
  return command
    .option(
      '--cron <expression>',
      'five fields, or six with seconds first; @daily and so on (can be repeated)',
      collect
    )
    .option('--every <seconds>', 'interval in seconds, starting now', wholeNumber)
    .option('--at <time>', 'once, at this time', moment)
    .option('--zone <name>', "time zone of the expressions (default: this machine's)")
}

function readTiming(flags: TimingFlags, nowMs: number): { zone: string; rules: ScheduleRule[] } {
  const rules: ScheduleRule[] = [
    ...(flags.cron ?? []).map((expression) => ({ kind: 'cron' as const, expression })),
    ...(flags.every === undefined ? [] : [{ kind: 'interval' as const, everySeconds: flags.every, anchorMs: nowMs }]),
    ...(flags.at === undefined ? [] : [{ kind: 'once' as const, atMs: flags.at }])
  ]
  if (rules.length === 0) throw new CommandEnd(EXIT_CODES.usage, 'Give a time with --cron, --every or --at.')
  return { zone: flags.zone ?? new Intl.DateTimeFormat().resolvedOptions().timeZone, rules }
}

function timingOf({ zone, rules, excludedDates, excludedCrons, gap, doubled, startMs, endMs }: Schedule) {
  return { zone, rules, excludedDates, excludedCrons, gap, doubled, startMs, endMs }
}

/** A schedule can be created before its project is deployed, but users should notice a mistyped name immediately. */
async function whatIsNotDeployed(
  client: Client,
  { project: name, version, spider }: CreateFlags
): Promise<string | null> {
  const project = await client.projects.get({ project: name }).catch(toCommandError)
  if (isScrapdeckError(project)) return project.code === 'PROJECT_NOT_FOUND' ? `There is no project ${name}` : null
  if (project instanceof Error) return null
  const runs = versionOf(project as Project, version)
  if (runs === undefined) return `The project ${name} has no version ${version}`
  const missing = spider.filter((one) => runs.spiders?.includes(one) === false)
  return missing.length === 0 ? null : `The project ${name} has no spider ${missing.join(', ')}`
}

async function setPaused(
  { client, print }: Session,
  names: string[],
  paused: boolean,
  note: string | null
): Promise<void> {
  const answer = await client.schedules.setPaused({ ids: await idsOf(client, names), paused, note })
  print(answer, ({ schedules }) => schedules.map((one) => `${one.name}: ${describeNext(one)}`).join('\n'))
}

async function idsOf(client: Client, names: string[]): Promise<string[]> {
  return Promise.all(names.map(async (name) => (await findSchedule(client, name)).id))
}

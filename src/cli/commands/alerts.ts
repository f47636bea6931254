import { type Command, InvalidArgumentError, Option } from 'commander'
import type {
  Alert,
  AlertId,
  AlertRuleState,
  AlertSilence,
  ProjectName,
  AlertRuleId,
  AlertReport
} from '../../shared/contract/index.ts'
import { ALERT_WATCHES } from '../../shared/alert-watches.ts'
import { describeWindows, windowFrom } from '../../shared/calendar/windows.ts'
import { isZone } from '../../shared/calendar/zones.ts'
import { shortId } from '../../shared/ids.ts'
import { formatAge, formatDuration } from '../../shared/time.ts'
import { wholeNumber } from '../client/arguments.ts'
import type { Client } from '../client/connect.ts'
import { CommandEnd, EXIT_CODES } from '../client/exit-codes.ts'
import { findNodeId, pickById } from '../client/find.ts'
import { localTime, plural, table, printLine } from '../client/output.ts'
import type { ClientCommands, Session } from '../client/session.ts'
import { duration, momentIn } from '../client/times.ts'
import { findIn } from './rights-flags.ts'
import { safeJson } from '../client/terminal.ts'
import { formatBytes } from '../../shared/format-bytes.ts'

export function describeReport(report: AlertReport): string {
  const { fromMs, untilMs, runs, runsBefore, failing, newErrors, unusual, slowest, service, isComplete } = report
  const lists = [
    table(
      ['failing spider', 'failed', 'runs', 'last reason'],
      failing.map((one) => [nameOf(one), one.failed, one.runs, one.reason]),
      'No run failed or was lost.'
    ),
    table(
      [
        newErrors.count > newErrors.groups.length ? `new errors (${newErrors.count}) of` : 'new error of',
        'runs',
        'what'
      ],
      newErrors.groups.map(({ project, runs: count, title }) => [project, count, title]),
      'No new errors.'
    ),
    table(
      ['unusual runs', 'what'],
      unusual.map((one) => [nameOf(one), one.text]),
      'Every successful run was similar to earlier runs of its spider.'
    ),
    table(
      ['slowest spider', 'runs', 'median', 'longest'],
      slowest.map((one) => [nameOf(one), one.runs, lengthOf(one.medianMs), lengthOf(one.longestMs)]),
      'No run ended.'
    )
  ]
  return [
    `Report of ${localTime(fromMs)} to ${localTime(untilMs)}`,
    table(['', 'runs', ...OUTCOMES], [countsOf('now', runs), countsOf('before', runsBefore)], ''),
    ...lists,
    ...(isComplete ? [] : ['There were too many jobs to scan all of them: the lists of spiders are not complete.']),
    ...(service === null ? [] : [describeService(service)])
  ].join('\n\n')
}

const OUTCOMES = ['succeeded', 'failed', 'lost', 'unclear', 'cancelled'] as const

const nameOf = ({ project, spider }: { project: string; spider: string }): string => `${project}/${spider}`
const lengthOf = (durationMs: number): string => formatDuration(Math.round(durationMs / 1_000))

function countsOf(when: string, runs: AlertReport['runs']): (string | number)[] {
  const counts = OUTCOMES.map((outcome) => runs[outcome])
  return [when, counts.reduce((sum, count) => sum + count, 0), ...counts]
}

function describeService(service: NonNullable<AlertReport['service']>): string {
  const { alertsFired, nodes, nodesDown, queued, databaseBytes, logBytes, diskFreePercent } = service
  const down = nodesDown.length === 0 ? 'none down' : `${nodesDown.length} down: ${nodesDown.join(', ')}`
  const free = diskFreePercent === null ? '' : ` · disk: ${diskFreePercent} % free`
  return [
    `Alerts: ${alertsFired} fired · nodes: ${nodes}, ${down} · queue: ${plural(queued, 'job')} waiting`,
    `Database: ${formatBytes(databaseBytes)} · logs: ${formatBytes(logBytes)}${free}`
  ].join('\n')
}

interface ListFlags {
  all?: boolean
  rule?: string
  limit: number
  follow?: boolean
}

interface SilenceFlags {
  for: number
  from?: string
  every?: 'day' | 'week'
  zone?: string
  ends?: string
  node?: string
  tag?: string
  project?: ProjectName
  spider?: string
  rule?: string
  comment: string
}

const ID_LENGTH = 32
const ID_START_MIN = 6
/** The engine's limit for the number of alerts in one list. */
const LISTED_MAX = 500

export function addAlertCommands({ group }: ClientCommands): void {
  const add = group('alerts', 'Alerts: list, follow, acknowledge, silence; the rules and the report.')

  add(
    'list',
    'List the alerts that fire, the most severe first.',
    (command) =>
      command
        .option('--all', 'also those that have ended')
        .option('--rule <name>', 'only those of this rule')
        .option('--limit <number>', 'maximum number of alerts', limit, 100)
        .option('--follow', 'then print alerts as they fire and end, until you interrupt it'),
    { isDefault: true }
  )(async (session, _words, { all, rule, limit: most, follow }: ListFlags) => {
    const { client, terminal, print } = session
    const ruleId = rule === undefined ? undefined : (await findRule(client, rule)).id
    const filter = { limit: most, ruleId }
    if (follow === true) return followAlerts(session, { ruleId })
    const answer = await client.alerts.list({ ...filter, ...(all === true ? {} : { state: 'firing' as const }) })
    print(answer, ({ alerts }) => listed(alerts, terminal.nowMs()))
  })

  add(
    'ack <id...>',
    'Acknowledge alerts: they are not repeated and not escalated. Their end is still sent.',
    (command) => command.option('--undo', 'take that back: they are repeated and escalated again')
  )(async ({ client, print }, names, { undo = false }: { undo?: boolean }) => {
    const ids = await findAlerts(client, names)
    if (undo) {
      print(await client.alerts.unacknowledge({ ids }), ({ unacknowledged }) => {
        const others = ids.length - unacknowledged
        const rest = others === 0 ? '' : ` ${plural(others, 'alert')} had ended or not been acknowledged.`
        return `${plural(unacknowledged, 'alert')} no longer acknowledged.${rest}`
      })
      return
    }
    const answer = await client.alerts.acknowledge({ ids })
    print(answer, ({ acknowledged }) => {
      const others = ids.length - acknowledged
      const rest = others === 0 ? '' : ` ${plural(others, 'alert')} had ended or been acknowledged before.`
      return `${plural(acknowledged, 'alert')} acknowledged.${rest}`
    })
  })

  add(
    'silence',
    'Send no messages about some alerts for a time, or in a maintenance window of each day or week (--every). Without a scope: about any.',
    (command) => silenceOptions(command)
  )(async ({ client, terminal, print }, _words, given: SilenceFlags) => {
    const { node, tag, rule, project, spider, comment } = given
    const answer = await client.alertSilences.create({
      project,
      spider,
      comment,
      nodeTag: tag,
      ...timesOf(given, terminal.nowMs()),
      nodeId: node === undefined ? undefined : await findNodeId(client, node),
      ruleId: rule === undefined ? undefined : (await findRule(client, rule)).id
    })
    print(answer, ({ silence }) => {
      const end = `"scrapdeck alerts unsilence ${silence.id}" ends it`
      return `Silent ${whenSilent(silence, terminal.nowMs())}; ${end}.`
    })
  })

  add(
    'silences',
    'List the silences that have not ended, with the time that lasts now or is next.'
  )(async ({ client, terminal, print }) => {
    const [answer, { nodes }, { rules }] = await Promise.all([
      client.alertSilences.list(),
      client.nodes.list(),
      client.alertRules.list()
    ])
    const nameOf = (things: readonly { id: string; name: string }[], id: string | null) =>
      id === null ? null : (things.find((one) => one.id === id)?.name ?? id)
    print(answer, ({ silences }) =>
      table(
        ['id', 'from', 'until', 'repeats', 'rule', 'project', 'spider', 'node', 'by', 'comment'],
        silences.map((silence) => {
          const { id, ruleId, project, spider, nodeId, nodeTag, by, comment } = silence
          const { fromMs, untilMs } = windowFrom(silence, terminal.nowMs()) ?? silence
          const node = nameOf(nodes, nodeId) ?? (nodeTag === null ? null : `tag ${nodeTag}`)
          return [
            ...[id, localTime(fromMs), localTime(untilMs), describeWindows(silence), nameOf(rules, ruleId)],
            ...[project, spider, node, by, comment]
          ]
        }),
        'No silences.'
      )
    )
  })

  add(
    'unsilence <id...>',
    'End silences now.'
  )(async ({ client, print }, texts) => {
    const isWhole = texts.every((text) => text.length === ID_LENGTH)
    const silences = isWhole ? [] : (await client.alertSilences.list()).silences
    // Pass on an unknown id: its silence may have ended, and the engine then says so.
    const ids = texts.map((text) => pickById(silences, text, ID_START_MIN)?.id ?? text)
    const [id] = ids
    if (ids.length === 1) print(await client.alertSilences.remove({ id: id as never }), () => 'The silence has ended.')
    else
      print(await client.alertSilences.removeMany({ ids: ids as never }), ({ removed }) => {
        const others = ids.length - removed.length
        return `${plural(removed.length, 'silence')} ended.${others === 0 ? '' : ` ${others} had ended before.`}`
      })
  })

  add(
    'rules',
    'List the rules, with how often each has fired in the last 30 days.'
  )(async ({ client, terminal, print }) => {
    print(await client.alertRules.list(), ({ rules }) => listedRules(rules, terminal.nowMs()))
  })

  add(
    'report',
    'Sum up the last day or week: runs, failures, new errors, unusual runs, the slowest, storage.',
    (command) =>
      command.addOption(new Option('--days <number>', 'of the last day or week').choices(['1', '7']).default('1'))
  )(async ({ client, print }, _words, { days }: { days: '1' | '7' }) => {
    print(await client.alerts.report({ days: Number(days) }), describeReport)
  })
}

const silenceOptions = (command: Command) =>
  command
    .requiredOption('--for <duration>', 'how long, such as 30m, 2h or 7d', duration)
    .option('--from <time>', 'when it begins, or began for the first time (default: now)')
    .addOption(new Option('--every <period>', 'again each day or week, at the same time').choices(['day', 'week']))
    .option('--zone <name>', "time zone of --every, --from and --ends (default: this machine's)")
    .option('--ends <time>', 'with --every: nothing begins from then on (default: it goes on until you end it)')
    .option('--node <name>', 'alerts about this node and what runs on it')
    .option('--tag <tag>', 'alerts about the nodes with this tag and what runs on them')
    .option('--project <name>', 'alerts about this project')
    .option('--spider <name>', 'alerts about this spider')
    .option('--rule <name>', 'alerts of this rule')
    .option('--comment <text>', 'why, for everybody who sees it', '')

function timesOf({ for: lastsMs, from, every, zone, ends }: SilenceFlags, nowMs: number) {
  if (zone !== undefined && !isZone(zone))
    throw new CommandEnd(EXIT_CODES.usage, `There is no time zone ${zone}. Write one such as Europe/Berlin.`)
  if (ends !== undefined && every === undefined)
    throw new CommandEnd(
      EXIT_CODES.usage,
      '--ends is only for a silence that repeats: add --every day or --every week.'
    )
  const fromMs = from === undefined ? nowMs : momentIn(zone, from)
  const endsMs = ends === undefined ? null : momentIn(zone, ends)
  const ownZone = zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone
  return {
    fromMs: from === undefined && every === undefined ? null : fromMs,
    untilMs: fromMs + lastsMs,
    repeats: every === undefined ? null : { every, zone: ownZone, endsMs }
  }
}

/** `until 2026-11-28 15:00:00`, `every Sunday 02:00–04:00 (Europe/Berlin), next from 2026-11-29 02:00:00` */
function whenSilent(silence: AlertSilence, nowMs: number): string {
  const { fromMs, untilMs } = windowFrom(silence, nowMs) ?? silence
  const zone = silence.repeats?.zone
  const begins = fromMs > nowMs ? `from ${localTime(fromMs, zone)} ` : ''
  const again = describeWindows(silence)
  if (again === null) return `${begins}until ${localTime(untilMs)}`
  return `${again}, ${fromMs > nowMs ? 'next' : 'now'} ${begins}until ${localTime(untilMs, zone)}`
}

function limit(text: string): number {
  const number = wholeNumber(text)
  if (number < 1 || number > LISTED_MAX) throw new InvalidArgumentError(`Write a number from 1 to ${LISTED_MAX}.`)
  return number
}

async function findRule(client: Client, text: string): Promise<AlertRuleState> {
  return findIn((await client.alertRules.list()).rules, text, 'alert rule')
}

/** Finds each alert by its id, its short form, or its first six or more digits. */
async function findAlerts(client: Client, texts: readonly string[]): Promise<AlertId[]> {
  if (texts.every((text) => text.length === ID_LENGTH)) return texts as AlertId[]
  const { alerts } = await client.alerts.list({ state: 'firing', limit: LISTED_MAX })
  return texts.map((text) => {
    if (text.length === ID_LENGTH) return text as AlertId
    const found = pickById(alerts, text, ID_START_MIN)
    if (found !== null) return found.id
    throw new CommandEnd(
      EXIT_CODES.notFound,
      `No alert that fires has the id ${text}; "scrapdeck alerts" lists them. An id can be shortened to its last 8 digits.`
    )
  })
}

function listed(alerts: readonly Alert[], nowMs: number): string {
  return table(
    ['id', 'severity', 'state', 'age', 'rule', 'owner', 'what'],
    alerts.map((alert) => [
      ...[shortId(alert.id), alert.severity, stateOf(alert), formatAge(nowMs - (alert.firedAtMs ?? alert.sinceMs))],
      ...[alert.ruleName, alert.owner, alert.text]
    ]),
    'No alerts.'
  )
}

const MUTED = { silenced: 'silenced', node_down: 'node down', node_cordoned: 'node cordoned' }

/** `firing, acknowledged by ann` */
function stateOf({ state, acknowledged, muted, isFlapping }: Alert): string {
  if (state === 'resolved') return state
  const more = [
    ...(acknowledged === null ? [] : [`acknowledged by ${acknowledged.by}`]),
    ...(muted === null ? [] : [MUTED[muted]]),
    ...(isFlapping ? ['flapping'] : [])
  ]
  return [state, ...more].join(', ')
}

function listedRules(rules: readonly AlertRuleState[], nowMs: number): string {
  return table(
    ['name', 'severity', 'tells when', 'for', 'firing', 'fired', 'acted on', 'last', 'id'],
    rules.map((rule) => [
      ...[rule.enabled ? rule.name : `${rule.name} (off)`, rule.severity, ALERT_WATCHES[rule.watch].label],
      ...[rule.forSeconds === 0 ? null : formatDuration(rule.forSeconds), rule.firing, rule.fired, rule.actedOn],
      ...[rule.lastFiredAtMs === null ? null : `${formatAge(nowMs - rule.lastFiredAtMs)} ago`, rule.id]
    ]),
    'No alert rules. Create them in the app, or with a fleet file: scrapdeck apply FILE'
  )
}

const READ_MAX = 500
const REOPEN_AFTER_MS = 1_000
const REOPENS_MAX = 120
const REMEMBERED_MAX = 5_000

/** Prints firing alerts and each later change. Prints missed changes after reconnecting. Ends when interrupted. */
async function followAlerts(session: Session, filter: { ruleId: AlertRuleId | undefined }): Promise<void> {
  const { client, terminal } = session
  const printed = new Map<AlertId, Alert['state']>()
  let isFirst = true
  const printNews = async () => {
    const { alerts } = await client.alerts.list({ ...filter, limit: READ_MAX })
    const news = alerts.filter(({ id, state }) => printed.get(id) !== state)
    // Alerts that ended earlier are history, which --all lists.
    const shown = isFirst ? news.filter(({ state }) => state === 'firing') : news
    for (const alert of shown.toSorted((one, other) => momentOf(one) - momentOf(other))) tellAlert(session, alert)
    for (const { id, state } of news) printed.set(id, state)
    for (const id of [...printed.keys()].slice(0, Math.max(0, printed.size - REMEMBERED_MAX))) printed.delete(id)
    isFirst = false
  }
  let cursor: string | undefined
  for (let reopened = 0; ; reopened += 1) {
    try {
      const batches = await client.events.subscribe({ after: cursor }, { signal: terminal.interrupted })
      await printNews()
      for await (const { cursor: next, reset, changes } of batches) {
        reopened = 0
        cursor = next
        if (reset || changes.some(({ kind }) => kind === 'alerts')) await printNews()
      }
    } catch (error) {
      if (terminal.interrupted.aborted) throw new CommandEnd(EXIT_CODES.interrupted, '', { cause: error })
      const isBroken =
        error instanceof TypeError || (error instanceof CommandEnd && error.exitCode === EXIT_CODES.unreachable)
      if (!isBroken || isFirst || reopened >= REOPENS_MAX) throw error
    }
    if (reopened >= REOPENS_MAX)
      throw new CommandEnd(EXIT_CODES.unreachable, 'The connection to the engine kept dropping.')
    await terminal.sleep(REOPEN_AFTER_MS)
  }
}

const momentOf = ({ state, firedAtMs, resolvedAtMs, sinceMs }: Alert): number =>
  (state === 'resolved' ? resolvedAtMs : firedAtMs) ?? sinceMs

/** `2026-11-28 10:49:00  critical  firing    north is down` */
function tellAlert({ terminal, flags }: Session, alert: Alert): void {
  if (flags.json === true) return void terminal.out(`${safeJson(alert)}\n`)
  const [severity, state] = [alert.severity.padEnd(8), alert.state.padEnd(8)]
  printLine(terminal, `${localTime(momentOf(alert))}  ${severity}  ${state}  ${alert.text.replaceAll(/\s+/g, ' ')}`)
}

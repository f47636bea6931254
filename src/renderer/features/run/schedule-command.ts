import type { RunInput, ScheduleSettings } from '../../../shared/contract/index.ts'
import { maskSecrets } from '../../../shared/secret-values.ts'
import { texts } from '../../../shared/texts/ui/run.ts'

interface Door {
  address: string
  username: string
}

/**
 * The run as a command for scripts and crontabs: calls to Scrapyd's schedule.json, one per spider, or one call to our
 * own API if schedule.json cannot express the whole run. curl prompts for the password, to keep it out of the shell's
 * history.
 */
export function runCommand(run: RunInput, door: Door): { command: string; isSchedule: boolean } {
  const shown = maskSecrets(run, 'SECRET')
  return beyondSchedule(run).length === 0
    ? { command: run.spiders.map((spider) => scheduleCommand(spider, shown, door)).join('\n\n'), isSchedule: true }
    : { command: postCommand('/api/v1/jobs', shown, door), isSchedule: false }
}

/** The parts of a run for which schedule.json has no parameter, in words. */
export function beyondSchedule(run: RunInput): string[] {
  return [
    ...(run.nodeId || run.tags?.length ? [texts.partPlacement] : []),
    ...(run.limits ? [texts.partLimits] : []),
    ...(run.secretNames?.length ? [texts.partSecretValues] : []),
    ...(run.retry !== undefined ? [texts.partRetries] : []),
    ...(run.notBeforeMs != null ? [texts.partStartTime] : []),
    ...(run.expiresAtMs != null ? [texts.partExpiryTime] : []),
    ...(run.noOverlap !== undefined ? [texts.partOverlap] : []),
    ...(run.after?.length ? [texts.partDependencies] : []),
    ...(run.dedupe ? [texts.partIdempotencyKey] : []),
    ...(Object.keys(run.env ?? {}).length > 0 ? [texts.partEnvironmentVariables] : []),
    ...(run.withoutDefaults?.length ? [texts.partLeftOutDefaults] : [])
  ]
}

export function cronCommand({ name, zone, rules, jobs }: ScheduleSettings, door: Door): string {
  const shown = jobs.map((job) => said(maskSecrets(job, 'SECRET')))
  return postCommand('/api/v1/schedules', { name, zone, rules, jobs: shown }, door)
}

/** Omits empty parts, because they mean the same as absent ones. */
const said = (body: object) => Object.fromEntries(Object.entries(body).filter(([, value]) => !isNothing(value)))

function postCommand(path: string, body: object, door: Door): string {
  const json = JSON.stringify(said(body), null, 2)
  return curl(
    path,
    [
      ['--header', 'content-type: application/json'],
      ['--data-raw', json]
    ],
    door
  )
}

function isNothing(value: unknown): boolean {
  if (value === null || value === undefined || value === 0) return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

function scheduleCommand(spider: string, run: RunInput, door: Door): string {
  const fields = [
    ['project', run.project],
    ['spider', spider],
    ...(run.version ? [['_version', run.version]] : []),
    ...(run.priority ? [['priority', String(run.priority)]] : []),
    ...Object.entries(run.settings ?? {}).map((pair) => ['setting', pair.join('=')]),
    ...Object.entries(run.args ?? {})
  ]
  const data = fields.map((pair) => ['--data-urlencode', pair.join('=')])
  return curl('/schedule.json', data, door)
}

function curl(path: string, options: readonly string[][], { address, username }: Door): string {
  const start = ['curl', '--user', username, `${address.replace(/\/$/, '')}${path}`]
  const lines = [start, ...options].map((words) => words.map(quoteForShell).join(' '))
  return lines.join(' \\\n  ')
}

/** Quotes text for POSIX shells, unless it contains no special characters. */
function quoteForShell(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

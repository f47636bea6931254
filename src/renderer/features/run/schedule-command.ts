import type { RunInput, ScheduleSettings } from '../../../shared/contract/index.ts'

interface Door {
  address: string
  username: string
}

/**
 * The same run for scripts and crontabs: as calls of Scrapyd's schedule.json, one for each spider, or, where that cannot say all of
 * it, as one call of our own API. curl asks for the password, so that it does not stand in a shell's history.
 */
export function runCommand(run: RunInput, door: Door): { command: string; isSchedule: boolean } {
  return beyondSchedule(run).length === 0
    ? { command: scheduleCommand(run, door), isSchedule: true }
    : { command: restCommand(run, door), isSchedule: false }
}

/** What schedule.json has no parameter for, in words. */
export function beyondSchedule(run: RunInput): string[] {
  return [
    ...(run.nodeId || run.tags?.length ? ['placement'] : []),
    ...(run.limits ? ['limits'] : []),
    ...(run.secretNames?.length ? ['secret values'] : []),
    ...(run.retry !== undefined ? ['retries'] : []),
    ...(run.notBeforeMs != null ? ['a start time'] : []),
    ...(run.expiresAtMs != null ? ['an expiry time'] : []),
    ...(run.noOverlap !== undefined ? ['overlap'] : []),
    ...(run.after?.length ? ['dependencies'] : []),
    ...(run.dedupe ? ['an idempotency key'] : [])
  ]
}

export function scheduleCommand(run: RunInput, door: Door): string {
  return run.spiders.map((spider) => commandFor(spider, run, door)).join('\n\n')
}

function restCommand(run: RunInput, door: Door): string {
  return postCommand('/api/v1/jobs', withHidden(run), door)
}

/** A schedule instead of a run. */
export function cronCommand({ name, zone, rules, jobs }: ScheduleSettings, door: Door): string {
  return postCommand('/api/v1/schedules', { name, zone, rules, jobs: jobs.map((job) => said(withHidden(job))) }, door)
}

/** A secret would stand on the screen, in the clipboard and in a shell's history. */
function withHidden<Asked extends Pick<RunInput, 'settings' | 'args' | 'secretNames'>>(asked: Asked): Asked {
  const hidden = (values: Record<string, string> = {}) =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, asked.secretNames?.includes(name) ? 'SECRET' : value])
    )
  return { ...asked, settings: hidden(asked.settings), args: hidden(asked.args) }
}

/** Only what was asked for: what is empty is the same as absent. */
const said = (body: object) => Object.fromEntries(Object.entries(body).filter(([, value]) => !isNothing(value)))

function postCommand(path: string, body: object, { address, username }: Door): string {
  return [
    `curl --user ${quoteForShell(username)} ${quoteForShell(`${address.replace(/\/$/, '')}${path}`)}`,
    `  --header 'content-type: application/json'`,
    `  --data-raw ${quoteForShell(JSON.stringify(said(body), null, 2))}`
  ].join(' \\\n')
}

function isNothing(value: unknown): boolean {
  if (value === null || value === undefined || value === 0) return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

function commandFor(spider: string, run: RunInput, { address, username }: Door): string {
  const fields: Array<[string, string]> = [
    ['project', run.project],
    ['spider', spider]
  ]
  if (run.version) fields.push(['_version', run.version])
  if (run.priority) fields.push(['priority', String(run.priority)])
  // A secret would stand on the screen, in the clipboard and in a shell's history.
  const shown = ([name, value]: [string, string]) => (run.secretNames?.includes(name) ? 'SECRET' : value)
  for (const pair of Object.entries(run.settings ?? {})) fields.push(['setting', `${pair[0]}=${shown(pair)}`])
  for (const pair of Object.entries(run.args ?? {})) fields.push([pair[0], shown(pair)])
  const lines = fields.map(([name, value]) => `  --data-urlencode ${quoteForShell(`${name}=${value}`)}`)
  return [
    `curl --user ${quoteForShell(username)} ${quoteForShell(`${address.replace(/\/$/, '')}/schedule.json`)}`,
    ...lines
  ].join(' \\\n')
}

/** For POSIX shells: bare when nothing in it means anything to them. */
function quoteForShell(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

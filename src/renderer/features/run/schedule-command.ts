import type { RunInput } from '../../../shared/contract/index.ts'

/**
 * The same run as calls of Scrapyd's schedule.json, one for each spider. Placement has no parameter there: it is for
 * the caller to say so. curl asks for the password, so that it does not stand in a shell's history.
 */
export function scheduleCommand(run: RunInput, door: { address: string; username: string }): string {
  return run.spiders.map((spider) => commandFor(spider, run, door)).join('\n\n')
}

function commandFor(
  spider: string,
  run: RunInput,
  { address, username }: { address: string; username: string }
): string {
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

import { InvalidArgumentError } from 'commander'
import { RECORD_LEVELS, type RecordLevel } from '../../shared/log-record.ts'
import type { FleetLogSearchProgress } from '../../shared/contract/index.ts'
import { wholeNumber } from '../client/arguments.ts'
import { CommandEnd, EXIT_CODES } from '../client/exit-codes.ts'
import type { ClientCommands, Session } from '../client/session.ts'
import { safeJson, withoutSteering } from '../client/terminal.ts'
import { since } from '../client/times.ts'

interface SearchFlags {
  regex?: boolean
  case?: boolean
  project?: string
  spider?: string
  level?: RecordLevel
  since?: (nowMs: number) => number
  limit?: number
}

export function addSearchCommand({ add }: ClientCommands): void {
  add('search <text>', 'Search the logs of all jobs: live runs first, then ended runs, newest first.', (command) =>
    command
      .option('--regex', 'treat the text as a JavaScript regular expression')
      .option('--case', 'match case')
      .option('--project <name>', 'only logs of this project; * matches any text')
      .option('--spider <name>', 'only logs of this spider; * matches any text')
      .option('--level <level>', 'only records of this level and above', levelOf)
      .option('--since <time>', 'only records since then: 2h, 7d or a time', since)
      .option('--limit <number>', 'maximum number of lines (default 1000)', wholeNumber)
  )(async (session, [text = ''], options: SearchFlags) => {
    const last = await search(session, text, options)
    if (last !== null && last.stoppedBy !== 'end' && session.flags.json !== true)
      session.terminal.error(`The search ended early (limit: ${last.stoppedBy}). Older logs were not searched.\n`)
  })
}

async function search(
  { client, terminal, flags }: Session,
  text: string,
  { regex = false, case: matchesCase = false, level, since: sinceOf, limit, project, spider }: SearchFlags
): Promise<FleetLogSearchProgress | null> {
  let last: FleetLogSearchProgress | null = null
  try {
    const sinceMs = sinceOf?.(terminal.nowMs())
    const query = { text, isRegex: regex, matchesCase, project, spider, minLevel: level, sinceMs, mostHits: limit }
    const messages = await client.logs.searchAll(query, { signal: terminal.interrupted })
    for await (const message of messages) {
      last = message
      if (flags.json === true) terminal.out(`${safeJson(message)}\n`)
      else
        for (const { jobId, project: of, spider: by, line, text: found } of message.hits)
          terminal.out(`${withoutSteering(`${jobId} ${of}/${by}:${line}: ${found}`)}\n`)
    }
  } catch (error) {
    if (terminal.interrupted.aborted) throw new CommandEnd(EXIT_CODES.interrupted, '', { cause: error })
    throw error
  }
  return last
}

function levelOf(text: string): RecordLevel {
  const level = RECORD_LEVELS.find((one) => one === text.toUpperCase())
  if (level === undefined) throw new InvalidArgumentError(`Write one of ${RECORD_LEVELS.join(', ')}.`)
  return level
}

import type {
  JobId,
  AttemptNumber,
  ExportProgress,
  ItemsFormat,
  FleetLogSearchProgress,
  ErrorState,
  ProjectName
} from '../../shared/contract/index.ts'
import { isScrapdeckError, ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/cli.ts'
import { wholeNumber } from '../client/arguments.ts'
import { toCommandError } from '../client/connect.ts'
import { CommandEnd, EXIT_CODES } from '../client/exit-codes.ts'
import { safeJson, withoutControls, withoutSteering } from '../client/terminal.ts'
import type { ClientCommands, Session } from '../client/session.ts'
import { withJobs, requireProject } from '../client/find.ts'
import { whyOf } from '../client/why.ts'
import { closeSync, openSync, writeSync } from 'node:fs'
import { resolve } from 'node:path'
import { Option, InvalidArgumentError } from 'commander'
import { localTime, table } from '../client/output.ts'
import { RECORD_LEVELS, type RecordLevel } from '../../shared/log-record.ts'
import { since } from '../client/times.ts'

interface ItemsFlags {
  format: ItemsFormat
  output?: string
  attempt?: number
}

const FORMATS = ['jsonl', 'json', 'csv', 'parquet']

export function addItemsCommand({ add, terminal }: ClientCommands): void {
  add('items <id>', 'Print the items that a job has scraped, or write them to a file.', (command) =>
    command
      .addOption(new Option('--format <format>', 'output format').choices(FORMATS).default('jsonl'))
      .option('-o, --output <file>', 'write the items to this file')
      .option('--attempt <number>', 'the items of this attempt (default: the newest)', wholeNumber)
  )(async ({ client, print }, [id = ''], { format, output, attempt }: ItemsFlags) => {
    if (format === 'parquet' && output === undefined)
      throw new CommandEnd(EXIT_CODES.usage, 'Parquet is not text: name a file with --output.')
    await withJobs(client, [id], async ([jobId]) => {
      // The API validates the number.
      const wanted = { jobId: jobId!, attemptNumber: attempt as AttemptNumber | undefined, format }
      const file = await writtenFile(await client.items.export(wanted, { signal: terminal.interrupted }))
      if (output === undefined) {
        const decoder = new TextDecoder()
        const shown = (text: string) => (terminal.isTerminal ? withoutControls(text) : text)
        for await (const piece of piecesOf(client, file.id))
          terminal.out(shown(decoder.decode(piece, { stream: true })))
        return
      }
      const target = openSync(resolve(terminal.directory, output), 'w')
      try {
        for await (const piece of piecesOf(client, file.id))
          for (let at = 0; at < piece.length; ) at += writeSync(target, piece, at)
      } finally {
        closeSync(target)
      }
      print({ file: output, items: file.items }, () => '')
    })
  })
}

async function writtenFile(progress: AsyncIterable<ExportProgress>): Promise<NonNullable<ExportProgress['file']>> {
  for await (const { file } of progress) if (file !== null) return file
  throw new CommandEnd(EXIT_CODES.failed, 'The export ended without a file. Run the command again.')
}

async function* piecesOf(client: Session['client'], id: string): AsyncGenerator<Buffer> {
  for (let offset: number | null = 0; offset !== null; ) {
    const piece: { base64: string; nextOffset: number | null } = await client.items.readExport({ id, offset })
    yield Buffer.from(piece.base64, 'base64')
    offset = piece.nextOffset
  }
}

const READ_BYTES = 1_048_576
const MOST_TAIL_BYTES = 4_194_304
const REOPEN_AFTER_MS = 1_000
const MOST_REOPENS = 120

interface LogFlags {
  follow?: boolean
  attempt?: number
  lines?: number
}

export function addLogsCommand({ add }: ClientCommands): void {
  add('logs <id>', 'Print the log of a job; -f follows it until the job ends.', (command) =>
    command
      .option('-f, --follow', 'follow the log as it grows')
      .option('-n, --lines <number>', 'number of last lines to print (default: all; with -f: 10)', wholeNumber)
      .option('--attempt <number>', 'the log of this attempt (default: the newest)', wholeNumber)
  )(async (session, [id = ''], options: LogFlags) => {
    await withJobs(session.client, [id], async ([jobId]) => {
      if (!options.follow) return printLog(session, jobId!, options)
      await tellQueued(session, jobId!)
      await followLog(session, jobId!, { lines: 10, ...options })
    })
  })
}

async function tellQueued({ client, terminal, flags }: Session, id: JobId): Promise<void> {
  const progress = await client.jobs.status({ id })
  if (progress.state !== 'queued' || flags.json === true) return
  const why = `${id} is queued: ${whyOf(progress, terminal.nowMs())}. Its log starts when the job runs.`
  terminal.error(withoutControls(`${why}\n`))
}

async function printLog(session: Session, jobId: JobId, flags: LogFlags): Promise<void> {
  try {
    await printLogThatIs(session, jobId, flags)
  } catch (error) {
    const ours = toCommandError(error)
    if (!isScrapdeckError(ours, 'LOG_NOT_FOUND')) throw error
    const progress = await session.client.jobs.status({ id: jobId })
    if (progress.state !== 'queued') throw error
    const why = whyOf(progress, session.terminal.nowMs())
    throw new ScrapdeckError('LOG_NOT_FOUND', sentence('cli.log_of_queued_job', { error: ours.message, why }), {
      cause: error
    })
  }
}

async function printLogThatIs(session: Session, jobId: JobId, { attempt, lines }: LogFlags): Promise<void> {
  const of = { jobId, attemptNumber: attempt }
  const write = writerOf(session)
  if (lines !== undefined) {
    const piece = await session.client.logs.read({ ...of, offset: -MOST_TAIL_BYTES, limitBytes: MOST_TAIL_BYTES })
    write(lastLines(piece.text, lines), piece.offset)
    return
  }
  for (let offset = 0; ; ) {
    const piece = await session.client.logs.read({ ...of, offset, limitBytes: READ_BYTES })
    write(piece.text, piece.offset)
    if (piece.nextOffset <= offset || piece.nextOffset >= piece.sizeBytes) return
    offset = piece.nextOffset
  }
}

/** Prints the log until the run ends. Resumes at the same position after a dropped connection. */
export async function followLog(session: Session, jobId: JobId, { attempt, lines }: LogFlags): Promise<void> {
  const { client, terminal } = session
  const of = { jobId, attemptNumber: attempt }
  const write = writerOf(session)
  let offset: number | undefined
  let wasThere = false
  for (let reopened = 0; ; reopened += 1) {
    try {
      const from = offset === undefined ? { tailBytes: lines === undefined ? MOST_TAIL_BYTES : 262_144 } : { offset }
      const pieces = await client.logs.tail({ ...of, ...from }, { signal: terminal.interrupted })
      wasThere = true
      for await (const piece of pieces) {
        write(offset === undefined && lines !== undefined ? lastLines(piece.text, lines) : piece.text, piece.offset)
        offset = piece.nextOffset
        reopened = 0
        if (piece.complete) return
      }
      // The stream ended cleanly before the log was complete, so the server is stopping.
      if (reopened >= MOST_REOPENS)
        throw new CommandEnd(EXIT_CODES.unreachable, 'The connection to the log kept dropping.')
    } catch (error) {
      if (terminal.interrupted.aborted) throw new CommandEnd(EXIT_CODES.interrupted, '', { cause: error })
      const isBroken =
        error instanceof TypeError || (error instanceof CommandEnd && error.exitCode === EXIT_CODES.unreachable)
      if (!isBroken || !wasThere || reopened >= MOST_REOPENS) throw error
    }
    await terminal.sleep(REOPEN_AFTER_MS)
  }
}

function writerOf({ terminal, flags }: Session): (text: string, offset: number) => void {
  if (flags.json) return (text, offset) => text !== '' && terminal.out(`${safeJson({ offset, text })}\n`)
  return (text) => terminal.out(terminal.isTerminal ? withoutSteering(text) : text)
}

function lastLines(text: string, count: number): string {
  const lines = text.split('\n')
  const end = lines.at(-1) === '' ? lines.length - 1 : lines.length
  return `${lines.slice(Math.max(0, end - count), end).join('\n')}${end < lines.length && end > 0 && count > 0 ? '\n' : ''}`
}

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

interface ListFlags {
  state: string
  project?: ProjectName
  spider?: string
  newIn?: string
  text?: string
  limit: number
}

export function addErrorsCommand({ add }: ClientCommands): void {
  add('errors', 'List the errors that spiders logged, grouped, most recently seen first.', (command) =>
    command
      .option('--state <state>', 'open, resolved, ignored or all', 'open')
      .option('--project <name>', 'only errors of this project')
      .option('--spider <name>', 'only errors that this spider logged')
      .option('--new-in <version>', 'only errors that this version logged first')
      .option('--text <words>', 'only errors whose title or location contains this')
      .option('--limit <number>', 'maximum number of errors', wholeNumber, 50)
  )(async ({ client, print }, _words, { state, newIn, project, spider, text, limit }: ListFlags) => {
    const wanted = state === 'all' ? {} : { state: state as ErrorState }
    const answer = await client.errors.list({ project, spider, text, limit, ...wanted, firstVersion: newIn })
    if (answer.groups.length === 0) await requireProject(client, project)
    print(answer, ({ groups }) =>
      table(
        ['id', 'state', 'count', 'jobs', 'project', 'spiders', 'new in', 'last seen', 'error', 'location'],
        groups.map((one) => [
          String(one.id),
          one.reopenedAtMs === null ? one.state : 'reopened',
          String(one.count),
          String(one.jobCount),
          one.project,
          one.spiders.join(', ') + (one.spiderCount > one.spiders.length ? ', …' : ''),
          one.firstVersion,
          localTime(one.lastSeenMs),
          one.title,
          one.culprit
        ]),
        'No errors.'
      )
    )
  })
}

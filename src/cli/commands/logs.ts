import type { JobId } from '../../shared/contract/index.ts'
import { isScrapdeckError, ScrapdeckError } from '../../shared/errors.ts'
import { wholeNumber } from '../client/arguments.ts'
import { toCommandError } from '../client/connect.ts'
import { CommandEnd, EXIT_CODES } from '../client/exit-codes.ts'
import { safeJson, withoutControls, withoutSteering } from '../client/terminal.ts'
import type { ClientCommands, Session } from '../client/session.ts'
import { withJobs } from '../client/find.ts'
import { whyOf } from '../client/why.ts'

const READ_BYTES = 1_048_576
const MOST_TAIL_BYTES = 4_194_304
const REOPEN_AFTER_MS = 1_000
/** Consecutive attempts without receiving any log. */
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

/** Why there is no log yet. */
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
    throw new ScrapdeckError('LOG_NOT_FOUND', `${ours.message}: it is queued (${why})`, { cause: error })
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

/** Prints until the run has ended. Resumes at the same position after a dropped connection or an engine restart. */
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
      // The stream ended cleanly before the log was complete: the server is stopping.
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

/** Text for people; with --json, one object per chunk. */
function writerOf({ terminal, flags }: Session): (text: string, offset: number) => void {
  if (flags.json) return (text, offset) => text !== '' && terminal.out(`${safeJson({ offset, text })}\n`)
  return (text) => terminal.out(terminal.isTerminal ? withoutSteering(text) : text)
}

function lastLines(text: string, count: number): string {
  const lines = text.split('\n')
  const end = lines.at(-1) === '' ? lines.length - 1 : lines.length
  return `${lines.slice(Math.max(0, end - count), end).join('\n')}${end < lines.length && end > 0 && count > 0 ? '\n' : ''}`
}

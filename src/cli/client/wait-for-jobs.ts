import type { JobProgress } from '../../shared/contract/index.ts'
import { formatAge, formatWait } from '../../shared/time.ts'
import { CommandEnd, EXIT_CODES } from './exit-codes.ts'
import { plural, printLine } from './output.ts'
import type { Session } from './session.ts'
import { safeJson, withoutControls } from './terminal.ts'
import { whyOf } from './why.ts'

const WAIT_MS = 1_000
const MOST_MISSED = 120
/** The interval for printing an unchanged reason again, so that a captured log shows that the command still waits. */
const REPEAT_MS = 60_000

/**
 * Waits until all jobs have ended, and prints each job when it ends. Meanwhile, prints on standard error why jobs wait.
 * Ends with badOutcome unless all jobs succeeded, or with timedOut.
 */
export async function waitForJobs(
  session: Session,
  ids: string[],
  timeoutMs = Number.POSITIVE_INFINITY
): Promise<void> {
  const { terminal, flags } = session
  const open = new Map(ids.map((id) => [id, new Reasons(id, session)]))
  const beganAtMs = terminal.nowMs()
  let areGood = true
  while (open.size > 0) {
    for (const [id, reasons] of open) {
      const progress = await readProgress(session, id)
      reasons.tell(progress)
      if (progress.state !== 'ended') continue
      open.delete(id)
      areGood &&= progress.outcome === 'succeeded'
      if (flags.json === true) terminal.out(`${safeJson(progress)}\n`)
      else printLine(terminal, `${id}  ${progress.outcome}${inBrackets(progress)}`)
    }
    if (open.size === 0) break
    if (terminal.nowMs() - beganAtMs >= timeoutMs) {
      throw new CommandEnd(
        EXIT_CODES.timedOut,
        `After ${formatWait(timeoutMs)}, ${plural(open.size, 'job')} had not ended: ${[...open.keys()].join(', ')}. The jobs continue; "scrapdeck cancel" ends them.`
      )
    }
    await terminal.sleep(WAIT_MS)
  }
  if (!areGood) throw new CommandEnd(EXIT_CODES.badOutcome)
}

function inBrackets({ reason, killingLine }: JobProgress): string {
  const words = [reason, killingLine].filter((text) => text)
  return words.length === 0 ? '' : ` (${words.join(': ')})`
}

/** How long a newly queued job can lack a reason for waiting. */
const SETTLED_AFTER_MS = 2_000

function ageOf({ status, queuedAtMs, startedAtMs }: JobProgress, nowMs: number): string {
  if (status === 'starting') return ` (queued ${formatAge(nowMs - queuedAtMs)} ago)`
  return ` for ${formatAge(nowMs - (startedAtMs ?? queuedAtMs))}`
}

/**
 * Tries again while the engine is unreachable, because the engine may be restarting. Its jobs continue in the meantime.
 */
async function readProgress({ client, terminal }: Session, id: string): Promise<JobProgress> {
  for (let missed = 0; ; missed += 1) {
    try {
      return await client.jobs.status({ id })
    } catch (error) {
      const isAway = error instanceof CommandEnd && error.exitCode === EXIT_CODES.unreachable
      if (!isAway || terminal.interrupted.aborted || missed >= MOST_MISSED) throw error
      await terminal.sleep(WAIT_MS)
    }
  }
}

class Reasons {
  readonly id: string
  readonly session: Session
  private said = ''
  private saidAtMs = 0

  constructor(id: string, session: Session) {
    this.id = id
    this.session = session
  }

  /** Prints why the job waits if the reason has changed or has not been printed for REPEAT_MS. */
  tell(progress: JobProgress): void {
    const { terminal, flags } = this.session
    if (flags.json === true || progress.state === 'ended') return
    const nowMs = terminal.nowMs()
    const isNew = progress.state === 'queued' && progress.waiting === null
    if (isNew && nowMs - progress.queuedAtMs < SETTLED_AFTER_MS) return
    // Omits the remaining time, which changes with every poll.
    const said = JSON.stringify([
      progress.status,
      progress.waiting?.text,
      progress.unknownSinceMs,
      progress.cancelAskedAtMs
    ])
    if (said === this.said && nowMs - this.saidAtMs < REPEAT_MS) return
    const why = whyOf(progress, nowMs)
    const age = ageOf(progress, nowMs)
    terminal.error(withoutControls(`${this.id}  ${progress.status}${age}${why === null ? '' : `: ${why}`}\n`))
    this.said = said
    this.saidAtMs = nowMs
  }
}

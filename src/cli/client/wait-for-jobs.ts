import { CommandEnd, EXIT_CODES } from './exit-codes.ts'
import { printLine } from './output.ts'
import type { Session } from './session.ts'
import { safeJson } from './terminal.ts'

/** Waits until the jobs have ended and prints each. Ends with badOutcome unless all succeeded. */
export async function waitForJobs({ client, terminal, flags }: Session, ids: string[]): Promise<void> {
  const open = new Set(ids)
  let areGood = true
  let missed = 0
  while (open.size > 0) {
    for (const id of open) {
      const progress = await client.jobs.status({ id }).catch((error: unknown) => {
        // The engine may be restarting; its jobs continue without it.
        const isAway = error instanceof CommandEnd && error.exitCode === EXIT_CODES.unreachable
        if (!isAway || terminal.interrupted.aborted || missed >= MOST_MISSED) throw error
        missed += 1
        return null
      })
      if (progress === null) break
      missed = 0
      if (progress.state !== 'ended') continue
      open.delete(id)
      areGood &&= progress.outcome === 'succeeded'
      if (flags.json === true) terminal.out(`${safeJson(progress)}\n`)
      else printLine(terminal, `${id}  ${progress.outcome}${progress.reason === null ? '' : ` (${progress.reason})`}`)
    }
    if (open.size > 0) await terminal.sleep(WAIT_MS)
  }
  if (!areGood) throw new CommandEnd(EXIT_CODES.badOutcome)
}

const WAIT_MS = 1_000
/** Consecutive polls without a response. */
const MOST_MISSED = 120

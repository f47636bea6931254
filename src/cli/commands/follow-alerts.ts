import type { Alert, AlertId, AlertRuleId } from '../../shared/contract/index.ts'
import { CommandEnd, EXIT_CODES } from '../client/exit-codes.ts'
import { localTime, printLine } from '../client/output.ts'
import type { Session } from '../client/session.ts'
import { safeJson } from '../client/terminal.ts'

const READ_MAX = 500
const REOPEN_AFTER_MS = 1_000
/** In a row, without anything received. */
const REOPENS_MAX = 120
/** Those that ended are forgotten, oldest first. */
const REMEMBERED_MAX = 5_000

/**
 * Prints what fires, then each alert as it fires and ends, as the change feed says that there are news. What happened
 * while the engine was away is printed when it is back. Ends only when interrupted.
 */
export async function followAlerts(session: Session, filter: { ruleId: AlertRuleId | undefined }): Promise<void> {
  const { client, terminal } = session
  const printed = new Map<AlertId, Alert['state']>()
  let isFirst = true
  const printNews = async () => {
    const { alerts } = await client.alerts.list({ ...filter, limit: READ_MAX })
    const news = alerts.filter(({ id, state }) => printed.get(id) !== state)
    // What ended before is history; it is listed with --all.
    const told = isFirst ? news.filter(({ state }) => state === 'firing') : news
    for (const alert of told.toSorted((one, other) => momentOf(one) - momentOf(other))) tellAlert(session, alert)
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

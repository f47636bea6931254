import { needsSomebody } from '../shared/alert-watches.ts'
import type { AlertNotice, Change, Contract, Figures } from '../shared/contract/index.ts'
import type { ContractRouterClient } from '@orpc/contract'
import { type Clock, sleep } from '../engine/runtime/clock.ts'

export interface Shown {
  figures(figures: Figures): void
  /** The number of unacknowledged alerts. `ALERTS_MAX` means at least that many. */
  alerts(count: number): void
  /** Oldest first. Never empty. */
  notices(notices: AlertNotice[]): void
}

export type EngineReads = Pick<ContractRouterClient<Contract>, 'alerts' | 'events' | 'system'>

export const ALERTS_MAX = 100
/** The minimum time between two reads of the state. */
const READ_EVERY_MS = 1_000
const AGAIN_MS = 5_000
/** The maximum number of pages of notices per read. Another engine could claim forever to have more. */
const PAGES_AT_ONCE = 20

/**
 * Calls `shown` with the current state and each change until the signal aborts. Shows each new notice from a desktop
 * channel once, even if the connection breaks. Does not show earlier notices.
 */
export async function followEngine(
  client: EngineReads,
  shown: Shown,
  { clock, signal, onBroken }: { clock: Clock; signal: AbortSignal; onBroken: (error: unknown) => void }
): Promise<void> {
  let after: string | undefined
  let alertsOutdated = Promise.withResolvers<void>()
  while (!signal.aborted) {
    const broken = new AbortController()
    const both = AbortSignal.any([signal, broken.signal])
    try {
      // Subscribe before the first read, so that no change is missed.
      const batches = await client.events.subscribe({}, { signal: both })
      await Promise.all([readFigures(both), readChanges(batches), readAlerts(both)])
    } catch (error) {
      if (!signal.aborted) onBroken(error)
    }
    broken.abort()
    await sleep(clock, AGAIN_MS, signal)
  }

  async function readFigures(until: AbortSignal): Promise<void> {
    shown.figures((await client.system.status(undefined, { signal: until })).figures)
  }

  async function readChanges(batches: AsyncIterable<{ reset: boolean; changes: Change[] }>): Promise<void> {
    for await (const { reset, changes } of batches) {
      for (const change of changes) if (change.kind === 'figures') shown.figures(change.figures)
      if (reset || changes.some(({ kind }) => kind === 'alerts')) alertsOutdated.resolve()
    }
    throw new Error('The engine has ended the connection')
  }

  async function readAlerts(until: AbortSignal): Promise<void> {
    while (!until.aborted) {
      alertsOutdated = Promise.withResolvers()
      const isMore = await readNotices(until)
      const { alerts } = await client.alerts.list({ state: 'firing', limit: ALERTS_MAX }, { signal: until })
      shown.alerts(alerts.filter(needsSomebody).length)
      await sleep(clock, READ_EVERY_MS, until)
      if (!isMore) await Promise.race([alertsOutdated.promise, aborted(until)])
    }
  }

  /**
   * Returns whether there are more notices. A page is empty if it contains nothing that the caller is allowed to see.
   */
  async function readNotices(until: AbortSignal): Promise<boolean> {
    const notices: AlertNotice[] = []
    let isMore = true
    for (let page = 0; isMore && page < PAGES_AT_ONCE; page += 1) {
      const found = await client.alerts.notices({ after }, { signal: until })
      isMore = found.after !== after
      after = found.after
      notices.push(...found.notices)
    }
    if (notices.length > 0) shown.notices(notices)
    return isMore
  }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) =>
    signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true })
  )

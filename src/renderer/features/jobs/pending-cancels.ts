import { create } from 'zustand'

export const GRACE_MS = 5_000

interface PendingCancels {
  /** When the cancel of each of these jobs will be sent, by what names its row. */
  sentAtMs: ReadonlyMap<string, number>
}

/**
 * Cancels of running jobs that can still be undone. A stop signal cannot be taken back, so it is sent only when the
 * grace is over, or at once when this page closes: the engine knows nothing of it before.
 *
 *   asked ──5 s, or the page closes──▶ sent
 *     └──Undo──▶ dropped
 */
export const usePendingCancels = create<PendingCancels>(() => ({ sentAtMs: new Map() }))

const pending = new Map<string, { timer: ReturnType<typeof setTimeout>; send: () => void }>()

/** Calls `send` when the grace is over. A second request for the same job changes nothing. */
export function cancelSoon(id: string, send: () => void): void {
  if (pending.has(id)) return
  pending.set(id, { timer: setTimeout(() => sendNow(id), GRACE_MS), send })
  publish(id, Date.now() + GRACE_MS)
}

/** False: it was already sent. */
export function undoCancel(id: string): boolean {
  return take(id) !== undefined
}

export function sendPendingCancels(): void {
  for (const id of [...pending.keys()]) sendNow(id)
}

window.addEventListener('pagehide', sendPendingCancels)

function sendNow(id: string): void {
  take(id)?.send()
}

function take(id: string) {
  const cancel = pending.get(id)
  if (cancel === undefined) return undefined
  clearTimeout(cancel.timer)
  pending.delete(id)
  publish(id, null)
  return cancel
}

function publish(id: string, atMs: number | null): void {
  usePendingCancels.setState(({ sentAtMs }) => {
    const next = new Map(sentAtMs)
    if (atMs === null) next.delete(id)
    else next.set(id, atMs)
    return { sentAtMs: next }
  })
}

import { Button, Group } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { create } from 'zustand'
import { useNow } from './clock.ts'
import { notifyError, showNotice } from './notify.tsx'
import { texts } from '../../shared/texts/ui/shared.ts'

export const GRACE_MS = 5_000

export interface Grace<Id extends string = string> {
  ids: readonly Id[]
  /** Default: the notice shows the number of jobs. */
  name?: string
  /** The number of jobs cancelled together with these but without a grace period. */
  others?: number
  /** Cancels the jobs that the user did not undo. */
  send: (ids: Id[]) => unknown
  /** Restores the jobs that were cancelled without a grace period. */
  undo?: () => Promise<unknown>
}

interface Pending extends Omit<Grace, 'ids'> {
  notice: string
  ids: ReadonlySet<string>
  atMs: number
}

/**
 * Cancels that can still be undone, from all screens. A stop signal cannot be taken back, so it is sent only when the
 * grace period is over or this page closes. Until then, the engine does not know about it.
 */
export const usePendingCancels = create<{ byId: ReadonlyMap<string, Pending> }>(() => ({ byId: new Map() }))

let nextNumber = 1
const all = new Map<string, Pending>()

/** Calls `send` after the grace period. A second call for the same job changes nothing. */
export function cancelSoon<Id extends string>({ ids, send, ...grace }: Grace<Id>): void {
  const { byId } = usePendingCancels.getState()
  const fresh = new Set(ids.filter((id) => !byId.has(id)))
  if (fresh.size === 0) return
  const notice = `cancel-${nextNumber++}`
  put({ ...grace, send: send as Pending['send'], notice, ids: fresh, atMs: Date.now() + GRACE_MS })
  setTimeout(() => sendNow(notice), GRACE_MS)
  showNotice({ id: notice, autoClose: false, withCloseButton: false, message: <GraceNotice notice={notice} /> })
}

/** Undoes one cancel. Returns false if it was already sent. */
export function undoCancel(id: string): boolean {
  const one = usePendingCancels.getState().byId.get(id)
  if (one === undefined) return false
  const ids = new Set([...one.ids].filter((each) => each !== id))
  if (ids.size > 0) put({ ...one, ids })
  else if (one.others === undefined || one.others === 0) undoAll(one)
  else {
    // The other jobs stay cancelled and have their own Undo.
    drop(one.notice)
    void one.send([])
  }
  return true
}

export function sendPendingCancels(): void {
  for (const notice of [...all.keys()]) sendNow(notice)
}

window.addEventListener('pagehide', sendPendingCancels)

function undoAll({ notice, undo }: Pending): void {
  drop(notice)
  undo?.().catch((error: unknown) => notifyError(texts.couldNotUndo, error))
}

function sendNow(notice: string): void {
  const one = all.get(notice)
  drop(notice)
  if (one !== undefined) void one.send([...one.ids])
}

function put(one: Pending): void {
  all.set(one.notice, one)
  publish()
}

function drop(notice: string): void {
  notifications.hide(notice)
  if (all.delete(notice)) publish()
}

const publish = () =>
  usePendingCancels.setState({
    byId: new Map([...all.values()].flatMap((one) => [...one.ids].map((id) => [id, one] as const)))
  })

/** When the cancel request for this row will be sent, in words. null: none is pending. */
export function useCancelCountdown(id: string): string | null {
  const atMs = usePendingCancels(({ byId }) => byId.get(id)?.atMs)
  const nowMs = useNow()
  return atMs === undefined ? null : texts.cancelsIn(secondsLeft(atMs, nowMs))
}

/** Limited to the grace period, because the shared clock can be a second behind. */
const secondsLeft = (atMs: number, nowMs: number) =>
  Math.min(GRACE_MS / 1000, Math.max(0, Math.ceil((atMs - nowMs) / 1000)))

function GraceNotice({ notice }: { notice: string }) {
  const nowMs = useNow()
  usePendingCancels()
  const one = all.get(notice)
  if (one === undefined) return null
  return (
    <Group justify="space-between" wrap="nowrap">
      <span id={notice} role="status">
        {texts.cancellingIn(
          one.name ?? texts.jobCount(one.ids.size + (one.others ?? 0)),
          secondsLeft(one.atMs, nowMs),
          <span className="faint">{texts.cancelOnClose}</span>
        )}
      </span>
      <Button flex="none" aria-describedby={notice} onClick={() => undoAll(one)}>
        {texts.undo}
      </Button>
    </Group>
  )
}

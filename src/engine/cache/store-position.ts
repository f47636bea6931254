import type { ChangeLog } from '../store/store.ts'

/**
 * How far the change log is: an answer that was made at this position, or later, is right. The position is at least as
 * new as everything that was acknowledged to anybody before `current` was called.
 */
export interface StorePosition {
  current(): number | Promise<number>
  stop(): void
}

/** For a store that only this engine writes to: each commit is announced before its writer learns of it. */
export async function followOwnStore(store: ChangeLog): Promise<StorePosition> {
  let position = 0
  const stop = store.onChange((cursor) => {
    position = Math.max(position, cursor)
  })
  position = Math.max(position, await store.changeCursor())
  return { current: () => position, stop }
}

/**
 * For a store that other engines may write to: it is asked each time. Callers that come while a query is under way
 * share the next one, so there are never more than one query at a time, however many requests there are.
 */
export function askSharedStore(store: Pick<ChangeLog, 'changeCursor'>): StorePosition {
  let asking: Promise<number> | null = null
  let next: Promise<number> | null = null
  async function ask(): Promise<number> {
    try {
      return await store.changeCursor()
    } finally {
      asking = null
    }
  }
  return {
    current() {
      if (asking === null) return (asking = ask())
      // What is under way may have been read before the caller's last write.
      const current = asking
      next ??= (async () => {
        await current.catch(() => {})
        next = null
        // Somebody who came in between has already begun one, later than all who wait here.
        return (asking ??= ask())
      })()
      return next
    },
    stop() {}
  }
}

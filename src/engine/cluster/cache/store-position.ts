import type { ChangeLog } from '../../storage/store.ts'

/**
 * The position in the change log. It includes every write that was acknowledged to any client before `current` was
 * called. An answer computed at this position or later is valid.
 */
export interface StorePosition {
  current(): number | Promise<number>
  /** Call this before you compare `current` with the positions of other engines. */
  catchUp(): Promise<void>
}

/** For a store that only this engine writes to. Each commit is announced before its writer learns of it. */
export function followOwnStore(store: ChangeLog): StorePosition {
  let position = 0
  const advance = (cursor: number) => {
    position = Math.max(position, cursor)
  }
  store.onChange(advance)
  return { current: () => position, catchUp: async () => advance(await store.changeCursor()) }
}

/** For a store that other engines can write to. Callers that arrive during a query share the next one. */
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
      // The current query may have read the position before the caller's last write.
      const current = asking
      next ??= (async () => {
        await current.catch(() => {})
        next = null
        // Another caller may have started a query meanwhile. It is recent enough for all callers that wait here.
        return (asking ??= ask())
      })()
      return next
    },
    async catchUp() {}
  }
}

import { implement } from '@orpc/server'
import { type Change, type ChangeBatch, contract } from '../../shared/contract/index.ts'

/** The list of changes. A cursor is a position in it. */
export function createFakeChanges() {
  let firstKept = 0
  const changes: Change[] = []
  const wakers = new Set<(dropped: boolean) => void>()

  return {
    emit: (...added: Change[]) => {
      changes.push(...added)
      for (const wake of [...wakers]) wake(false)
    },
    dropStreams: () => [...wakers].forEach((wake) => wake(true)),
    /** Records a change without sending it to subscribers, and expires all earlier cursors. */
    forget: (change: Change) => {
      firstKept = changes.length + 1
      changes.push(change)
    },
    subscribe: implement(contract).events.subscribe.handler(async function* ({
      input,
      signal
    }): AsyncGenerator<ChangeBatch> {
      let at = input.after === undefined ? changes.length : Number(input.after)
      const reset = at < firstKept
      if (reset) at = changes.length
      yield { cursor: String(at), reset, changes: [] }
      while (!signal?.aborted) {
        if (at >= changes.length) {
          const dropped = await new Promise<boolean>((resolve) => {
            const wake = (value: boolean) => {
              wakers.delete(wake)
              signal?.removeEventListener('abort', abort)
              resolve(value)
            }
            const abort = () => wake(false)
            wakers.add(wake)
            signal?.addEventListener('abort', abort)
          })
          if (dropped) throw new TypeError('network error')
          if (signal?.aborted) return
        }
        const batch = changes.slice(at)
        at = changes.length
        if (batch.length > 0) yield { cursor: String(at), reset: false, changes: batch }
      }
    })
  }
}

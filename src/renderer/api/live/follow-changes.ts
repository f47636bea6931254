/**
 * Keeps the query cache up to date: applies one stream of changes from the engine to all cached results.
 *
 *   connecting ──first batch──▶ live ──stream ends or breaks──▶ reconnecting ──first batch──▶ live
 *
 * After a drop, the stream resumes at the cursor of the last batch. On the first connection, or if the cursor has
 * expired, the whole cache is refetched. Changes that arrive during a fetch are applied again to its result.
 */
import { matchQuery, type Query, type QueryClient } from '@tanstack/react-query'
import type { Change, ChangeBatch } from '../../../shared/contract/index.ts'
import type { Connection } from '../../state/connection.ts'
import type { Api } from '../api.tsx'
import { sleep } from '../sleep.ts'
import { newestOfEach, queryUpdates } from './live-updates.ts'

interface FollowChangesOptions {
  api: Api
  queryClient: QueryClient
  onConnection: (state: Connection['state']) => void
  onNextFrame?: (flush: () => void) => void
  /** Delay between a job's change and the refetch of its details. Further changes do not extend it. */
  refetchAfterMs?: number
  /** First delay before reconnecting. The delay doubles, up to 30 times this value, with jitter. */
  retryAfterMs?: number
}

export function followChanges(options: FollowChangesOptions): { stop(): void } {
  const { api, queryClient, onConnection, onNextFrame = nextFrame, refetchAfterMs = 400, retryAfterMs = 500 } = options
  const abort = new AbortController()
  const cache = queryClient.getQueryCache()
  let pending: Change[] = []
  let resetAsked = false
  let flushPlanned = false
  const refetches = new Map<string, ReturnType<typeof setTimeout>>()

  // Changes that arrived during fetches. `fetchBegan` holds each fetch's start position in this list.
  let sinceFetches: Change[] = []
  const fetchBegan = new Map<string, number>()
  const unsubscribe = cache.subscribe((event) => {
    if (event.type === 'removed') fetchBegan.delete(event.query.queryHash)
    if (event.type !== 'updated') return
    const { query, action } = event
    if (action.type === 'fetch') fetchBegan.set(query.queryHash, sinceFetches.length)
    if (action.type === 'success' && action.manual !== true) {
      const missed = sinceFetches.slice(fetchBegan.get(query.queryHash) ?? sinceFetches.length)
      if (missed.length > 0) applyTo([query], missed)
    }
    if (action.type === 'error' || (action.type === 'success' && action.manual !== true))
      fetchBegan.delete(query.queryHash)
    if (fetchBegan.size === 0) sinceFetches = []
  })

  void connect()
  return {
    stop() {
      abort.abort()
      unsubscribe()
      for (const timer of refetches.values()) clearTimeout(timer)
      refetches.clear()
    }
  }

  async function connect(): Promise<void> {
    let cursor: string | undefined
    let failures = 0
    while (!abort.signal.aborted) {
      try {
        const fresh = cursor === undefined
        const batches = await api.client.events.subscribe({ after: cursor }, { signal: abort.signal })
        let first = true
        for await (const batch of batches) {
          if (abort.signal.aborted) return
          enqueue(batch, batch.reset || (first && fresh))
          first = false
          failures = 0
          cursor = batch.cursor
          onConnection('live')
        }
      } catch (error) {
        if (abort.signal.aborted) return
        console.warn('The stream of changes was interrupted', error)
      }
      if (abort.signal.aborted) return
      onConnection('reconnecting')
      const limitMs = retryAfterMs * Math.min(30, 2 ** failures++)
      await sleep(limitMs * (0.5 + Math.random() / 2), abort.signal)
    }
  }

  function enqueue(batch: ChangeBatch, reset: boolean): void {
    pending.push(...batch.changes)
    resetAsked ||= reset
    if (flushPlanned) return
    flushPlanned = true
    onNextFrame(flush)
  }

  function flush(): void {
    flushPlanned = false
    if (abort.signal.aborted) return
    const changes = newestOfEach(pending)
    pending = []
    if (fetchBegan.size > 0) sinceFetches.push(...changes)
    if (changes.length > 0) applyTo(cache.getAll(), changes)
    if (!resetAsked) return
    resetAsked = false
    void queryClient.invalidateQueries()
  }

  /**
   * Called once per frame with all queries and changes, and after a fetch with the changes that the fetch may have
   * missed.
   */
  function applyTo(queries: readonly Query[], changes: readonly Change[]): void {
    for (const { queryKey, write, isOutdated } of queryUpdates(changes, api.query)) {
      for (const query of queries.filter((each) => matchQuery({ queryKey }, each))) {
        const before = query.state.data
        if (write !== null && before === undefined) continue
        const input = inputOf(query)
        const data = write === null ? before : write(before, input)
        if (data !== before) queryClient.setQueryData(query.queryKey, data)
        if (isOutdated(data, input, before)) refetchSoon(query)
      }
    }
  }

  function refetchSoon(query: Query): void {
    if (refetches.has(query.queryHash)) return
    const timer = setTimeout(() => {
      refetches.delete(query.queryHash)
      // A fetch in flight can return old data, but restarting it on every change would never let it finish.
      if (query.state.fetchStatus === 'fetching') return refetchSoon(query)
      void queryClient.invalidateQueries({ queryKey: query.queryKey, exact: true })
    }, refetchAfterMs)
    refetches.set(query.queryHash, timer)
  }
}

/** The input of a query, from oRPC's key format: [path, { input }]. */
const inputOf = ({ queryKey }: Query) => (queryKey[1] as { input?: object } | undefined)?.input ?? {}

// A hidden window renders no frames, so a timer updates its cache.
function nextFrame(flush: () => void): void {
  if (document.visibilityState === 'visible') requestAnimationFrame(flush)
  else setTimeout(flush, 250)
}

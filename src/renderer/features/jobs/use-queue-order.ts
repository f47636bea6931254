import { useCallback, useEffect, useMemo, useState } from 'react'
import type { Job } from '../../../shared/contract/index.ts'
import { useMay } from '../../api/use-me.ts'
import { showNotice } from '../../ui/notify.tsx'
import type { JobActions } from './use-job-actions.ts'
import { texts } from '../../../shared/texts/ui/jobs.ts'

/** The maximum number of queued jobs to show in queue order. A longer list stays newest first. */
export const ORDERED_MAX = 5_000

interface Place {
  priority: number
  rank: number
}

/**
 * Puts the rows into queue order if the list contains only queued jobs. Loads all pages, up to a limit, to know the
 * order.
 */
export function useQueueOrder({
  isQueue,
  rows,
  hasMore,
  loadMore,
  actions
}: {
  isQueue: boolean
  rows: readonly Job[]
  hasMore: boolean
  loadMore: () => void
  actions: JobActions
}) {
  /** The places of moved jobs until the engine has responded. */
  const [moved, setMoved] = useState<ReadonlyMap<string, Place>>(new Map())
  const { why } = useMay('queue.order', 'everywhere')
  const isReading = isQueue && hasMore && rows.length < ORDERED_MAX
  useEffect(() => {
    if (isReading) loadMore()
  }, [isReading, rows.length, loadMore])

  const isOrdered = isQueue && !hasMore
  const ordered = useMemo(() => {
    if (!isOrdered) return rows
    const placeOf = (job: Job): Place => moved.get(job.id) ?? job
    return [...rows].sort((left, right) => {
      const [a, b] = [placeOf(left), placeOf(right)]
      return b.priority - a.priority || a.rank - b.rank || (left.id < right.id ? -1 : 1)
    })
  }, [isOrdered, rows, moved])

  const reorder = useCallback(
    (ids: readonly string[], before: string | null) => {
      const isMoved = new Set(ids)
      const jobs = ordered.filter(({ id }) => isMoved.has(id))
      const [first] = jobs
      if (first === undefined) return
      const rest = ordered.filter(({ id }) => !isMoved.has(id))
      const index = before === null ? rest.length : rest.findIndex(({ id }) => id === before)
      const target = rest[index] ?? null
      const above = rest[index - 1]
      const highest = target?.priority ?? 0
      if (why !== null && highest > 0 && jobs.some(({ priority }) => priority < highest)) {
        const title = texts.cannotMoveBefore(jobs.length, highest)
        showNotice({ title, message: why, color: 'red', autoClose: false })
        return
      }
      const places = placesBetween(above, target, jobs.length)
      setMoved(new Map(jobs.map(({ id }, place) => [id, places[place] as Place])))
      const follower = followerOf(ordered, isMoved, first)
      const to = target === null ? ('back' as const) : { before: target.id }
      const undoTo = follower === null ? ('back' as const) : { before: follower.id }
      void actions.reorder(jobs, to, undoTo).finally(() => setMoved(new Map()))
    },
    [ordered, actions, why]
  )
  return { ordered, isOrdered, isReading, reorder }
}

/** The job that follows the moved jobs. Undo puts the moved jobs back before it. */
function followerOf(ordered: readonly Job[], isMoved: ReadonlySet<string>, first: Job): Job | null {
  const from = ordered.indexOf(first)
  return ordered.slice(from).find(({ id }) => !isMoved.has(id)) ?? null
}

/**
 * Returns evenly spaced places between two neighbors, with the priority of the one below. The engine assigns the same
 * places.
 */
export function placesBetween(above: Place | undefined, below: Place | null, count: number): Place[] {
  const priority = below?.priority ?? above?.priority ?? 0
  const high = below?.rank ?? (above?.rank ?? 0) + count + 1
  const low = above !== undefined && above.priority === priority ? above.rank : high - count - 1
  return Array.from({ length: count }, (_, index) => ({
    priority,
    rank: low + ((high - low) * (index + 1)) / (count + 1)
  }))
}

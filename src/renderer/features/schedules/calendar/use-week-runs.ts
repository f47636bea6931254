import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import { useApi } from '../../../api/api.tsx'
import { useSchedules, useSchedulesChanged } from '../load/use-schedules.ts'
import { type Day, mergeRuns } from './week.ts'

/** The history is read back to the start of the week, up to this many pages. */
const PAGES_MAX = 10
const PAGE_ROWS = 500
/** A due run gets its row at most this much later, because of jitter. */
const DUE_MS = 86_400_000

/** The runs of a week: past ones from the history, and upcoming ones. */
export function useWeekRuns(days: readonly Day[], nowMs: number) {
  const { query } = useApi()
  const { list, schedules, version } = useSchedules()
  const [startMs, endMs] = [days[0]?.startMs ?? 0, days[6]?.endMs ?? 0]
  const fromMs = Math.max(startMs, Math.floor((nowMs - DUE_MS) / DUE_MS) * DUE_MS)

  const calendar = useQuery(
    query.schedules.calendar.queryOptions({
      input: { fromMs, untilMs: endMs },
      enabled: endMs > fromMs,
      placeholderData: keepPreviousData
    })
  )
  const { refetch } = calendar
  useSchedulesChanged(version, () => void refetch())

  const history = useInfiniteQuery(
    query.schedules.firings.infiniteOptions({
      input: (before: number | undefined) => ({ before, limit: PAGE_ROWS }),
      initialPageParam: undefined,
      getNextPageParam: ({ nextBefore }) => nextBefore ?? undefined,
      enabled: startMs < nowMs
    })
  )
  const { data, hasNextPage, isFetching, fetchNextPage } = history
  const pages = data?.pages ?? []
  const oldestMs = pages.at(-1)?.firings.at(-1)?.atMs ?? Number.POSITIVE_INFINITY
  const needsMore = hasNextPage && oldestMs > startMs
  useEffect(() => {
    if (needsMore && !isFetching && pages.length < PAGES_MAX) void fetchNextPage()
  }, [needsMore, isFetching, pages.length, fetchNextPage])

  const moments = calendar.data?.moments
  const runs = useMemo(
    () =>
      mergeRuns(data?.pages.flatMap(({ firings }) => firings) ?? [], moments ?? [], schedules, nowMs).filter(
        ({ atMs }) => atMs >= startMs && atMs < endMs
      ),
    [data, moments, schedules, nowMs, startMs, endMs]
  )
  const isCut = (needsMore && pages.length >= PAGES_MAX) || calendar.data?.more === true
  // Rows that arrive later would push away what was scrolled into view.
  const isReading = calendar.isLoading || history.isLoading
  return { list, schedules, runs, isCut, isReading }
}

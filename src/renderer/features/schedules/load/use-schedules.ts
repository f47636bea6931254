import { useInfiniteQuery } from '@tanstack/react-query'
import { useEffect, useEffectEvent, useMemo, useRef } from 'react'
import type { Schedule } from '../../../../shared/contract/index.ts'
import { useApi } from '../../../api/api.tsx'

/** The maximum number of pages to load. Schedules beyond them are only counted. */
const PAGES_MAX = 6
const PAGE_ROWS = 500

export function useSchedules() {
  const { query } = useApi()
  const list = useInfiniteQuery(
    query.schedules.list.infiniteOptions({
      input: (after: string | undefined) => ({ after, limit: PAGE_ROWS, recent: 0 }),
      initialPageParam: undefined,
      getNextPageParam: ({ nextAfter }) => nextAfter ?? undefined
    })
  )
  const { data, hasNextPage, isFetching, fetchNextPage } = list
  const pageCount = data?.pages.length ?? 0
  useEffect(() => {
    if (hasNextPage && !isFetching && pageCount < PAGES_MAX) void fetchNextPage()
  }, [hasNextPage, isFetching, pageCount, fetchNextPage])
  const schedules = useMemo(
    () =>
      new Map<string, Schedule>(data?.pages.flatMap((page) => page.schedules.map((each) => [each.id, each] as const))),
    [data]
  )
  // Run times depend only on the settings, so the version changes with the settings, not after every run.
  const version = useMemo(
    () => [...schedules.values()].map(({ id, revision, paused }) => `${id}${revision}${paused}`).join(),
    [schedules]
  )
  return { list, schedules, total: data?.pages[0]?.total ?? 0, version }
}

/** Calls `onChange` when a schedule is added, changed or removed, but not when the list is first loaded. */
export function useSchedulesChanged(version: string, onChange: () => void): void {
  const known = useRef(version)
  const changed = useEffectEvent(onChange)
  useEffect(() => {
    if (known.current !== version && known.current !== '') changed()
    known.current = version
  }, [version])
}

import { ActionIcon, Button, SegmentedControl, Tooltip } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { IconCalendarWeek, IconChevronLeft, IconChevronRight } from '@tabler/icons-react'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import type { CalendarSearch } from '../../../state/search.ts'
import { useKeys } from '../../../state/keys.ts'
import { useNow } from '../../../ui/clock.ts'
import { LinkButton } from '../../../ui/link-button.tsx'
import { plural } from '../../../ui/numbers.ts'
import { ScreenHead } from '../../../ui/panel.tsx'
import { EmptyState, QueryState } from '../../../ui/states.tsx'
import { SchedulesTabs } from '../schedules-tabs.tsx'
import { localZone } from '../../../ui/moment.ts'
import { Agenda } from './agenda.tsx'
import classes from './calendar.module.css'
import { HourPane } from './hour-pane.tsx'
import { daysOfWeek, layOutWeek, weeksOn, type Day, mergeRuns } from './week.ts'
import { WeekGrid } from './week-grid.tsx'
import { optionsOf } from '../../../ui/fields/options.ts'
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import { useApi } from '../../../api/api.tsx'
import { useSchedules, useSchedulesChanged } from '../load/use-schedules.ts'

const MINUTE_MS = 60_000
/** Then there is no choice to offer. */
const IS_UTC_HERE = localZone() === 'UTC'

/** A week of runs: past ones with their outcome, and upcoming ones. */
export function CalendarScreen() {
  const search = getRouteApi('/schedules/calendar').useSearch()
  const navigate = useNavigate({ from: '/schedules/calendar' })
  const isNarrow = useMediaQuery('(max-width: 760px)', window.innerWidth <= 760, { getInitialValueInEffect: false })
  const utc = search.utc === true
  // Minutes are precise enough for the current-time line; every second would lay out the week again.
  const nowMs = Math.floor(useNow() / MINUTE_MS) * MINUTE_MS
  const days = daysOfWeek(search.week, nowMs, utc)
  const { list, schedules, runs, isCut, isReading } = useWeekRuns(days, nowMs)
  const week = layOutWeek(runs, days, utc)
  const go = (patch: CalendarSearch) => void navigate({ search: { ...search, hour: undefined, ...patch } })
  const goWeeks = (weeks: number) => go({ week: weeksOn(days, weeks) })
  const isThisWeek = days[0] !== undefined && nowMs >= days[0].startMs && nowMs < (days[6]?.endMs ?? 0)
  useKeys('Calendar', [
    { key: 'p', label: 'Previous week', run: () => goWeeks(-1) },
    { key: 'n', label: 'Next week', run: () => goWeeks(1) },
    { key: 't', label: 'This week', run: () => go({ week: undefined }) },
    { key: 'Escape', label: 'Close hour', run: () => go({}) }
  ])
  const nameOf = (id: string) => schedules.get(id)?.name ?? null
  const View = isNarrow ? Agenda : WeekGrid
  return (
    <div className={classes.layout}>
      <div className={classes.screen}>
        <ScreenHead
          title="Schedules"
          views={<SchedulesTabs />}
          note={
            <>
              {plural(week.runCount, 'run')}
              {isThisWeek ? ' this week' : ' in that week'}
              {isCut && ' · older runs are not shown'}
            </>
          }
        />
        <div className={classes.bar}>
          <Tooltip label="Previous week (p)">
            <ActionIcon variant="default" onClick={() => goWeeks(-1)} aria-label="Previous week">
              <IconChevronLeft size={15} />
            </ActionIcon>
          </Tooltip>
          <Button disabled={isThisWeek} onClick={() => go({ week: undefined })}>
            This week
          </Button>
          <Tooltip label="Next week (n)">
            <ActionIcon variant="default" onClick={() => goWeeks(1)} aria-label="Next week">
              <IconChevronRight size={15} />
            </ActionIcon>
          </Tooltip>
          <span className={classes.span}>
            <strong>{weekWords(days)}</strong> <span className="faint">{utc ? 'UTC' : localZone()}</span>
          </span>
          {(!IS_UTC_HERE || utc) && (
            <SegmentedControl
              size="xs"
              aria-label="Time zone"
              value={utc ? 'utc' : 'local'}
              onChange={(value) => go({ utc: value === 'utc' || undefined })}
              data={optionsOf({ local: 'Your time', utc: 'UTC' })}
            />
          )}
        </div>
        <QueryState query={list} what="the schedules" rows={12}>
          {({ pages }) =>
            pages[0]?.total === 0 && runs.length === 0 ? (
              <EmptyState
                icon={<IconCalendarWeek size={32} stroke={1.3} />}
                title="No schedules yet"
                action={<LinkButton to="/schedules">Schedules</LinkButton>}
              >
                The calendar shows upcoming runs and the outcome of past runs.
              </EmptyState>
            ) : (
              <View
                week={week}
                utc={utc}
                nowMs={nowMs}
                nameOf={nameOf}
                isReading={isReading}
                openHourMs={search.hour ?? null}
                onHour={(hour) => void navigate({ search: { ...search, hour } })}
              />
            )
          }
        </QueryState>
      </div>
      {search.hour !== undefined && (
        <HourPane hourMs={search.hour} utc={utc} runs={runs} schedules={schedules} onClose={() => go({})} />
      )}
    </div>
  )
}

/** `23 – 29 Nov 2026` */
function weekWords(days: ReturnType<typeof daysOfWeek>): string {
  const noon = (date: string | undefined) => new Date(`${date}T12:00:00Z`)
  const format = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' })
  return format.formatRange(noon(days[0]?.date), noon(days[6]?.date))
}

/** The history is read back to the start of the week, up to this many pages. */
const PAGES_MAX = 10
const PAGE_ROWS = 500
/** A due run gets its row at most this much later, because of jitter. */
const DUE_MS = 86_400_000

/** The runs of a week: past ones from the history, and upcoming ones. */
function useWeekRuns(days: readonly Day[], nowMs: number) {
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

import { ActionIcon, Button, Flex, Group, SegmentedControl, Stack, Tooltip } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { IconCalendarWeek, IconChevronLeft, IconChevronRight } from '@tabler/icons-react'
import { getRouteApi, useNavigate, Link } from '@tanstack/react-router'
import type { CalendarSearch } from '../../../state/search.ts'
import { useKeys } from '../../../state/keys.ts'
import { useNow } from '../../../ui/clock.ts'
import { LinkButton } from '../../../ui/link-button.tsx'
import { ScreenHead, DetailPane, PaneHead } from '../../../ui/panel.tsx'
import { EmptyState, QueryState } from '../../../ui/states.tsx'
import { SchedulesTabs } from '../schedules-tabs.tsx'
import { localZone } from '../../../ui/moment.ts'
import classes from './calendar.module.css'
import {
  daysOfWeek,
  layOutWeek,
  weeksOn,
  type Day,
  mergeRuns,
  dateOf,
  hourStart,
  timeWords,
  type Run,
  dayWords
} from './week.ts'
import { WeekGrid, byName, DayHead, type WeekViewProps } from './week-grid.tsx'
import { optionsOf } from '../../../ui/fields/choice-field.tsx'
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useRef } from 'react'
import { useApi } from '../../../api/api.tsx'
import { useSchedules, useSchedulesChanged } from '../load/use-schedules.ts'
import { OftenStrip } from './often-strip.tsx'
import { RunIcon, RUN_LOOKS } from '../run-look.tsx'
import type { Schedule } from '../../../../shared/contract/index.ts'
import { shortId } from '../../../../shared/ids.ts'
import { formatAge, formatRuntime } from '../../../../shared/time.ts'
import { jitterMsOf } from '../load/spread.ts'
import { locale } from '../../../../shared/locale.ts'
import { texts } from '../../../../shared/texts/ui/schedules.ts'

const MINUTE_MS = 60_000
const IS_UTC_HERE = localZone() === 'UTC'

export function CalendarScreen() {
  const search = getRouteApi('/schedules/calendar').useSearch()
  const navigate = useNavigate({ from: '/schedules/calendar' })
  const isNarrow = useMediaQuery('(max-width: 760px)', window.innerWidth <= 760, { getInitialValueInEffect: false })
  const utc = search.utc === true
  // Minutes are precise enough for the current-time line. With seconds, the week would be laid out every second.
  const nowMs = Math.floor(useNow() / MINUTE_MS) * MINUTE_MS
  const days = daysOfWeek(search.week, nowMs, utc)
  const { list, schedules, runs, isCut, isReading } = useWeekRuns(days, nowMs)
  const week = layOutWeek(runs, days, utc)
  const go = (patch: CalendarSearch) => void navigate({ search: { ...search, hour: undefined, ...patch } })
  const goWeeks = (weeks: number) => go({ week: weeksOn(days, weeks) })
  const isThisWeek = days[0] !== undefined && nowMs >= days[0].startMs && nowMs < (days[6]?.endMs ?? 0)
  useKeys(texts.calendar, [
    { key: 'p', label: texts.previousWeek, run: () => goWeeks(-1) },
    { key: 'n', label: texts.nextWeek, run: () => goWeeks(1) },
    { key: 't', label: texts.thisWeek, run: () => go({ week: undefined }) },
    { key: 'Escape', label: texts.closeHour, run: () => go({}) }
  ])
  const nameOf = (id: string) => schedules.get(id)?.name ?? null
  const View = isNarrow ? Agenda : WeekGrid
  return (
    <div className="split grow">
      <div className={`${classes.screen} column grow`}>
        <ScreenHead
          title={texts.schedules}
          views={<SchedulesTabs />}
          note={
            <>
              {isThisWeek ? texts.runsThisWeek(week.runCount) : texts.runsThatWeek(week.runCount)}
              {isCut && texts.olderRunsHidden}
            </>
          }
        />
        <Group gap={6}>
          <Tooltip label={texts.previousWeekHint}>
            <ActionIcon variant="default" onClick={() => goWeeks(-1)} aria-label={texts.previousWeek}>
              <IconChevronLeft size={15} />
            </ActionIcon>
          </Tooltip>
          <Button disabled={isThisWeek} onClick={() => go({ week: undefined })}>
            {texts.thisWeek}
          </Button>
          <Tooltip label={texts.nextWeekHint}>
            <ActionIcon variant="default" onClick={() => goWeeks(1)} aria-label={texts.nextWeek}>
              <IconChevronRight size={15} />
            </ActionIcon>
          </Tooltip>
          <span className={classes.span}>
            <strong>{weekWords(days)}</strong> <span className="faint">{utc ? 'UTC' : localZone()}</span>
          </span>
          {(!IS_UTC_HERE || utc) && (
            <SegmentedControl
              size="xs"
              aria-label={texts.timeZone}
              value={utc ? 'utc' : 'local'}
              onChange={(value) => go({ utc: value === 'utc' || undefined })}
              data={optionsOf({ local: texts.yourTime, utc: 'UTC' })}
            />
          )}
        </Group>
        <QueryState query={list} what={texts.theSchedules} rows={12}>
          {({ pages }) =>
            pages[0]?.total === 0 && runs.length === 0 ? (
              <EmptyState
                icon={<IconCalendarWeek size={32} stroke={1.3} />}
                title={texts.noSchedulesYet}
                action={<LinkButton to="/schedules">{texts.schedules}</LinkButton>}
              >
                {texts.noCalendarHint}
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
  const format = new Intl.DateTimeFormat(locale(), { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' })
  return format.formatRange(noon(days[0]?.date), noon(days[6]?.date))
}

/** The maximum number of pages to read back to the start of the week. */
const PAGES_MAX = 10
const PAGE_ROWS = 500
/** The maximum time, due to jitter, from a run's scheduled time until the run appears in the history. */
const DUE_MS = 86_400_000

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
  // Whether rows are still loading. Rows that arrive later would move what was scrolled into view.
  const isReading = calendar.isLoading || history.isLoading
  return { list, schedules, runs, isCut, isReading }
}

const SHOWN_PER_HOUR = 6

/** For phones: days as a list, without empty hours. */
function Agenda({ week, utc, nowMs, nameOf, isReading, onHour }: WeekViewProps) {
  const today = dateOf(nowMs, utc)
  const todayBox = useRef<HTMLElement>(null)
  const monday = week.days[0]?.date
  useEffect(() => {
    if (!isReading) todayBox.current?.scrollIntoView?.({ block: 'start' })
  }, [monday, isReading])
  const often = byName(week.often, nameOf)
  return (
    <div className={classes.agenda}>
      {week.days.map((day, index) => {
        const hours = week.hours[index] ?? []
        const rows = often.filter((row) => (row.days[index]?.count ?? 0) > 0)
        return (
          <section
            key={day.date}
            ref={day.date === today ? todayBox : undefined}
            className={`${classes.agendaDay} card`}
            data-today={day.date === today || undefined}
          >
            <h2>
              <DayHead day={day} />
              {day.date === today && <span className={classes.todayWord}>{texts.today}</span>}
            </h2>
            {rows.map((row) => {
              const ofDay = row.days[index]
              return (
                ofDay && (
                  <Link
                    key={row.scheduleId}
                    to="/schedules"
                    search={{ schedule: row.scheduleId }}
                    className={classes.agendaOften}
                  >
                    <span className="ellipsis">{nameOf(row.scheduleId) ?? '…'}</span>
                    <OftenStrip day={ofDay} />
                  </Link>
                )
              )
            })}
            {hours.map((runs, hour) =>
              runs.length === 0 ? null : (
                <button
                  key={hour}
                  type="button"
                  className={classes.agendaHour}
                  onClick={() => onHour(hourStart(day, hour, utc) ?? day.startMs)}
                >
                  {[...runs]
                    .slice(0, SHOWN_PER_HOUR)
                    .sort((left, right) => left.atMs - right.atMs)
                    .map((run) => (
                      <span key={`${run.scheduleId} ${run.atMs} ${run.firing?.id}`} className={classes.agendaRun}>
                        <RunIcon look={run.look} size={14} />
                        <span className="fixed dim">{timeWords(run.atMs, utc)}</span>
                        <span className="ellipsis">
                          {nameOf(run.scheduleId) ?? '…'}
                          {run.count > 1 && ` ×${run.count}`}
                        </span>
                      </span>
                    ))}
                  {runs.length > SHOWN_PER_HOUR && (
                    <span className={classes.moreRuns}>{texts.andMoreRuns(runs.length - SHOWN_PER_HOUR)}</span>
                  )}
                </button>
              )
            )}
            {rows.length === 0 && hours.every((runs) => runs.length === 0) && (
              <p className="faint">{texts.noRunsOnDay}</p>
            )}
          </section>
        )
      })}
    </div>
  )
}

const HOUR_MS = 3_600_000
const ROWS_MAX = 300

interface HourPaneProps {
  hourMs: number
  utc: boolean
  runs: readonly Run[]
  schedules: ReadonlyMap<string, Schedule>
  onClose: () => void
}

function HourPane({ hourMs, utc, runs, schedules, onClose }: HourPaneProps) {
  const day = daysOfWeek(undefined, hourMs, utc).find(({ startMs, endMs }) => hourMs >= startMs && hourMs < endMs)
  const ofHour = runs.filter(({ atMs }) => atMs >= hourMs && atMs < hourMs + HOUR_MS)
  return (
    <DetailPane label={texts.runsInThisHour}>
      <PaneHead what={texts.hourNoun} onClose={onClose}>
        <h2>{texts.hourTitle(day ? dayWords(day) : '', timeWords(hourMs, utc), timeWords(hourMs + HOUR_MS, utc))}</h2>
      </PaneHead>
      {ofHour.length === 0 && <p className="dim">{texts.noRunsInThisHour}</p>}
      <Stack component="ul" gap={10} className={`${classes.paneRuns} break`}>
        {ofHour.slice(0, ROWS_MAX).map((run) => (
          <PaneRun
            key={`${run.scheduleId} ${run.atMs} ${run.firing?.id}`}
            run={run}
            utc={utc}
            schedule={schedules.get(run.scheduleId)}
          />
        ))}
      </Stack>
      {ofHour.length > ROWS_MAX && <p className="dim">{texts.andMoreRuns(ofHour.length - ROWS_MAX)}</p>}
    </DetailPane>
  )
}

function PaneRun({ run, utc, schedule }: { run: Run; utc: boolean; schedule: Schedule | undefined }) {
  const { scheduleId, atMs, look, firing, count } = run
  const here = timeWords(atMs, utc)
  const there = schedule === undefined ? here : timeWords(atMs, false, schedule.zone)
  const jobs = firing?.jobIds ?? []
  const laterMs = firing === null && schedule !== undefined ? jitterMsOf(schedule) : 0
  return (
    <Flex component="li" gap={8}>
      <RunIcon look={look} size={15} />
      <div className="grow">
        <p>
          <span className="fixed dim">{here}</span>{' '}
          <Link to="/schedules" search={{ schedule: scheduleId }}>
            {schedule?.name ?? texts.scheduleById(shortId(scheduleId))}
          </Link>
          {count > 1 && ` ×${count}`}
        </p>
        <p className="dim">
          <span className={`tone-${RUN_LOOKS[look].tone}`}>{RUN_LOOKS[look].word}</span>
          {firing?.durationMs != null && texts.afterRuntime(formatRuntime(firing.durationMs))}
          {laterMs > 0 && texts.laterByJitter(formatAge(laterMs))}
          {there !== here && schedule !== undefined && texts.timeInZone(there, schedule.zone)}
          {jobs.length === 1 && (
            <>
              {' · '}
              <Link to="/jobs" search={{ job: jobs[0] }}>
                {texts.showJob}
              </Link>
            </>
          )}
          {jobs.length > 1 && ` · ${texts.jobCount(jobs.length)}`}
        </p>
        {firing !== null && firing.reason !== 'on_time' && <p className="dim">{firing.text}</p>}
      </div>
    </Flex>
  )
}

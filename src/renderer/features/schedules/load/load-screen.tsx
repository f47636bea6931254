import { SegmentedControl } from '@mantine/core'
import { IconChartBar } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi } from '../../../api/api.tsx'
import { LOAD_HOURS, type LoadSearch } from '../../../state/search.ts'
import { useKeys } from '../../../state/keys.ts'
import { LinkButton } from '../../../ui/link-button.tsx'
import { Panel, ScreenHead, PanelsScreen } from '../../../ui/panel.tsx'
import { EmptyState, QueryState } from '../../../ui/states.tsx'
import { SchedulesTabs } from '../schedules-tabs.tsx'
import { localZone } from '../../../ui/moment.ts'
import { LoadChart, minuteWords } from './load-chart.tsx'
import classes from './load.module.css'
import { MinutePane } from './minute-pane.tsx'
import { crowdedMinutes, type LoadMinute } from './spread.ts'
import { useSchedules, useSchedulesChanged } from './use-schedules.ts'
import { texts } from '../../../../shared/texts/ui/schedules.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const CROWDED_SHOWN = 8
const HOURS_WORDS = { 6: texts.sixHours, 24: texts.oneDay, 72: texts.threeDays, 168: texts.sevenDays }

export function LoadScreen() {
  const { query } = useApi()
  const search = getRouteApi('/schedules/load').useSearch()
  const navigate = useNavigate({ from: '/schedules/load' })
  const hours = search.hours ?? 24
  const go = (patch: LoadSearch) => void navigate({ search: { ...search, ...patch } })
  const { schedules, total, version } = useSchedules()
  // Starts at the current hour and does not advance, because bars must not move under the pointer.
  const [nowMs, setNowMs] = useState(() => Date.now())
  const fromMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS
  const span = { fromMs, untilMs: fromMs + hours * HOUR_MS }
  const load = useQuery({
    ...query.schedules.load.queryOptions({ input: span, placeholderData: keepPreviousData }),
    // Excludes runs from earlier in this hour.
    select: (all) => ({ ...all, minutes: all.minutes.filter(({ atMs }) => atMs + MINUTE_MS > nowMs) })
  })
  useSchedulesChanged(version, () => {
    setNowMs(Date.now())
    void load.refetch()
  })
  useKeys(texts.load, [{ key: 'Escape', label: texts.closeMinute, run: () => go({ at: undefined }) }])
  return (
    <div className="split grow">
      <PanelsScreen>
        <ScreenHead
          title={texts.schedules}
          views={<SchedulesTabs />}
          note={load.data && <Summary {...load.data} hours={hours} />}
        />
        <QueryState query={load} what={texts.loadOfSchedules} rows={10}>
          {({ slots, minutes }) =>
            minutes.length === 0 ? (
              <EmptyState
                icon={<IconChartBar size={32} stroke={1.3} />}
                title={total === 0 ? texts.noSchedulesYet : texts.noRunsInNext(HOURS_WORDS[hours])}
                action={<LinkButton to="/schedules">{texts.schedules}</LinkButton>}
              >
                {texts.noLoadHint}
              </EmptyState>
            ) : (
              <>
                <Panel
                  title={texts.jobsStartedPerMinute}
                  note={texts.loadNote(slots, localZone())}
                  aside={
                    <SegmentedControl
                      size="xs"
                      aria-label={texts.timeRange}
                      value={String(hours)}
                      onChange={(value) =>
                        go({ hours: LOAD_HOURS.find((each) => String(each) === value), at: undefined })
                      }
                      data={LOAD_HOURS.map((each) => ({ value: String(each), label: HOURS_WORDS[each] }))}
                    />
                  }
                >
                  <LoadChart
                    minutes={minutes}
                    slots={slots}
                    fromMs={span.fromMs}
                    untilMs={span.untilMs}
                    atMs={search.at ?? null}
                    onOpen={(at) => go({ at })}
                  />
                </Panel>
                <Crowded minutes={minutes} slots={slots} atMs={search.at ?? null} onOpen={(at) => go({ at })} />
              </>
            )
          }
        </QueryState>
      </PanelsScreen>
      {search.at !== undefined && load.data !== undefined && (
        <MinutePane
          key={search.at}
          atMs={search.at}
          load={load.data}
          schedules={schedules}
          version={version}
          onClose={() => go({ at: undefined })}
        />
      )}
    </div>
  )
}

function Summary({ minutes, hours }: { minutes: readonly LoadMinute[]; hours: keyof typeof HOURS_WORDS }) {
  const jobs = minutes.reduce((sum, minute) => sum + minute.jobs, 0)
  return texts.jobsInNext(jobs, HOURS_WORDS[hours])
}

interface CrowdedProps {
  minutes: readonly LoadMinute[]
  slots: number
  atMs: number | null
  onOpen: (atMs: number) => void
}

function Crowded({ minutes, slots, atMs, onOpen }: CrowdedProps) {
  const crowded = crowdedMinutes(minutes, CROWDED_SHOWN)
  // A full bar means that every slot is taken.
  const most = Math.max(slots, crowded[0]?.jobs ?? 1)
  return (
    <Panel title={texts.busiestMinutes} note={texts.busiestMinutesNote} flush>
      {crowded.length === 0 ? (
        <p className={`${classes.none} dim`}>{texts.noBusyMinutes}</p>
      ) : (
        <ul className={classes.crowded}>
          {crowded.map((minute) => (
            <li key={minute.atMs}>
              <button type="button" data-open={minute.atMs === atMs || undefined} onClick={() => onOpen(minute.atMs)}>
                <span>{minuteWords(minute.atMs)}</span>
                <span className={classes.meter} aria-hidden>
                  <i
                    className={minute.jobs > slots ? 'tone-wait' : 'tone-run'}
                    style={{ width: `${(minute.jobs / most) * 100}%` }}
                  />
                </span>
                <span className={classes.many}>{texts.jobCount(minute.jobs)}</span>
                <span className={`dim ${classes.of}`}>{texts.ofSchedules(minute.firings)}</span>
                <span className={`${minute.jobs > slots ? 'tone-wait' : 'faint'} ${classes.fits}`}>
                  {minute.jobs > slots ? texts.waitForSlot(minute.jobs - slots) : texts.fits}
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

import { Button, Flex } from '@mantine/core'
import { IconArrowsSplit2 } from '@tabler/icons-react'
import { useQueries, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import type { Schedule } from '../../../../shared/contract/index.ts'
import { describeRule } from '../../../../shared/calendar/index.ts'
import { useApi } from '../../../api/api.tsx'
import { DetailPane, PaneHead } from '../../../ui/panel.tsx'
import { QueryState } from '../../../ui/states.tsx'
import { minuteWords } from './load-chart.tsx'
import classes from './load.module.css'
import { jobsOf } from '../schedule-words.ts'
import { firesIn, type LoadMinute } from './spread.ts'
import { SpreadDialog } from './spread-dialog.tsx'
import { texts } from '../../../../shared/texts/ui/schedules.ts'
import { texts as calendar } from '../../../../shared/texts/ui/calendar.ts'

/** The maximum number of schedules to load individually if they are not in the list. */
const READ_MAX = 200

interface MinutePaneProps {
  atMs: number
  load: { slots: number; minutes: readonly LoadMinute[] }
  schedules: ReadonlyMap<string, Schedule>
  version: string
  onClose: () => void
}

export function MinutePane({ atMs, load, schedules, version, onClose }: MinutePaneProps) {
  const { query } = useApi()
  const [isSpreading, setSpreading] = useState(false)
  // The jitter of listed schedules is known. For others, the calendar has only the scheduled times.
  const moments = useQuery(query.schedules.calendar.queryOptions({ input: { fromMs: atMs, untilMs: atMs + 60_000 } }))
  const others = [...new Set(moments.data?.moments.map(({ scheduleId }) => scheduleId))].filter(
    (id) => !schedules.has(id)
  )
  const read = useQueries({
    queries: others
      .slice(0, READ_MAX)
      .map((id) => query.schedules.get.queryOptions({ input: { id }, staleTime: 30_000 }))
  })
  const known = useMemo(
    () => [...schedules.values()].filter((schedule) => firesIn(schedule, atMs)),
    // Runs change the list every second. The run times change only if a schedule changes.
    // oxlint-disable-next-line react/exhaustive-deps
    [version, atMs]
  )
  const crowd = [
    ...known,
    ...read.flatMap(({ data }) => (data !== undefined && firesIn(data, atMs) ? [data] : []))
  ].sort((left, right) => jobsOf(right.jobs) - jobsOf(left.jobs) || left.name.localeCompare(right.name))
  const unnamed = (load.minutes.find((minute) => minute.atMs === atMs)?.firings ?? 0) - crowd.length
  const jobs = crowd.reduce((sum, schedule) => sum + jobsOf(schedule.jobs), 0)
  const waits = jobs - load.slots
  return (
    <DetailPane label={texts.minute}>
      <PaneHead what={texts.minuteNoun} onClose={onClose}>
        <h2>{minuteWords(atMs)}</h2>
      </PaneHead>
      <QueryState query={moments} what={texts.runsOfMinute} rows={4}>
        {() => (
          <>
            <p>
              {crowd.length === 0 ? texts.noMoreRunsInMinute : null}
              {crowd.length > 0 &&
                texts.schedulesStart(
                  crowd.length,
                  jobs,
                  waits > 0 ? <span className="tone-wait">{texts.jobsWait(waits)}</span> : texts.fleetSlots(load.slots)
                )}
            </p>
            {crowd.length > 1 && (
              <Button
                className={`${classes.spreadButton} fixed`}
                variant="filled"
                leftSection={<IconArrowsSplit2 size={14} />}
                onClick={() => setSpreading(true)}
              >
                {texts.spreadItem}
              </Button>
            )}
            <Flex component="ul" direction="column" gap={10} className={classes.paneRows}>
              {crowd.map((schedule) => (
                <li key={schedule.id}>
                  <p>
                    <Link to="/schedules" search={{ schedule: schedule.id }}>
                      {schedule.name}
                    </Link>
                    <span className="fixed push dim">{texts.jobCount(jobsOf(schedule.jobs))}</span>
                  </p>
                  <p className="dim">
                    {schedule.rules.map((rule) => describeRule(rule, schedule.zone, calendar)).join('; ')}
                  </p>
                </li>
              ))}
            </Flex>
            {unnamed > 0 && <p className="dim">{texts.andMoreSchedules(unnamed)}</p>}
          </>
        )}
      </QueryState>
      {isSpreading && <SpreadDialog crowd={crowd} load={load} atMs={atMs} onClose={() => setSpreading(false)} />}
    </DetailPane>
  )
}

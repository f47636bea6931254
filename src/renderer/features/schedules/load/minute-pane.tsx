import { ActionIcon, Button, Tooltip } from '@mantine/core'
import { IconArrowsSplit2, IconX } from '@tabler/icons-react'
import { useQueries, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import type { Schedule } from '../../../../shared/contract/index.ts'
import { describeRule } from '../../../../shared/calendar/index.ts'
import { useApi } from '../../../api/api.tsx'
import { plural } from '../../../ui/numbers.ts'
import { DetailPane } from '../../../ui/panel.tsx'
import { QueryState } from '../../../ui/states.tsx'
import { minuteWords } from './minute-words.ts'
import classes from './load.module.css'
import { jobsOf, type LoadMinute } from './spread.ts'
import { SpreadDialog } from './spread-dialog.tsx'

/** So many that are not in the list yet are read one by one. */
const READ_MAX = 200

interface MinutePaneProps {
  atMs: number
  load: { slots: number; minutes: readonly LoadMinute[] }
  schedules: ReadonlyMap<string, Schedule>
  version: string
  onClose: () => void
}

/** Which schedules meet in a minute, and what to do about it. */
export function MinutePane({ atMs, load, schedules, version, onClose }: MinutePaneProps) {
  const { query } = useApi()
  const [isSpreading, setSpreading] = useState(false)
  const moments = useQuery(query.schedules.calendar.queryOptions({ input: { fromMs: atMs, untilMs: atMs + 59_999 } }))
  const { refetch } = moments
  const known = useRef(version)
  useEffect(() => {
    if (known.current !== version) void refetch()
    known.current = version
  }, [version, refetch])
  const ids = [...new Set(moments.data?.moments.map(({ scheduleId }) => scheduleId))]
  const unread = ids.filter((id) => !schedules.has(id)).slice(0, READ_MAX)
  const read = useQueries({
    queries: unread.map((id) => query.schedules.get.queryOptions({ input: { id }, staleTime: 30_000 }))
  })
  const crowd = ids
    .map((id) => schedules.get(id) ?? read.find(({ data }) => data?.id === id)?.data)
    .filter((schedule) => schedule !== undefined)
    .sort((left, right) => jobsOf(right.jobs) - jobsOf(left.jobs) || left.name.localeCompare(right.name))
  const jobs = crowd.reduce((sum, schedule) => sum + jobsOf(schedule.jobs), 0)
  const waits = jobs - load.slots
  return (
    <DetailPane label="A minute of the load">
      <header className={classes.paneHead}>
        <h2>{minuteWords(atMs)}</h2>
        <Tooltip label="Close (Esc)">
          <ActionIcon onClick={onClose} aria-label="Close the minute">
            <IconX size={16} />
          </ActionIcon>
        </Tooltip>
      </header>
      <QueryState query={moments} what="what runs in that minute" rows={4}>
        {() => (
          <>
            <p className={classes.paneWords}>
              {crowd.length === 0 ? 'Nothing starts in this minute any more.' : null}
              {crowd.length > 0 && (
                <>
                  {plural(crowd.length, 'schedule')} {crowd.length === 1 ? 'starts' : 'start'} {plural(jobs, 'job')};{' '}
                  {waits > 0 ? (
                    <span className="tone-wait">{plural(waits, 'job')} of them wait for a slot.</span>
                  ) : (
                    `the fleet has ${plural(load.slots, 'slot')}.`
                  )}
                </>
              )}
            </p>
            {crowd.length > 1 && (
              <Button
                className={classes.spreadButton}
                variant="filled"
                leftSection={<IconArrowsSplit2 size={14} />}
                onClick={() => setSpreading(true)}
              >
                Spread…
              </Button>
            )}
            <ul className={classes.paneRows}>
              {crowd.map((schedule) => (
                <li key={schedule.id}>
                  <p>
                    <Link to="/schedules" search={{ schedule: schedule.id }}>
                      {schedule.name}
                    </Link>
                    <span className={classes.paneJobs}>{plural(jobsOf(schedule.jobs), 'job')}</span>
                  </p>
                  <p className="dim">{schedule.rules.map((rule) => describeRule(rule, schedule.zone)).join('; ')}</p>
                </li>
              ))}
            </ul>
            {ids.length > crowd.length && (
              <p className="dim">and {plural(ids.length - crowd.length, 'schedule')} more</p>
            )}
          </>
        )}
      </QueryState>
      {isSpreading && <SpreadDialog crowd={crowd} load={load} atMs={atMs} onClose={() => setSpreading(false)} />}
    </DetailPane>
  )
}

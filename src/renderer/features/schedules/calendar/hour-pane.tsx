import { Link } from '@tanstack/react-router'
import type { Schedule } from '../../../../shared/contract/index.ts'
import { shortId } from '../../../../shared/ids.ts'
import { plural } from '../../../ui/numbers.ts'
import { DetailPane } from '../../../ui/panel.tsx'
import { formatAge, formatRuntime } from '../../../../shared/time.ts'
import classes from './calendar.module.css'
import { PaneHead } from '../../../ui/pane-head.tsx'
import { jitterMsOf } from '../load/spread.ts'
import { RUN_LOOKS, RunIcon } from '../run-look.tsx'
import { daysOfWeek, type Run } from './week.ts'
import { dayWords, timeWords } from './week-words.ts'

const HOUR_MS = 3_600_000
const ROWS_MAX = 300

interface HourPaneProps {
  hourMs: number
  utc: boolean
  runs: readonly Run[]
  schedules: ReadonlyMap<string, Schedule>
  onClose: () => void
}

/** All runs of one hour, each with its outcome and reason. */
export function HourPane({ hourMs, utc, runs, schedules, onClose }: HourPaneProps) {
  const day = daysOfWeek(undefined, hourMs, utc).find(({ startMs, endMs }) => hourMs >= startMs && hourMs < endMs)
  const ofHour = runs.filter(({ atMs }) => atMs >= hourMs && atMs < hourMs + HOUR_MS)
  return (
    <DetailPane label="Runs in this hour">
      <PaneHead what="hour" onClose={onClose}>
        <h2>
          {day && dayWords(day)}, {timeWords(hourMs, utc)} to {timeWords(hourMs + HOUR_MS, utc)}
        </h2>
      </PaneHead>
      {ofHour.length === 0 && <p className="dim">No runs in this hour.</p>}
      <ul className={classes.paneRuns}>
        {ofHour.slice(0, ROWS_MAX).map((run) => (
          <PaneRun
            key={`${run.scheduleId} ${run.atMs} ${run.firing?.id}`}
            run={run}
            utc={utc}
            schedule={schedules.get(run.scheduleId)}
          />
        ))}
      </ul>
      {ofHour.length > ROWS_MAX && <p className="dim">and {plural(ofHour.length - ROWS_MAX, 'run')} more</p>}
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
    <li>
      <RunIcon look={look} size={15} />
      <div>
        <p>
          <span className={classes.time}>{here}</span>{' '}
          <Link to="/schedules" search={{ schedule: scheduleId }}>
            {schedule?.name ?? `schedule ${shortId(scheduleId)}`}
          </Link>
          {count > 1 && ` ×${count}`}
        </p>
        <p className="dim">
          <span className={`tone-${RUN_LOOKS[look].tone}`}>{RUN_LOOKS[look].word}</span>
          {firing?.durationMs != null && ` after ${formatRuntime(firing.durationMs)}`}
          {laterMs > 0 && ` · starts ${formatAge(laterMs)} later (jitter)`}
          {there !== here && ` · ${there} in ${schedule?.zone}`}
          {jobs.length === 1 && (
            <>
              {' · '}
              <Link to="/jobs" search={{ job: jobs[0] }}>
                Show job
              </Link>
            </>
          )}
          {jobs.length > 1 && ` · ${plural(jobs.length, 'job')}`}
        </p>
        {firing !== null && firing.reason !== 'on_time' && <p className="dim">{firing.text}</p>}
      </div>
    </li>
  )
}

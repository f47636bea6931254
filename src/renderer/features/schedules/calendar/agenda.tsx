import { Link } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { plural } from '../../../ui/numbers.ts'
import classes from './calendar.module.css'
import { OftenStrip } from './often-strip.tsx'
import { RunIcon } from '../run-look.tsx'
import { dateOf } from './week.ts'
import { byName, DayHead, type WeekViewProps } from './week-grid.tsx'
import { hourStart, timeWords } from './week-words.ts'

const SHOWN_PER_HOUR = 6

/** The week on a phone: one day below the other, and only what runs. */
export function Agenda({ week, utc, nowMs, nameOf, isReading, onHour }: WeekViewProps) {
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
            className={classes.agendaDay}
            data-today={day.date === today || undefined}
          >
            <h2>
              <DayHead day={day} />
              {day.date === today && <span className={classes.todayWord}>today</span>}
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
                        <span className={classes.time}>{timeWords(run.atMs, utc)}</span>
                        <span className="ellipsis">
                          {nameOf(run.scheduleId) ?? '…'}
                          {run.count > 1 && ` ×${run.count}`}
                        </span>
                      </span>
                    ))}
                  {runs.length > SHOWN_PER_HOUR && (
                    <span className={classes.moreRuns}>and {plural(runs.length - SHOWN_PER_HOUR, 'run')} more</span>
                  )}
                </button>
              )
            )}
            {rows.length === 0 && hours.every((runs) => runs.length === 0) && <p className="faint">no runs</p>}
          </section>
        )
      })}
    </div>
  )
}

import { Flex, Switch } from '@mantine/core'
import { Fragment } from 'react'
import type { Schedule } from '../../../shared/contract/index.ts'
import { useNow } from '../../ui/clock.ts'
import { formatInstant } from '../../ui/time.tsx'
import type { Column } from '../../ui/table/column.ts'
import { RunBars } from './run-bars.tsx'
import classes from './schedules-screen.module.css'
import { missedLately, OVERLAP_WORDS, pausedWords, timingShort, timingWords, whatWords } from './schedule-words.ts'
import { formatIn, formatMoment } from './zoned-time.ts'
import { texts } from '../../../shared/texts/ui/schedules.ts'

/** `in 2 d 17 h`, or why the schedule will not fire. */
export function NextText({ schedule }: { schedule: Schedule }) {
  const nowMs = useNow()
  if (schedule.paused)
    return (
      <span className="faint" title={schedule.pauseNote ?? pausedWords(schedule)}>
        {schedule.pausedBy === 'max_runs' || schedule.pausedBy === 'end' ? texts.endedState : texts.pausedState}
      </span>
    )
  if (schedule.nextAtMs === null) return <span className="faint">{texts.endedState}</span>
  return (
    <time dateTime={new Date(schedule.nextAtMs).toISOString()} title={formatInstant(schedule.nextAtMs)}>
      {formatIn(schedule.nextAtMs - nowMs)}
    </time>
  )
}

/** `Mon 23 Nov 03:00`, in the schedule's zone. */
function NextMoment({ schedule: { paused, nextAtMs, zone } }: { schedule: Schedule }) {
  const nowMs = useNow()
  if (paused || nextAtMs === null) return null
  return (
    <span className="dim" title={zone}>
      {formatMoment(nextAtMs, zone, nowMs)}
    </span>
  )
}

/** A line never breaks within a field, because the part on the next line could be read as a separate expression. */
function CronFields({ text }: { text: string }) {
  return text.split(/(?<= )/).map((field, index) => (
    <span key={index} className={classes.field}>
      {field}
    </span>
  ))
}

/** A zone's name. A long name wraps between its parts. */
export function ZoneText({ zone }: { zone: string }) {
  return (
    <span className={`dim ${classes.twoLines} clamp`} title={zone}>
      {zone.split(/(?<=[/_])/).map((part) => (
        <Fragment key={part}>
          {part}
          <wbr />
        </Fragment>
      ))}
    </span>
  )
}

export function scheduleColumns(
  onPause: ((schedule: Schedule, paused: boolean) => void) | null
): readonly Column<Schedule>[] {
  return [
    {
      id: 'on',
      header: <span className="visually-hidden">{texts.on}</span>,
      width: '46px',
      cell: (schedule) => (
        <Switch
          size="xs"
          tabIndex={-1}
          checked={!schedule.paused}
          aria-label={texts.isOn(schedule.name)}
          disabled={onPause === null}
          onChange={(event) => onPause?.(schedule, !event.currentTarget.checked)}
        />
      )
    },
    {
      id: 'name',
      header: texts.name,
      width: 'minmax(120px, 1.3fr)',
      sortBy: ({ name }) => name,
      cell: (schedule) => (
        <Flex component="span" align="center" gap={6} miw={0}>
          <strong className={`${classes.twoLines} clamp semibold`} title={schedule.name}>
            {schedule.name}
          </strong>
          <Marks schedule={schedule} />
        </Flex>
      )
    },
    {
      id: 'what',
      header: texts.runs,
      width: 'minmax(110px, 1fr)',
      hideBelowPx: 900,
      cell: ({ jobs }) => (
        <span className="dim" title={whatWords(jobs)}>
          {whatWords(jobs)}
        </span>
      )
    },
    {
      id: 'when',
      header: texts.when,
      width: 'minmax(132px, 1.2fr)',
      hideBelowPx: 560,
      cell: (schedule) => (
        <span className={`mono ${classes.twoLines} clamp`} title={`${timingShort(schedule)}\n${timingWords(schedule)}`}>
          <CronFields text={timingShort(schedule)} />
        </span>
      )
    },
    {
      id: 'zone',
      header: texts.zone,
      width: 'minmax(112px, 1.15fr)',
      hideBelowPx: 760,
      sortBy: ({ zone }) => zone,
      cell: ({ zone }) => <ZoneText zone={zone} />
    },
    {
      id: 'next',
      header: texts.next,
      width: '122px',
      sortBy: ({ nextAtMs, paused }) => (paused ? null : nextAtMs),
      cell: (schedule) => <NextText schedule={schedule} />
    },
    {
      id: 'at',
      header: texts.at,
      width: '158px',
      hideBelowPx: 1200,
      sortBy: ({ nextAtMs, paused }) => (paused ? null : nextAtMs),
      cell: (schedule) => <NextMoment schedule={schedule} />
    },
    {
      id: 'recent',
      header: texts.last30Runs,
      width: '168px',
      hideBelowPx: 480,
      sortBy: ({ recent }) => -recent.filter(({ outcome }) => outcome === 'failed').length,
      cell: ({ recent }) => <RunBars firings={recent} />
    },
    {
      id: 'overlap',
      header: texts.overlap,
      width: '104px',
      hideBelowPx: 1020,
      sortBy: ({ overlap }) => overlap,
      cell: ({ overlap }) => (
        <span className={`dim ${classes.twoLines} clamp`} title={OVERLAP_WORDS[overlap].text}>
          {OVERLAP_WORDS[overlap].word}
        </span>
      )
    }
  ]
}

function Marks({ schedule }: { schedule: Schedule }) {
  const missed = missedLately(schedule)
  const { backfill } = schedule
  return (
    <>
      {missed > 0 && <span className={`${classes.mark} fixed tone-bad`}>{texts.missedMark(missed)}</span>}
      {schedule.pausedBy === 'failures' && (
        <span className={`${classes.mark} fixed tone-bad`}>{texts.failures(schedule.failuresInARow)}</span>
      )}
      {backfill?.state === 'running' && (
        <span className={`${classes.mark} fixed tone-run`}>{texts.backfillMark(backfill.ended, backfill.total)}</span>
      )}
    </>
  )
}

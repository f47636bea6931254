import { Button, SegmentedControl } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Firing, ScheduleId } from '../../../../shared/contract/index.ts'
import { formatRuntime } from '../../../../shared/time.ts'
import { useApi } from '../../../api/api.tsx'
import { optionsOf } from '../../../ui/fields/choice-field.tsx'
import { PAGED } from '../../../ui/list-screen.tsx'
import { EmptyState, QueryState } from '../../../ui/states.tsx'
import { formatInstant } from '../../../ui/time.tsx'
import { firingWords, RunIcon, lookOf } from '../run-look.tsx'
import { formatMoment } from '../zoned-time.ts'
import classes from './firing-list.module.css'
import { texts } from '../../../../shared/texts/ui/schedules.ts'

const PAGE_ROWS = 30
const SHOWN = { all: undefined, notRun: ['missed', 'skipped', 'failed'] } as const

/** Why a run did not start at its scheduled time. */
const REASON_WORDS: Partial<Record<Firing['reason'], string>> = {
  caught_up: texts.caughtUp,
  run_now: texts.manual,
  backfill: texts.backfilled,
  buffered: texts.delayedByOverlap
}

export function FiringList({ scheduleId, zone }: { scheduleId: ScheduleId; zone: string }) {
  const { query } = useApi()
  const [shown, setShown] = useState<keyof typeof SHOWN>('all')
  const firings = useInfiniteQuery(
    query.schedules.firings.infiniteOptions({
      input: (before: number | undefined) => ({
        scheduleId,
        state: SHOWN[shown] === undefined ? undefined : [...SHOWN[shown]],
        before,
        limit: PAGE_ROWS
      }),
      ...PAGED
    })
  )
  const nowMs = Date.now()
  return (
    <>
      <SegmentedControl
        aria-label={texts.runFilter}
        w="fit-content"
        my={4}
        value={shown}
        onChange={setShown}
        data={optionsOf({ all: texts.all, notRun: texts.notRun })}
      />
      <QueryState query={firings} what={texts.theHistory} rows={4}>
        {({ pages }) => {
          const rows = pages.flatMap((page) => page.firings)
          if (rows.length === 0) return <EmptyState title={shown === 'all' ? texts.noRunsYet : texts.nothingMissed} />
          return (
            <ol className={classes.firings} aria-label={texts.history}>
              {rows.map((firing) => (
                <FiringRow key={firing.id} firing={firing} zone={zone} nowMs={nowMs} />
              ))}
            </ol>
          )
        }}
      </QueryState>
      {firings.hasNextPage && (
        <Button
          variant="subtle"
          color="gray"
          loading={firings.isFetchingNextPage}
          onClick={() => void firings.fetchNextPage()}
        >
          {texts.showMore}
        </Button>
      )}
    </>
  )
}

/** Omits the seconds of a manual run, which are arbitrary. The tooltip shows them. */
const wholeMinute = (atMs: number) => Math.floor(atMs / 60_000) * 60_000

function FiringRow({ firing, zone, nowMs }: { firing: Firing; zone: string; nowMs: number }) {
  const [first] = firing.jobIds
  const word = REASON_WORDS[firing.reason]
  // If the run started as scheduled, the text above is enough.
  const isLate = firing.reason === 'caught_up' || firing.reason === 'buffered'
  const showsText = firing.text !== '' && (firing.state !== 'fired' || isLate)
  const text = firingWords(firing)
  return (
    <li>
      <RunIcon look={lookOf(firing)} size={14} />
      <time dateTime={new Date(firing.nominalMs).toISOString()} title={texts.firedAt(formatInstant(firing.atMs))}>
        {formatMoment(firing.reason === 'run_now' ? wholeMinute(firing.nominalMs) : firing.nominalMs, zone, nowMs)}
      </time>
      <span className="quiet-links ellipsis">
        {first === undefined ? (
          <span className="dim">{text}</span>
        ) : (
          <Link to="/jobs" search={{ job: first, schedule: firing.scheduleId }}>
            {text}
          </Link>
        )}
        {firing.jobIds.length > 1 && <span className="faint"> · {texts.jobCount(firing.jobIds.length)}</span>}
        {word !== undefined && <span className="faint"> · {word}</span>}
      </span>
      <span className="faint">{firing.durationMs === null ? '' : formatRuntime(firing.durationMs)}</span>
      {showsText && <p className="dim">{firing.text}</p>}
    </li>
  )
}

import { Flex, SegmentedControl } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { IconChecks } from '@tabler/icons-react'
import { useInfiniteQuery, useQueries } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import type { Firing } from '../../../../shared/contract/index.ts'
import { shortId } from '../../../../shared/ids.ts'
import { useApi } from '../../../api/api.tsx'
import { ListScreen, usePages, PAGED } from '../../../ui/list-screen.tsx'
import { EmptyState } from '../../../ui/states.tsx'
import { formatInstant, RelativeTime } from '../../../ui/time.tsx'
import { useStable } from '../../../ui/use-stable.ts'
import type { Column } from '../../../ui/table/column.ts'
import { firingWords, RUN_LOOKS, RunIcon, lookOf } from '../run-look.tsx'
import { ZoneText } from '../schedule-columns.tsx'
import { SchedulesTabs } from '../schedules-tabs.tsx'
import classes from '../schedules-screen.module.css'
import { localZone } from '../../../ui/moment.ts'
import { formatMoment } from '../zoned-time.ts'
import { optionsOf } from '../../../ui/fields/choice-field.tsx'
import { texts } from '../../../../shared/texts/ui/schedules.ts'

const STATES = {
  failed: ['missed', 'failed'],
  skipped: ['skipped'],
  all: ['missed', 'failed', 'skipped']
} as const
const STATE_WORDS: Record<Shown, string> = { failed: texts.missedOrFailed, skipped: texts.skipped, all: texts.all }
type Shown = keyof typeof STATES
const PAGE_ROWS = 200
const NARROW_ROW_PX = 66

export function MissedScreen() {
  const { query } = useApi()
  const navigate = useNavigate()
  const [shown, setShown] = useState<Shown>('failed')
  const firings = useInfiniteQuery(
    query.schedules.firings.infiniteOptions({
      input: (before: number | undefined) => ({ state: [...STATES[shown]], before, limit: PAGE_ROWS }),
      ...PAGED
    })
  )
  const { rows, loadMore } = usePages(firings, 'firings')
  const scheduleIds = [...new Set(rows.map(({ scheduleId }) => scheduleId))].slice(0, 200)
  const schedules = useQueries({
    queries: scheduleIds.map((id) => query.schedules.get.queryOptions({ input: { id }, retry: false }))
  })
  const known = useStable(
    schedules.flatMap(({ data }) => (data ? [{ id: data.id, name: data.name, zone: data.zone }] : []))
  )
  const isNarrow = useMediaQuery('(max-width: 640px)', false, { getInitialValueInEffect: false })
  const columns = useMemo(() => {
    const byId = new Map<string, (typeof known)[number]>(known.map((each) => [each.id, each]))
    return (isNarrow ? narrowColumns : missedColumns)(
      (id) => byId.get(id)?.name ?? shortId(id),
      (id) => byId.get(id)?.zone ?? localZone()
    )
  }, [known, isNarrow])
  const count = rows.reduce((sum, firing) => sum + firing.count, 0)
  return (
    <ListScreen
      title={texts.schedules}
      keysTitle={texts.missedRuns}
      views={<SchedulesTabs />}
      note={firings.data && (count === 0 ? texts.noMissedRunsNote : texts.missedCount(count))}
      actions={
        <SegmentedControl
          className={classes.filter}
          aria-label={texts.runFilter}
          value={shown}
          onChange={setShown}
          data={optionsOf(STATE_WORDS)}
        />
      }
      query={firings}
      what={texts.missedList}
      table={{
        label: texts.missedRuns,
        rows,
        rowId,
        columns,
        rowPx: isNarrow ? NARROW_ROW_PX : undefined,
        onOpen: ({ scheduleId }) => void navigate({ to: '/schedules', search: { schedule: scheduleId } }),
        onEndReached: loadMore,
        empty: (
          <EmptyState icon={<IconChecks size={32} stroke={1.3} />} title={texts.noMissedRuns}>
            {texts.noMissedRunsHint}
          </EmptyState>
        )
      }}
    />
  )
}

const rowId = ({ id }: Firing) => String(id)

const whyWords = ({ text, reason }: Firing) => (text === '' ? reason : text)

/** For phones: everything in one column, with the reason at the bottom. */
function narrowColumns(nameOf: (id: string) => string, zoneOf: (id: string) => string): readonly Column<Firing>[] {
  return [
    {
      id: 'all',
      header: texts.missedRunsAndReasons,
      width: 'minmax(0, 1fr)',
      cell: (firing) => (
        <Flex component="span" direction="column" gap={3} className={classes.missed}>
          <Flex component="span" align="center" gap={6} miw={0}>
            <span title={firingWords(firing)}>
              <RunIcon look={lookOf(firing)} size={14} />
            </span>
            <strong className="ellipsis">{nameOf(firing.scheduleId)}</strong>
            {firing.count > 1 && <span className="dim">× {firing.count}</span>}
            <time className="fixed push dim" title={zoneOf(firing.scheduleId)}>
              {formatMoment(firing.nominalMs, zoneOf(firing.scheduleId), Date.now())}
            </time>
          </Flex>
          <span className={`dim ${classes.twoLines} clamp`}>{whyWords(firing)}</span>
        </Flex>
      )
    }
  ]
}

function missedColumns(nameOf: (id: string) => string, zoneOf: (id: string) => string): readonly Column<Firing>[] {
  return [
    {
      id: 'state',
      header: texts.what,
      width: '124px',
      sortBy: ({ state }) => state,
      cell: (firing) => (
        <Flex component="span" align="center" gap={6} className={`tone-${RUN_LOOKS[lookOf(firing)].tone}`}>
          <RunIcon look={lookOf(firing)} size={14} />
          {firingWords(firing)}
        </Flex>
      )
    },
    {
      id: 'schedule',
      header: texts.schedule,
      width: 'minmax(110px, 1fr)',
      sortBy: ({ scheduleId }) => nameOf(scheduleId),
      cell: ({ scheduleId }) => (
        <Link
          to="/schedules"
          search={{ schedule: scheduleId }}
          title={nameOf(scheduleId)}
          style={{ color: 'inherit', textDecoration: 'none' }}
        >
          {nameOf(scheduleId)}
        </Link>
      )
    },
    {
      id: 'moment',
      header: texts.scheduledFor,
      width: '140px',
      sortBy: ({ nominalMs }) => nominalMs,
      cell: ({ nominalMs, scheduleId }) => (
        <span title={texts.hereAt(zoneOf(scheduleId), formatInstant(nominalMs))}>
          {formatMoment(nominalMs, zoneOf(scheduleId), Date.now())}
        </span>
      )
    },
    {
      id: 'zone',
      header: texts.zone,
      width: 'minmax(112px, 0.7fr)',
      hideBelowPx: 760,
      sortBy: ({ scheduleId }) => zoneOf(scheduleId),
      cell: ({ scheduleId }) => <ZoneText zone={zoneOf(scheduleId)} />
    },
    {
      id: 'ago',
      header: texts.ago,
      width: '70px',
      hideBelowPx: 520,
      sortBy: ({ nominalMs }) => nominalMs,
      cell: ({ nominalMs }) => <RelativeTime atMs={nominalMs} />
    },
    {
      id: 'why',
      header: texts.why,
      width: 'minmax(200px, 2.6fr)',
      hideBelowPx: 620,
      cell: (firing) => (
        <span className={`dim ${classes.twoLines} clamp`} title={firing.text}>
          {whyWords(firing)}
        </span>
      )
    }
  ]
}

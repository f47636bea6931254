import { useQuery } from '@tanstack/react-query'
import { useApi } from '../../api/api.tsx'
import { useConnection } from '../../state/connection.ts'
import { useNow } from '../../ui/clock.ts'
import { formatMoment } from '../../ui/moment.ts'
import { Panel, PanelsScreen, ScreenHead } from '../../ui/panel.tsx'
import { QueryState } from '../../ui/states.tsx'
import { FirstRun, useIsFirstRun } from './first-run.tsx'
import { FleetMap } from './fleet-map.tsx'
import { LatestFailures } from './latest-failures.tsx'
import { Problems } from './problems.tsx'
import { IconBug } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import type { ErrorGroup, Figures } from '../../../shared/contract/index.ts'
import { formatCount } from '../../ui/numbers.ts'
import { RelativeTime } from '../../ui/time.tsx'
import latestFailuresClasses from './latest-failures.module.css'
import type { ReactNode } from 'react'
import type { JobsSearch } from '../../state/search.ts'
import { splitSlots } from '../../ui/slots-in-use.ts'
import { Sparkline } from '../../ui/charts/sparkline.tsx'
import type { Tone } from '../../ui/status.tsx'
import figureCardsClasses from './figure-cards.module.css'
import { locale } from '../../../shared/locale.ts'
import { texts } from '../../../shared/texts/ui/overview.ts'

export function OverviewScreen() {
  const { query } = useApi()
  const status = useQuery(query.system.status.queryOptions())
  const nodes = useQuery(query.nodes.list.queryOptions())
  const firstRun = useIsFirstRun()
  return (
    <PanelsScreen>
      <ScreenHead title={texts.overview} note={<AsOf />} />
      {firstRun && status.data && <FirstRun python={status.data.python} />}
      <QueryState query={status} what={texts.engineState} rows={4}>
        {({ figures, problems }) => (
          <>
            <FigureCards figures={figures} />
            {!(firstRun && problems.every(({ mend }) => mend === 'create_environment')) && (
              <Problems problems={problems} />
            )}
          </>
        )}
      </QueryState>
      <QueryState query={nodes} what={texts.theNodes} rows={4}>
        {(data) => <FleetMap nodes={data.nodes} />}
      </QueryState>
      <NewErrors />
      <LatestFailures />
    </PanelsScreen>
  )
}

function AsOf() {
  const nowMs = useNow()
  const { state, sinceMs } = useConnection()
  if (state !== 'live') return texts.stateAsOf(formatMoment(sinceMs, nowMs))
  return texts.liveAt(new Date(nowMs).toLocaleTimeString(locale()))
}

const DAY_MS = 86_400_000
const SHOWN = 4
/**
 * The number of errors to check. The most recently seen errors come first, so new ones are usually among these.
 */
const LOOKED_AT = 100

/** Errors that are new or were reopened within a day: each points to a recent change. */
function NewErrors() {
  const { query } = useApi()
  const { data } = useQuery(query.errors.list.queryOptions({ input: { state: 'open', limit: LOOKED_AT } }))
  const sinceMs = useNow() - DAY_MS
  const groups = data?.groups ?? []
  const isReopened = ({ reopenedAtMs }: ErrorGroup) => reopenedAtMs !== null && reopenedAtMs >= sinceMs
  const news = groups.filter((group) => isReopened(group) || group.firstSeenMs >= sinceMs)
  if (news.length === 0) return null
  const reopened = news.filter(isReopened).length
  return (
    <Panel
      title={texts.newErrors(news.length - reopened, reopened, news.length === LOOKED_AT)}
      flush
      aside={
        <Link to="/errors" className={`${latestFailuresClasses.all} link`}>
          {texts.showAll}
        </Link>
      }
    >
      <ul className="divided">
        {news.slice(0, SHOWN).map((group) => (
          <li key={group.id} className={latestFailuresClasses.failure}>
            <IconBug size={14} className="tone-bad" aria-hidden />
            <Link to="/errors" search={{ group: group.id }} className="ellipsis link">
              <span className="dim">{group.project}/</span>
              {group.spiders.join(', ')}
            </Link>
            <span className="ellipsis mono dim" title={group.title}>
              {group.title}
            </span>
            <span className={`faint ${latestFailuresClasses.node}`}>
              {isReopened(group) ? texts.errorReopened : texts.errorNew}
            </span>
            <span className="faint right">
              <RelativeTime atMs={group.lastSeenMs} />
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function FigureCards({ figures }: { figures: Figures }) {
  const { query } = useApi()
  const { data } = useQuery(query.system.history.queryOptions())
  const samples = data?.samples ?? []
  const slots = splitSlots(figures.slotsUsed, figures.slotsTotal)
  const line = (valueOf: (sample: Figures) => number) => samples.map(valueOf)
  return (
    <div className={figureCardsClasses.cards}>
      <Card
        title={texts.slotsInUse}
        value={slots.inUse}
        unit={`/${formatCount(figures.slotsTotal)}${slots.over === null ? '' : ` ${slots.over}`}`}
        hint={slots.hint}
        tone="run"
        line={line(({ slotsUsed }) => slotsUsed)}
        search={{ status: ['running', 'starting'] }}
      />
      <Card
        title={texts.queue}
        value={figures.queued}
        unit={figures.paused ? texts.queuePaused : texts.queueWaiting}
        tone="wait"
        line={line(({ queued }) => queued)}
        search={{ status: ['queued'] }}
      />
      <Card
        title={texts.finished}
        value={figures.finishedLastHour}
        unit={texts.perHour}
        tone="ok"
        line={line(({ finishedLastHour }) => finishedLastHour)}
        search={{ status: ['succeeded'], sinceHours: 1 }}
      />
      <Card
        title={texts.failedRuns}
        value={figures.failedLastHour}
        unit={texts.perHour}
        tone="bad"
        line={line(({ failedLastHour }) => failedLastHour)}
        search={{ status: ['failed'], sinceHours: 1 }}
      />
    </div>
  )
}

interface CardProps {
  title: string
  value: number
  unit: ReactNode
  hint?: string | undefined
  tone: Tone
  line: number[]
  search: JobsSearch
}

function Card({ title, value, unit, hint, tone, line, search }: CardProps) {
  return (
    <Link to="/jobs" search={search} className={`${figureCardsClasses.card} card`} title={hint}>
      <h2>{title}</h2>
      <span className={figureCardsClasses.value}>
        {formatCount(value)}
        <small>{unit}</small>
      </span>
      <span className={figureCardsClasses.line}>
        <Sparkline values={line} tone={tone} />
      </span>
    </Link>
  )
}

import { Button, Flex, SegmentedControl, Stack } from '@mantine/core'
import { IconAlertTriangle, IconPrinter } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { AlertReport } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import type { AlertReportSearch } from '../../state/search.ts'
import { useNow } from '../../ui/clock.ts'
import { formatBytes, formatCount, plural } from '../../ui/numbers.ts'
import { FieldRow, Panel, ScreenHead, PanelsScreen } from '../../ui/panel.tsx'
import { SpiderName } from '../../ui/spider-name.tsx'
import { QueryState } from '../../ui/states.tsx'
import { formatInstant } from '../../ui/time.tsx'
import { formatMoment } from '../../ui/moment.ts'
import { lengthWords } from './alert-words.ts'
import classes from './report-screen.module.css'
import { AlertsTabs } from './alerts-tabs.tsx'

const route = getRouteApi('/alerts/report')
/** Runs end all the time, and a report goes over all of them. */
const EVERY_MS = 60_000
const DAY_MS = 86_400_000
const PERIODS = [
  { value: '1', label: 'Last day' },
  { value: '7', label: 'Last 7 days' }
]

/** What channels get of a day or a week, as a page that can be printed. */
export function ReportScreen() {
  const { query } = useApi()
  const { days }: AlertReportSearch = route.useSearch()
  const navigate = route.useNavigate()
  const nowMs = useNow()
  const report = useQuery({
    ...query.alerts.report.queryOptions({ input: { days: days ?? 1 } }),
    placeholderData: keepPreviousData,
    ...{ staleTime: EVERY_MS, refetchInterval: EVERY_MS }
  })
  const fromMs = report.data?.fromMs
  return (
    <PanelsScreen>
      <div className={classes.screenHead}>
        <ScreenHead
          title="Alerts"
          views={<AlertsTabs />}
          note={fromMs === undefined ? undefined : `since ${formatMoment(fromMs - (fromMs % 60_000), nowMs)}`}
        >
          <SegmentedControl
            aria-label="Period"
            size="xs"
            value={String(days ?? 1)}
            onChange={(value) => void navigate({ search: { days: value === '7' ? 7 : undefined }, replace: true })}
            data={PERIODS}
          />
          <Button
            leftSection={<IconPrinter size={14} />}
            disabled={report.data === undefined}
            onClick={() => window.print()}
          >
            Print
          </Button>
        </ScreenHead>
      </div>
      <QueryState query={report} what="the report" rows={10}>
        {(data) => <Report report={data} isOld={report.isPlaceholderData} />}
      </QueryState>
    </PanelsScreen>
  )
}

function Report({ report, isOld }: { report: AlertReport; isOld: boolean }) {
  const { fromMs, untilMs, runs, runsBefore, failing, newErrors, unusual, slowest, service, isComplete } = report
  // Not of the address: this may still be the report of before.
  const days = Math.round((untilMs - fromMs) / DAY_MS)
  const before = days === 1 ? 'the day before' : 'the 7 days before'
  const figures = [
    { word: 'Runs', count: sumOf(runs), was: sumOf(runsBefore), isBad: false },
    { word: 'Succeeded', count: runs.succeeded, was: runsBefore.succeeded, isBad: false },
    { word: 'Failed', count: runs.failed, was: runsBefore.failed, isBad: true },
    { word: 'Lost', count: runs.lost, was: runsBefore.lost, isBad: true },
    { word: 'Unclear', count: runs.unclear, was: runsBefore.unclear, isBad: false },
    { word: 'Cancelled', count: runs.cancelled, was: runsBefore.cancelled, isBad: false }
  ]
  const sinceHours = days * 24
  return (
    <Flex
      component="article"
      direction="column"
      gap={12}
      className={classes.report}
      aria-label="Report"
      aria-busy={isOld}
    >
      <header className={classes.printed}>
        <h1>Scrapdeck report, last {days === 1 ? 'day' : '7 days'}</h1>
        <p>
          {formatInstant(fromMs)} to {formatInstant(untilMs)}
        </p>
      </header>
      <dl className={`${classes.figures} card`}>
        {figures.map(({ word, count, was, isBad }) => (
          <div key={word}>
            <dt>{word}</dt>
            <dd>{formatCount(count)}</dd>
            <dd className={isBad && count > was ? 'tone-bad' : 'dim'}>{againstWords(count, was, before)}</dd>
          </div>
        ))}
      </dl>
      {!isComplete && (
        <Flex component="p" gap={6} className={classes.note}>
          <IconAlertTriangle size={14} className="tone-wait" aria-hidden />
          There were too many jobs to look at all of them. The lists of spiders below are not complete; the counts above
          are.
        </Flex>
      )}
      <Stack gap={12}>
        <List
          title="Failing spiders"
          none="No run failed or was lost."
          rows={failing.map(({ project, spider, failed, runs: all, reason }) => [
            <Link
              key="spider"
              to="/jobs"
              search={{ project, spider, status: ['failed', 'lost'], sinceHours }}
              className={classes.link}
            >
              <SpiderName project={project} spider={spider} />
            </Link>,
            reason,
            `${formatCount(failed)} of ${plural(all, 'run')}`
          ])}
        />
        <List
          title="New errors"
          note={newErrors.count > newErrors.groups.length && `${formatCount(newErrors.count)}, the most frequent:`}
          none="No new errors."
          rows={newErrors.groups.map(({ id, project, title, runs: all }) => [
            project,
            <Link key="error" to="/errors" search={{ group: id }} className={classes.link}>
              {title}
            </Link>,
            `in ${plural(all, 'run')}`
          ])}
        />
        <List
          title="Unlike earlier runs"
          none="Every run that succeeded was like earlier ones of its spider."
          rows={unusual.map(({ project, spider, text }) => [
            <Link key="spider" to="/jobs" search={{ project, spider, sinceHours }} className={classes.link}>
              <SpiderName project={project} spider={spider} />
            </Link>,
            text,
            null
          ])}
        />
        <List
          title="Slowest spiders"
          none="No run ended."
          rows={slowest.map(({ project, spider, runs: all, medianMs, longestMs }) => [
            <Link key="spider" to="/jobs" search={{ project, spider, sinceHours }} className={classes.link}>
              <SpiderName project={project} spider={spider} />
            </Link>,
            `median ${lengthWords(medianMs)}, longest ${lengthWords(longestMs)}`,
            plural(all, 'run')
          ])}
        />
        {service !== null && <Service service={service} />}
      </Stack>
    </Flex>
  )
}

interface ListProps {
  title: string
  note?: string | false
  /** Said if there are no rows. */
  none: string
  /** What, more of it, how much. */
  rows: readonly (readonly [ReactNode, ReactNode, ReactNode])[]
}

function List({ title, note, none, rows }: ListProps) {
  return (
    <Panel title={title} {...(note && { note })} flush>
      {rows.length === 0 ? (
        <p className={`${classes.none} dim`}>{none}</p>
      ) : (
        <table className={classes.table} aria-label={title}>
          <tbody>
            {rows.map(([what, more, count], index) => (
              <tr key={index}>
                <td>{what}</td>
                <td>{more}</td>
                <td>{count}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  )
}

/** The current state, except for the alerts. Only for users who see all projects. */
function Service({ service }: { service: NonNullable<AlertReport['service']> }) {
  const { alertsFired, nodes, nodesDown, queued, databaseBytes, logBytes, diskFreePercent } = service
  return (
    <Panel title="Service">
      <div className={classes.facts}>
        <FieldRow label="Alerts">{formatCount(alertsFired)} fired</FieldRow>
        <FieldRow label="Nodes">
          {formatCount(nodes)}
          {nodesDown.length === 0 ? (
            ', none down'
          ) : (
            <>
              , <span className="tone-bad">{formatCount(nodesDown.length)} down</span>: {nodesDown.join(', ')}
            </>
          )}
        </FieldRow>
        <FieldRow label="Queue">{plural(queued, 'job')} waiting</FieldRow>
        <FieldRow label="Database">{formatBytes(databaseBytes)}</FieldRow>
        <FieldRow label="Logs">{formatBytes(logBytes)}</FieldRow>
        <FieldRow label="Disk">{diskFreePercent === null ? 'not known' : `${diskFreePercent} % free`}</FieldRow>
      </div>
    </Panel>
  )
}

const sumOf = (runs: AlertReport['runs']) => Object.values(runs).reduce((sum, count) => sum + count, 0)

/** `4 more than the day before` */
function againstWords(count: number, was: number, before: string): string {
  if (count === was) return `same as ${before}`
  return `${formatCount(Math.abs(count - was))} ${count > was ? 'more' : 'fewer'} than ${before}`
}

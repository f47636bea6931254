import { Button, Flex, SegmentedControl, Stack } from '@mantine/core'
import { IconAlertTriangle, IconPrinter } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { AlertReport } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import type { AlertReportSearch } from '../../state/search.ts'
import { useNow } from '../../ui/clock.ts'
import { formatBytes, formatCount } from '../../ui/numbers.ts'
import { FieldRow, Panel, ScreenHead, PanelsScreen } from '../../ui/panel.tsx'
import { SpiderName } from '../../ui/spider-name.tsx'
import { QueryState } from '../../ui/states.tsx'
import { formatInstant } from '../../ui/time.tsx'
import { formatMoment } from '../../ui/moment.ts'
import { lengthWords } from './alert-words.ts'
import classes from './report-screen.module.css'
import { AlertsTabs } from './alerts-tabs.tsx'
import { texts } from '../../../shared/texts/ui/alerts.ts'

const route = getRouteApi('/alerts/report')
/** The polling interval. A report scans all runs, so refetching it on every change would be too expensive. */
const EVERY_MS = 60_000
const DAY_MS = 86_400_000
const PERIODS = [
  { value: '1', label: texts.lastDay },
  { value: '7', label: texts.last7Days }
]

export function ReportScreen() {
  const { query } = useApi()
  const { days }: AlertReportSearch = route.useSearch()
  const navigate = route.useNavigate()
  const nowMs = useNow()
  const report = useQuery({
    ...query.alerts.report.queryOptions({ input: { days: days ?? 1 } }),
    placeholderData: keepPreviousData,
    staleTime: EVERY_MS,
    refetchInterval: EVERY_MS
  })
  const fromMs = report.data?.fromMs
  return (
    <PanelsScreen>
      <div className={classes.screenHead}>
        <ScreenHead
          title={texts.alerts}
          views={<AlertsTabs />}
          note={fromMs === undefined ? undefined : texts.sinceTime(formatMoment(fromMs - (fromMs % 60_000), nowMs))}
        >
          <SegmentedControl
            aria-label={texts.period}
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
            {texts.print}
          </Button>
        </ScreenHead>
      </div>
      <QueryState query={report} what={texts.theReport} rows={10}>
        {(data) => <Report report={data} isOld={report.isPlaceholderData} />}
      </QueryState>
    </PanelsScreen>
  )
}

function Report({ report, isOld }: { report: AlertReport; isOld: boolean }) {
  const { fromMs, untilMs, runs, runsBefore, failing, newErrors, unusual, slowest, service, isComplete } = report
  // From the report, not the URL, because the previous report can still be shown.
  const days = Math.round((untilMs - fromMs) / DAY_MS)
  const compared = days === 1 ? texts.comparedWithDayBefore : texts.comparedWithWeekBefore
  const figures = [
    { word: texts.runs, count: sumOf(runs), was: sumOf(runsBefore), isBad: false },
    { word: texts.succeededRuns, count: runs.succeeded, was: runsBefore.succeeded, isBad: false },
    { word: texts.failedRuns, count: runs.failed, was: runsBefore.failed, isBad: true },
    { word: texts.lostRuns, count: runs.lost, was: runsBefore.lost, isBad: true },
    { word: texts.unclearRuns, count: runs.unclear, was: runsBefore.unclear, isBad: false },
    { word: texts.cancelledRuns, count: runs.cancelled, was: runsBefore.cancelled, isBad: false }
  ]
  const sinceHours = days * 24
  return (
    <Flex
      component="article"
      direction="column"
      gap={12}
      className={classes.report}
      aria-label={texts.report}
      aria-busy={isOld}
    >
      <header className={classes.printed}>
        <h1>{days === 1 ? texts.reportOfDay : texts.reportOfWeek}</h1>
        <p>{texts.timeSpan(formatInstant(fromMs), formatInstant(untilMs))}</p>
      </header>
      <dl className={`${classes.figures} card`}>
        {figures.map(({ word, count, was, isBad }) => (
          <div key={word}>
            <dt>{word}</dt>
            <dd>{formatCount(count)}</dd>
            <dd className={isBad && count > was ? 'tone-bad' : 'dim'}>{compared(count - was)}</dd>
          </div>
        ))}
      </dl>
      {!isComplete && (
        <Flex component="p" gap={6} className={classes.note}>
          <IconAlertTriangle size={14} className="tone-wait" aria-hidden />
          {texts.reportIncomplete}
        </Flex>
      )}
      <Stack gap={12}>
        <List
          title={texts.failingSpiders}
          none={texts.noFailingSpiders}
          rows={failing.map(({ project, spider, failed, runs: all, reason }) => [
            <Link
              key="spider"
              to="/jobs"
              search={{ project, spider, status: ['failed', 'lost'], sinceHours }}
              className="link"
            >
              <SpiderName project={project} spider={spider} />
            </Link>,
            reason,
            texts.failedOfRuns(failed, all)
          ])}
        />
        <List
          title={texts.newErrors}
          note={newErrors.count > newErrors.groups.length && texts.mostFrequent(newErrors.count)}
          none={texts.noNewErrors}
          rows={newErrors.groups.map(({ id, project, title, runs: all }) => [
            project,
            <Link key="error" to="/errors" search={{ group: id }} className="link">
              {title}
            </Link>,
            texts.inRuns(all)
          ])}
        />
        <List
          title={texts.unusualRuns}
          none={texts.noUnusualRuns}
          rows={unusual.map(({ project, spider, text }) => [
            <Link key="spider" to="/jobs" search={{ project, spider, sinceHours }} className="link">
              <SpiderName project={project} spider={spider} />
            </Link>,
            text,
            null
          ])}
        />
        <List
          title={texts.slowestSpiders}
          none={texts.noRunEnded}
          rows={slowest.map(({ project, spider, runs: all, medianMs, longestMs }) => [
            <Link key="spider" to="/jobs" search={{ project, spider, sinceHours }} className="link">
              <SpiderName project={project} spider={spider} />
            </Link>,
            texts.runtimes(lengthWords(medianMs), lengthWords(longestMs)),
            texts.runCount(all)
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
  none: string
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

/** Only for users who see all projects. */
function Service({ service }: { service: NonNullable<AlertReport['service']> }) {
  const { alertsFired, nodes, nodesDown, queued, databaseBytes, logBytes, diskFreePercent } = service
  return (
    <Panel title={texts.service}>
      <div className={classes.facts}>
        <FieldRow label={texts.alerts}>{texts.alertsFired(alertsFired)}</FieldRow>
        <FieldRow label={texts.nodes}>
          {nodesDown.length === 0
            ? texts.nodesUp(nodes)
            : texts.nodesDown(
                nodes,
                <span className="tone-bad">{texts.downCount(nodesDown.length)}</span>,
                nodesDown.join(', ')
              )}
        </FieldRow>
        <FieldRow label={texts.queue}>{texts.jobsWaiting(queued)}</FieldRow>
        <FieldRow label={texts.database}>{formatBytes(databaseBytes)}</FieldRow>
        <FieldRow label={texts.logs}>{formatBytes(logBytes)}</FieldRow>
        <FieldRow label={texts.disk}>
          {diskFreePercent === null ? texts.diskUnknown : texts.diskFree(diskFreePercent)}
        </FieldRow>
      </div>
    </Panel>
  )
}

const sumOf = (runs: AlertReport['runs']) => Object.values(runs).reduce((sum, count) => sum + count, 0)

import { Flex } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import type { Job, RunFigures, RunSeries } from '../../../shared/contract/index.ts'
import { LineChart } from '../../ui/charts/line-chart.tsx'
import { formatBytes, formatCount } from '../../ui/numbers.ts'
import { RelativeTime } from '../../ui/time.tsx'
import classes from './job-detail-pane.module.css'
import { texts } from '../../../shared/texts/ui/jobs.ts'

const MINUTE_MS = 60_000

const NOTES: Record<string, string> = {
  retries: texts.retriedRequests,
  gaveUpRetries: texts.requestsGivenUpAfterRetries,
  timeouts: texts.timeouts,
  downloadErrors: texts.failedDownloads,
  redirects: texts.redirects,
  duplicates: texts.duplicateRequestsFiltered,
  offsite: texts.offsiteRequestsFiltered,
  robotsForbidden: texts.requestsForbiddenByRobotsTxt,
  ignoredResponses: texts.ignoredResponses,
  droppedItems: texts.droppedItems,
  deprecations: texts.deprecationWarnings,
  otherWarnings: texts.otherWarnings
}

export function JobProgress({ job, figures }: { job: Job; figures: RunFigures }) {
  const { responses, notes, latest, series, isPartial, isLive } = figures
  const statuses = Object.entries(responses).toSorted(([, one], [, other]) => other - one)
  const noted = Object.entries(notes).filter(([, count]) => count > 0)
  const versions = [
    figures.scrapyVersion === null ? null : texts.scrapyVersion(figures.scrapyVersion),
    figures.pythonVersion === null ? null : texts.pythonVersion(figures.pythonVersion)
  ].filter((words) => words !== null)
  return (
    <Flex aria-label={texts.progress} component="section" direction="column" gap={12} className={classes.usage}>
      {series !== null && <SeriesCharts series={series} job={job} figures={figures} />}
      {isPartial && <p className="tone-wait">{texts.partialFigures}</p>}
      <div>
        <h3>{texts.fromTheLog}</h3>
        <table className={classes.table}>
          <tbody>
            {statuses.map(([status, count]) => (
              <Row
                key={status}
                name={texts.responsesWithStatus(status)}
                isBad={/^[45]/.test(status)}
                value={formatCount(count)}
              />
            ))}
            {noted.map(([kind, count]) => (
              <Row key={kind} name={NOTES[kind] ?? kind} value={formatCount(count)} />
            ))}
            {isLive && figures.lastPageAtMs !== null && (
              <Row name={texts.lastPage} value={<RelativeTime atMs={figures.lastPageAtMs} ago />} />
            )}
            {isLive && figures.lastItemAtMs !== null && (
              <Row name={texts.lastItem} value={<RelativeTime atMs={figures.lastItemAtMs} ago />} />
            )}
            {figures.resumedWith !== null && <Row name={texts.resumed} value={figures.resumedWith} />}
            {figures.shutdownReason !== null && <Row name={texts.shutdown} value={figures.shutdownReason} />}
            {versions.length > 0 && <Row name={texts.versions} value={versions.join(', ')} />}
            <Row name={texts.log} value={texts.logSize(figures.lines, formatBytes(figures.bytes))} />
          </tbody>
        </table>
      </div>
      {job.state !== 'ended' && latest['crawl'] !== undefined && (
        <p className="mono tiny ellipsis dim" title={latest['crawl']}>
          {latest['crawl']}
        </p>
      )}
    </Flex>
  )
}

function Row({ name, value, isBad = false }: { name: string; value: ReactNode; isBad?: boolean }) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td className={isBad ? 'tone-bad' : undefined}>{value}</td>
    </tr>
  )
}

function SeriesCharts({ series, job, figures }: { series: RunSeries; job: Job; figures: RunFigures }) {
  const { isLive, pages } = figures
  const [lookAtMs, setLookAtMs] = useState<number | null>(null)
  const shared = {
    startedAtMs: Math.max(series.startMs, job.startedAtMs ?? 0),
    lookAtMs,
    onLook: setLookAtMs,
    format: (rate: number) => formatCount(Math.round(rate))
  }
  const pointsOf = (of: 'pages' | 'items' | 'errors') =>
    ratesOf(series, of, { startedAtMs: job.startedAtMs, endedAtMs: isLive ? null : job.endedAtMs })
  if (pointsOf('pages').length < 2) return null
  return (
    <>
      {(pages !== null || series.pages.at(-1) !== 0) && (
        <LineChart title={texts.pagesPerMinute} tone={isLive ? 'run' : 'off'} points={pointsOf('pages')} {...shared} />
      )}
      {series.items.at(-1) !== 0 && (
        <LineChart title={texts.itemsPerMinute} tone={isLive ? 'run' : 'off'} points={pointsOf('items')} {...shared} />
      )}
      {series.errors.at(-1) !== 0 && (
        <LineChart title={texts.errorsPerMinute} tone="bad" points={pointsOf('errors')} {...shared} />
      )}
    </>
  )
}

/**
 * Computes rates from the series of totals. Intervals follow the clock, so the first and the last can be longer than
 * the run's part in them. Their rates use only that part. Omits the last interval of a live run (`endedAtMs` null).
 */
export function ratesOf(
  series: RunSeries,
  of: 'pages' | 'items' | 'errors',
  { startedAtMs, endedAtMs }: Pick<Job, 'startedAtMs' | 'endedAtMs'>
) {
  const { startMs, widthMs } = series
  const last = series[of].length - 1
  const rates = series[of].map((total, index) => {
    let beginMs = startMs + index * widthMs
    let endMs = beginMs + widthMs
    const shortestMs = widthMs * SHORTEST_SHARE
    if (index === last && endedAtMs !== null) endMs = Math.max(beginMs + shortestMs, Math.min(endedAtMs, endMs))
    if (index === 0 && startedAtMs !== null) beginMs = Math.min(endMs - shortestMs, Math.max(startedAtMs, beginMs))
    return {
      atMs: endMs,
      value: Math.max(0, total - (series[of][index - 1] ?? 0)) / ((endMs - beginMs) / MINUTE_MS)
    }
  })
  return endedAtMs === null ? rates.slice(0, -1) : rates
}

/**
 * The minimum share of an interval over which to compute a rate. Over a shorter time, a rate is meaningless, because
 * the log's clock and the engine's differ.
 */
const SHORTEST_SHARE = 0.2

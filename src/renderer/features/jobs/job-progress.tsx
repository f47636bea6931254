import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import type { Job, RunFigures, RunSeries } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { LineChart } from '../../ui/charts/line-chart.tsx'
import { formatBytes, formatCount } from '../../ui/numbers.ts'
import { RelativeTime } from '../../ui/time.tsx'
import classes from './job-detail-pane.module.css'

const MINUTE_MS = 60_000

/** What the log of the newest run says: so far while it runs. */
export function useRunFigures(job: Job): RunFigures | undefined {
  const { query } = useApi()
  // A log that was not read yet is no error: its first progress fetches this again.
  return useQuery(query.jobs.figures.queryOptions({ input: { id: job.id }, retry: false })).data
}

const NOTES: Record<string, string> = {
  retries: 'Retried requests',
  gaveUpRetries: 'Requests given up after retries',
  timeouts: 'Timeouts',
  downloadErrors: 'Failed downloads',
  redirects: 'Redirects',
  duplicates: 'Duplicate requests filtered',
  offsite: 'Offsite requests filtered',
  robotsForbidden: 'Requests forbidden by robots.txt',
  ignoredResponses: 'Ignored responses',
  droppedItems: 'Dropped items',
  deprecations: 'Deprecation warnings',
  otherWarnings: 'Other warnings'
}

/** Pages and items over time, and what the log tells beside its counts. */
export function JobProgress({ job, figures }: { job: Job; figures: RunFigures }) {
  const { responses, notes, latest, series, isPartial, isLive } = figures
  const statuses = Object.entries(responses).toSorted(([, one], [, other]) => other - one)
  const noted = Object.entries(notes).filter(([, count]) => count > 0)
  const versions = [
    figures.scrapyVersion === null ? null : `Scrapy ${figures.scrapyVersion}`,
    figures.pythonVersion === null ? null : `Python ${figures.pythonVersion}`
  ].filter((words) => words !== null)
  return (
    <section aria-label="Progress" className={classes.usage}>
      {series !== null && series.pages.length > 1 && <SeriesCharts series={series} isLive={isLive} />}
      {isPartial && <p className="tone-wait">Parts of the log could not be read: these figures may be too low.</p>}
      <div>
        <h3>From the log</h3>
        <table className={classes.table}>
          <tbody>
            {statuses.map(([status, count]) => (
              <Row key={status} name={`Responses ${status}`} isBad={/^[45]/.test(status)} value={formatCount(count)} />
            ))}
            {noted.map(([kind, count]) => (
              <Row key={kind} name={NOTES[kind] ?? kind} value={formatCount(count)} />
            ))}
            {isLive && figures.lastPageAtMs !== null && (
              <Row name="Last page" value={<RelativeTime atMs={figures.lastPageAtMs} suffix=" ago" />} />
            )}
            {isLive && figures.lastItemAtMs !== null && (
              <Row name="Last item" value={<RelativeTime atMs={figures.lastItemAtMs} suffix=" ago" />} />
            )}
            {figures.resumedWith !== null && <Row name="Resumed" value={figures.resumedWith} />}
            {figures.shutdownReason !== null && <Row name="Shutdown" value={figures.shutdownReason} />}
            {versions.length > 0 && <Row name="Versions" value={versions.join(', ')} />}
            <Row name="Log" value={`${formatCount(figures.lines)} lines, ${formatBytes(figures.bytes)}`} />
          </tbody>
        </table>
      </div>
      {job.state !== 'ended' && latest['crawl'] !== undefined && (
        <p className={`mono ellipsis ${classes.latest}`} title={latest['crawl']}>
          {latest['crawl']}
        </p>
      )}
    </section>
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

function SeriesCharts({ series, isLive }: { series: RunSeries; isLive: boolean }) {
  const [lookAtMs, setLookAtMs] = useState<number | null>(null)
  const shared = {
    startedAtMs: series.startMs,
    lookAtMs,
    onLook: setLookAtMs,
    format: (rate: number) => formatCount(Math.round(rate))
  }
  return (
    <>
      <LineChart title="Pages per minute" tone={isLive ? 'run' : 'off'} points={ratesOf(series, 'pages')} {...shared} />
      {series.items.at(-1) !== 0 && (
        <LineChart
          title="Items per minute"
          tone={isLive ? 'run' : 'off'}
          points={ratesOf(series, 'items')}
          {...shared}
        />
      )}
      {series.errors.at(-1) !== 0 && (
        <LineChart title="Errors per minute" tone="bad" points={ratesOf(series, 'errors')} {...shared} />
      )}
    </>
  )
}

/** The series counts from the start; a rate shows when it got slower. */
export function ratesOf(series: RunSeries, of: 'pages' | 'items' | 'errors') {
  const { startMs, widthMs } = series
  return series[of].map((total, index) => ({
    atMs: startMs + (index + 1) * widthMs,
    value: Math.max(0, total - (series[of][index - 1] ?? 0)) / (widthMs / MINUTE_MS)
  }))
}

import type { JobDetail } from '../../../shared/contract/index.ts'
import { formatRuntime } from '../../../shared/time.ts'
import { useRunFigures } from '../../state/use-run-figures.ts'
import { useNow } from '../../ui/clock.ts'
import { Count } from '../../ui/count.tsx'
import { formatBytes, formatCount } from '../../ui/numbers.ts'
import { EmptyState } from '../../ui/states.tsx'
import classes from './job-detail-pane.module.css'
import { JobErrors } from './job-errors.tsx'
import { JobProgress } from './job-progress.tsx'
import { JobExpectations } from './job-findings.tsx'
import { JobUsage } from './job-usage.tsx'

/** What the run did, as its log says, live while it runs; its errors, its usage, and Scrapy's own stats at its end. */
export function JobStats({ detail }: { detail: JobDetail }) {
  const { job, attempts } = detail
  const nowMs = useNow()
  const stats = attempts.findLast((attempt) => attempt.stats !== null)?.stats ?? null
  const runtimeMs = job.startedAtMs === null ? null : (job.endedAtMs ?? nowMs) - job.startedAtMs
  const figures = useRunFigures(job.id)
  if (runtimeMs === null) return <EmptyState title="No stats yet">Figures appear when the job runs.</EmptyState>
  // While it runs, the rate is that of its last minute; then, the mean.
  const perMinute = (count: number | null, now: number | null | undefined) => {
    if (figures?.isLive === true && now != null) return Math.round(now)
    return count === null || runtimeMs < 1000 ? null : Math.round((count / runtimeMs) * 60_000)
  }
  return (
    <>
      <dl className={classes.figures}>
        <Figure name="Pages" value={job.pages} rate={perMinute(job.pages, figures?.pagesPerMinute)} />
        <Figure name="Items" value={job.items} rate={perMinute(job.items, figures?.itemsPerMinute)} />
        <Figure name="Errors" value={job.errors} tone={job.errors ? 'tone-bad' : undefined} />
        <div>
          <dt>Runtime</dt>
          <dd>{formatRuntime(runtimeMs)}</dd>
        </div>
      </dl>
      <JobErrors job={job} />
      {figures !== undefined && <JobProgress job={job} figures={figures} />}
      <JobUsage detail={detail} />
      {job.outcome === 'succeeded' && <JobExpectations jobId={job.id} />}
      <section>
        <h2 className={classes.sectionTitle}>Scrapy’s stats</h2>
        {stats === null ? (
          <p className="dim">
            {job.state === 'ended'
              ? 'The log has no closing stats: the run was interrupted, or its settings hide them (STATS_DUMP, LOG_LEVEL).'
              : 'All other stats appear when the job ends.'}
          </p>
        ) : (
          <table className={classes.table}>
            <tbody>
              {Object.entries(stats)
                .sort(([left], [right]) => left.localeCompare(right))
                .map(([key, value]) => (
                  <tr key={key}>
                    <th scope="row">{key}</th>
                    <td>{formatStat(key, value)}</td>
                  </tr>
                ))}
            </tbody>
          </table>
        )}
      </section>
    </>
  )
}

interface FigureProps {
  name: string
  value: number | null
  rate?: number | null
  tone?: string
}

function Figure({ name, value, rate = null, tone }: FigureProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd className={tone}>
        <Count value={value} />
      </dd>
      {rate !== null && <small>{formatCount(rate)}/min</small>}
    </div>
  )
}

function formatStat(key: string, value: string | number | boolean | null): string {
  if (value === null) return '–'
  if (typeof value !== 'number') return String(value)
  if (/_bytes$/.test(key)) return formatBytes(value)
  return Number.isInteger(value) ? formatCount(value) : String(Math.round(value * 1000) / 1000)
}

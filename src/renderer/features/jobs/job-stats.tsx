import type { JobDetail } from '../../../shared/contract/index.ts'
import { formatRuntime } from '../../../shared/time.ts'
import { useNow } from '../../ui/clock.ts'
import { formatBytes, formatCount } from '../../ui/numbers.ts'
import { EmptyState } from '../../ui/states.tsx'
import classes from './job-detail-pane.module.css'
import { JobExpectations } from './job-findings.tsx'
import { JobUsage } from './job-usage.tsx'

/** The run's figures and Scrapy's own stats, both read from the end of the log; runtime and usage are live. */
export function JobStats({ detail }: { detail: JobDetail }) {
  const { job, attempts } = detail
  const nowMs = useNow()
  const stats = attempts.findLast((attempt) => attempt.stats !== null)?.stats ?? null
  const runtimeMs = job.startedAtMs === null ? null : (job.endedAtMs ?? nowMs) - job.startedAtMs
  if (runtimeMs === null) return <EmptyState title="No stats yet">Figures appear when the job ends.</EmptyState>
  const perMinute = (count: number | null) =>
    count === null || runtimeMs < 1000 ? null : Math.round((count / runtimeMs) * 60_000)
  return (
    <>
      <dl className={classes.figures}>
        <Figure name="Pages" value={job.pages} rate={perMinute(job.pages)} />
        <Figure name="Items" value={job.items} rate={perMinute(job.items)} />
        <Figure name="Errors" value={job.errors} tone={job.errors ? 'tone-bad' : undefined} />
        <div>
          <dt>Runtime</dt>
          <dd>{formatRuntime(runtimeMs)}</dd>
        </div>
      </dl>
      <JobUsage detail={detail} />
      {job.outcome === 'succeeded' && <JobExpectations jobId={job.id} />}
      <section>
        <h2 className={classes.sectionTitle}>Scrapy’s stats</h2>
        {stats === null ? (
          <p className="dim">
            {job.state === 'ended'
              ? 'The log has no closing stats: the run was interrupted.'
              : 'Pages, items, errors and all other stats appear when the job ends.'}
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
      <dd className={tone}>{value === null ? '–' : formatCount(value)}</dd>
      {rate !== null && <small>{formatCount(rate)}/min</small>}
    </div>
  )
}

function formatStat(key: string, value: string | number): string {
  if (typeof value === 'string') return value
  if (/_bytes$/.test(key)) return formatBytes(value)
  return Number.isInteger(value) ? formatCount(value) : String(Math.round(value * 1000) / 1000)
}

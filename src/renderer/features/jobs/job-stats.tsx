import { Flex } from '@mantine/core'
import type { JobDetail, Job } from '../../../shared/contract/index.ts'
import { formatRuntime } from '../../../shared/time.ts'
import { useRunFigures } from '../../state/use-run-figures.ts'
import { useNow } from '../../ui/clock.ts'
import { Count } from '../../ui/count.tsx'
import { formatBytes, formatCount } from '../../ui/numbers.ts'
import { EmptyState, QueryState } from '../../ui/states.tsx'
import classes from './job-detail-pane.module.css'
import { JobProgress } from './job-progress.tsx'
import { JobExpectations } from './job-findings.tsx'
import { JobUsage } from './job-usage.tsx'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useApi } from '../../api/api.tsx'
import { ErrorStateText, logSearchOf } from '../../ui/errors/error-group.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import jobErrorsClasses from './job-errors.module.css'
import { texts } from '../../../shared/texts/ui/jobs.ts'

export function JobStats({ detail }: { detail: JobDetail }) {
  const { job, attempts } = detail
  const nowMs = useNow()
  const stats = attempts.findLast((attempt) => attempt.stats !== null)?.stats ?? null
  const runtimeMs = job.startedAtMs === null ? null : (job.endedAtMs ?? nowMs) - job.startedAtMs
  const figures = useRunFigures(job.id)
  if (runtimeMs === null) return <EmptyState title={texts.noStatsYet}>{texts.noStatsHint}</EmptyState>
  // The rate of the last minute for a live run; the mean for an ended run.
  const perMinute = (count: number | null, now: number | null | undefined) => {
    if (figures?.isLive === true && now != null) return Math.round(now)
    return count === null || runtimeMs < 1000 ? null : Math.round((count / runtimeMs) * 60_000)
  }
  return (
    <>
      <dl className={`${classes.figures} figures`}>
        <Figure name={texts.pages} value={job.pages} rate={perMinute(job.pages, figures?.pagesPerMinute)} />
        <Figure name={texts.items} value={job.items} rate={perMinute(job.items, figures?.itemsPerMinute)} />
        <Figure name={texts.errors} value={job.errors} tone={job.errors ? 'tone-bad' : undefined} />
        <div className="box">
          <dt>{texts.runtime}</dt>
          <dd>{formatRuntime(runtimeMs)}</dd>
        </div>
      </dl>
      <JobErrors job={job} />
      {figures !== undefined && <JobProgress job={job} figures={figures} />}
      <JobUsage detail={detail} />
      {job.outcome === 'succeeded' && <JobExpectations jobId={job.id} />}
      <section>
        <h2 className={classes.sectionTitle}>{texts.scrapysStats}</h2>
        {stats === null ? (
          <p className="dim">{job.state === 'ended' ? texts.noClosingStats : texts.statsAtEnd}</p>
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
    <div className="box">
      <dt>{name}</dt>
      <dd className={tone}>
        <Count value={value} />
      </dd>
      {rate !== null && <small>{texts.perMinute(rate)}</small>}
    </div>
  )
}

function formatStat(key: string, value: string | number | boolean | null): string {
  if (value === null) return '–'
  if (typeof value !== 'number') return String(value)
  if (/_bytes$/.test(key)) return formatBytes(value)
  return Number.isInteger(value) ? formatCount(value) : String(Math.round(value * 1000) / 1000)
}

/** The errors of a running job appear within half a minute. */
function JobErrors({ job }: { job: Job }) {
  const { query } = useApi()
  const errors = useQuery(query.errors.ofJob.queryOptions({ input: { jobId: job.id } }))
  return (
    <section aria-label={texts.errors}>
      <h2>{texts.errors}</h2>
      <QueryState query={errors} what={texts.theErrors} rows={2}>
        {({ errors: all }) =>
          all.length > 0 ? (
            <ul className={jobErrorsClasses.list}>
              {all.map(({ group, occurrence }) => (
                <li key={`${group.id} ${occurrence.attemptNumber}`}>
                  <Link
                    to="/errors"
                    search={{ group: group.id, project: group.project, state: 'all' }}
                    className="text-link semibold break"
                  >
                    {group.title}
                  </Link>
                  <span className="mono tiny faint break">{group.culprit}</span>
                  <Flex component="span" gap="0 12px" wrap="wrap">
                    {group.state !== 'open' && <ErrorStateText group={group} />}
                    <span>{texts.timeCount(occurrence.count)}</span>
                    {group.jobCount > 1 && <span className="dim">{texts.inJobs(group.jobCount)}</span>}
                    {occurrence.attemptNumber > 1 && (
                      <span className="dim">{texts.attemptNumber(occurrence.attemptNumber)}</span>
                    )}
                    <span className="dim">
                      <RelativeTime atMs={occurrence.lastSeenMs} ago />
                    </span>
                    <Link to="/logs" search={logSearchOf(occurrence)}>
                      {texts.lineNumber(occurrence.line)}
                    </Link>
                  </Flex>
                </li>
              ))}
            </ul>
          ) : (
            <p className="dim">
              {job.errors === 0 ? texts.noErrors : job.state === 'ended' ? texts.errorsNotRecorded : texts.errorsLater}
            </p>
          )
        }
      </QueryState>
    </section>
  )
}

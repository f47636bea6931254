import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Job } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { ErrorStateText, logSearchOf } from '../../ui/errors/error-group.tsx'
import { formatCount, plural } from '../../ui/numbers.ts'
import { QueryState } from '../../ui/states.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import classes from './job-errors.module.css'

/** The errors that a job logged, by group; the newest first. Those of a running job arrive within half a minute. */
export function JobErrors({ job }: { job: Job }) {
  const { query } = useApi()
  const errors = useQuery(query.errors.ofJob.queryOptions({ input: { jobId: job.id } }))
  return (
    <section aria-label="Errors">
      <h2>Errors</h2>
      <QueryState query={errors} what="the errors" rows={2}>
        {({ errors: all }) =>
          all.length > 0 ? (
            <ul className={classes.list}>
              {all.map(({ group, occurrence }) => (
                <li key={`${group.id} ${occurrence.attemptNumber}`}>
                  <Link
                    to="/errors"
                    search={{ group: group.id, project: group.project, state: 'all' }}
                    className={classes.title}
                  >
                    {group.title}
                  </Link>
                  <span className={`mono faint ${classes.culprit}`}>{group.culprit}</span>
                  <span className={classes.facts}>
                    {group.state !== 'open' && <ErrorStateText group={group} />}
                    <span>{plural(occurrence.count, 'time')}</span>
                    {group.jobCount > 1 && <span className="dim">in {formatCount(group.jobCount)} jobs</span>}
                    {occurrence.attemptNumber > 1 && <span className="dim">attempt {occurrence.attemptNumber}</span>}
                    <span className="dim">
                      <RelativeTime atMs={occurrence.lastSeenMs} suffix=" ago" />
                    </span>
                    <Link to="/logs" search={logSearchOf(occurrence)}>
                      Line {formatCount(occurrence.line)}
                    </Link>
                  </span>
                </li>
              ))}
            </ul>
          ) : (
            <p className="dim">
              {job.errors === 0
                ? 'No errors were logged.'
                : job.state === 'ended'
                  ? 'The errors of this run were not recorded. Its log may still have them.'
                  : 'Errors of a running job are grouped within half a minute.'}
            </p>
          )
        }
      </QueryState>
    </section>
  )
}

import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Job } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { logSearchOf } from '../../ui/errors/error-group.tsx'
import { formatCount } from '../../ui/numbers.ts'
import { occurrenceOf } from './killing-occurrence.ts'
import classes from './job-detail-pane.module.css'

/** The line that says why a job failed, and where its log has it, if that is known. */
export function LastError({ job: { id: jobId }, line }: { job: Pick<Job, 'id'>; line: string }) {
  const { query } = useApi()
  const { data } = useQuery(query.errors.ofJob.queryOptions({ input: { jobId } }))
  const occurrence = occurrenceOf(line, data?.errors ?? [])
  return (
    <div className={classes.kill}>
      <span className="visually-hidden">Last error: </span>
      {line}
      {occurrence !== null && (
        <>
          {' '}
          <Link to="/logs" search={logSearchOf(occurrence)}>
            Line {formatCount(occurrence.line)}
          </Link>
        </>
      )}
    </div>
  )
}

import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Job, ErrorGroup, ErrorOccurrence } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { logSearchOf } from '../../ui/errors/error-group.tsx'
import classes from './job-detail-pane.module.css'
import { texts } from '../../../shared/texts/ui/jobs.ts'

export function LastError({ job: { id: jobId }, line }: { job: Pick<Job, 'id'>; line: string }) {
  const { query } = useApi()
  const { data } = useQuery(query.errors.ofJob.queryOptions({ input: { jobId } }))
  const occurrence = occurrenceOf(line, data?.errors ?? [])
  return (
    <div className={`${classes.kill} notice-bad tone-bad mono break`}>
      <span className="visually-hidden">{texts.lastErrorPrefix}</span>
      {line}
      {occurrence !== null && (
        <>
          {' '}
          <Link to="/logs" search={logSearchOf(occurrence)}>
            {texts.lineNumber(occurrence.line)}
          </Link>
        </>
      )}
    </div>
  )
}

interface LoggedError {
  group: Pick<ErrorGroup, 'exceptionType'>
  occurrence: ErrorOccurrence
}

/**
 * Where the last attempt logged the line that killed it: an error with this text, or the newest error with the
 * exception that the line names (`KeyError: 'price'`). null: unknown.
 */
export function occurrenceOf(killingLine: string, errors: readonly LoggedError[]): ErrorOccurrence | null {
  const last = Math.max(0, ...errors.map(({ occurrence }) => occurrence.attemptNumber))
  const newestFirst = errors
    .filter(({ occurrence }) => occurrence.attemptNumber === last)
    .toSorted((one, other) => other.occurrence.lastSeenMs - one.occurrence.lastSeenMs)
  const hasText = ({ occurrence: { message } }: LoggedError) =>
    message !== '' && (killingLine.includes(message) || message.includes(killingLine))
  const type = nameOf(killingLine.split(':', 1)[0]!)
  const hasType = ({ group }: LoggedError) => group.exceptionType !== null && nameOf(group.exceptionType) === type
  return (newestFirst.find(hasText) ?? newestFirst.find(hasType))?.occurrence ?? null
}

const nameOf = (type: string): string => type.trim().split('.').at(-1)!

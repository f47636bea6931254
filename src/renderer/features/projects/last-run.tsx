import { Link } from '@tanstack/react-router'
import type { Job } from '../../../shared/contract/index.ts'
import { StatusText } from '../../ui/status.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import classes from './projects.module.css'
import { texts } from '../../../shared/texts/ui/projects.ts'

export function LastRun({ job }: { job: Job | undefined }) {
  if (job === undefined) return <span className="faint">{texts.notRecently}</span>
  return (
    <Link to="/jobs" search={{ job: job.id }} className={`${classes.lastRun} link`}>
      <StatusText status={job.status} />
      <span className="faint">
        <RelativeTime atMs={job.endedAtMs ?? job.startedAtMs ?? job.queuedAtMs} />
      </span>
    </Link>
  )
}

/** The first job for each name, which is the newest if the jobs are sorted newest first. */
export function newestBy(jobs: readonly Job[] | undefined, nameOf: (job: Job) => string): ReadonlyMap<string, Job> {
  return new Map(jobs?.toReversed().map((job) => [nameOf(job), job]))
}

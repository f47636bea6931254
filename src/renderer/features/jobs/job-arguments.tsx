import { IconLock } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type Dependency, type Job, type JobId, SECRET_MASK } from '../../../shared/contract/index.ts'
import { shortId } from '../../../shared/ids.ts'
import { useApi } from '../../api/api.tsx'
import { CopyText } from '../../ui/copy-button.tsx'
import { describeLimits } from '../../ui/fields/limits.ts'
import { FieldRow } from '../../ui/panel.tsx'
import { describeRetry } from '../../ui/fields/retry.ts'
import { StatusText } from '../../ui/status.tsx'
import { formatInstant } from '../../ui/time.tsx'
import classes from './job-detail-pane.module.css'
import { JobSchedule } from './job-schedule.tsx'

const SOURCE_WORDS: Record<Job['source'], string> = {
  ui: 'from the app',
  api: 'via API',
  scrapyd: 'by a Scrapyd client',
  demo: 'by the demo',
  retry: 'as a retry of another job',
  adopted: 'on the node, then adopted',
  schedule: 'by schedule',
  chain: 'by a chain',
  crawl: 'via crawl API'
}

interface JobArgumentsProps {
  job: Job
  nodeName: (id: string) => string
  onOpen: (id: JobId) => void
}

/** Exactly what was requested. */
export function JobArguments({ job, nodeName, onOpen }: JobArgumentsProps) {
  const { nodeId, tags } = job.placement
  const where =
    nodeId !== null
      ? nodeName(nodeId)
      : tags.length > 0
        ? `nodes with ${tags.map((tag) => `#${tag}`).join(' ')}`
        : 'any node'
  return (
    <>
      <Values title="Arguments" values={job.args} secretNames={job.secretNames} none="No arguments." />
      <Values
        title="Settings"
        values={job.settings}
        secretNames={job.secretNames}
        none="No settings except those of the project."
      />
      {Object.keys(job.env).length > 0 && (
        <Values
          title="Environment variables (local nodes only)"
          values={job.env}
          secretNames={job.secretNames}
          none=""
        />
      )}
      <section>
        <h2 className={classes.sectionTitle}>Request</h2>
        <FieldRow label="Queued">
          {formatInstant(job.queuedAtMs)}, {SOURCE_WORDS[job.source]}
        </FieldRow>
        {job.scheduleId !== null && (
          <FieldRow label="Schedule">
            <JobSchedule job={job} isWhole />
          </FieldRow>
        )}
        {job.userId !== null && (
          <FieldRow label="User">
            <Link to="/jobs" search={{ user: job.userId }} title={`Jobs of ${job.userId}`}>
              {job.userId}
            </Link>
          </FieldRow>
        )}
        <FieldRow label="Version">{job.version ?? 'active version when the job is sent'}</FieldRow>
        <FieldRow label="Nodes">{where}</FieldRow>
        <FieldRow label="Priority">{job.priority}</FieldRow>
        <FieldRow label="Retry">{describeRetry(job.retry) ?? 'none'}</FieldRow>
        {job.notBeforeMs !== null && <FieldRow label="Start time">{formatInstant(job.notBeforeMs)}</FieldRow>}
        {job.expiresAtMs !== null && (
          <FieldRow label="Expires">{formatInstant(job.expiresAtMs)} (if not sent by then)</FieldRow>
        )}
        {job.noOverlap && (
          <FieldRow label="Overlap">waits while another job of this spider with the same arguments is live</FieldRow>
        )}
        {job.after.length > 0 && (
          <FieldRow label="After">
            <Dependencies after={job.after} onOpen={onOpen} />
          </FieldRow>
        )}
        {job.dedupeKey !== null && (
          <FieldRow label="Idempotency key">
            <span className="mono">{job.dedupeKey}</span>
          </FieldRow>
        )}
        {describeLimits(job.limits) !== null && <FieldRow label="Limits">{describeLimits(job.limits)}</FieldRow>}
        <FieldRow label="Job ID">
          <CopyText value={job.id} what="the job ID" />
        </FieldRow>
        {job.jobid !== job.id && (
          <FieldRow label="Scrapyd job ID">
            <CopyText value={job.jobid} what="the job ID" />
          </FieldRow>
        )}
      </section>
    </>
  )
}

const ON_WORDS: Record<Dependency['on'], string> = {
  succeeded: 'succeeds',
  failed: 'fails',
  ended: 'ends with any outcome'
}

/** The jobs that must end first, by spider name: the required outcome, and the current status. */
export function Dependencies({ after, onOpen }: { after: readonly Dependency[]; onOpen: (id: JobId) => void }) {
  return after.map((dependency) => <DependencyLink key={dependency.jobId} dependency={dependency} onOpen={onOpen} />)
}

interface DependencyLinkProps {
  dependency: Dependency
  onOpen: (id: JobId) => void
}

function DependencyLink({ dependency: { jobId, on }, onOpen }: DependencyLinkProps) {
  const { query } = useApi()
  const { data } = useQuery(query.jobs.get.queryOptions({ input: { id: jobId }, retry: false }))
  return (
    <span className={classes.dependency}>
      <button type="button" className={classes.link} onClick={() => onOpen(jobId)}>
        {data === undefined ? shortId(jobId) : `${data.job.project}/${data.job.spider}`}
      </button>{' '}
      {ON_WORDS[on]}
      {data !== undefined && (
        <>
          {' · '}
          <StatusText status={data.job.status} />
        </>
      )}
    </span>
  )
}

interface ValuesProps {
  title: string
  values: Record<string, string>
  secretNames: readonly string[]
  none: string
}

function Values({ title, values, secretNames, none }: ValuesProps) {
  const entries = Object.entries(values)
  return (
    <section>
      <h2 className={classes.sectionTitle}>{title}</h2>
      {entries.length === 0 ? (
        <p className="dim">{none}</p>
      ) : (
        <table className={classes.table}>
          <tbody>
            {entries.map(([key, value]) => (
              <tr key={key}>
                <th scope="row">{key}</th>
                <td className="mono">
                  {secretNames.includes(key) ? (
                    <span className="dim inline" title="Secret value, not shown">
                      <IconLock size={13} role="img" aria-label="Secret" /> {SECRET_MASK}
                    </span>
                  ) : (
                    value
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

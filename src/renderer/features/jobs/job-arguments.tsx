import { IconLock } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { type Dependency, type Job, type JobId, SECRET_MASK } from '../../../shared/contract/index.ts'
import { shortId } from '../../../shared/ids.ts'
import { useApi } from '../../api/api.tsx'
import { CopyText } from '../../ui/copy-button.tsx'
import { describeRunLimits } from '../../ui/fields/run-limits.ts'
import { FieldRow } from '../../ui/panel.tsx'
import { describeRetry } from '../../ui/fields/retry.ts'
import { StatusText } from '../../ui/status.tsx'
import { formatInstant } from '../../ui/time.tsx'
import classes from './job-detail-pane.module.css'
import { JobSchedule } from './job-schedule.tsx'
import { texts } from '../../../shared/texts/ui/jobs.ts'

const SOURCE_WORDS: Record<Job['source'], string> = {
  ui: texts.sourceUi,
  api: texts.sourceApi,
  scrapyd: texts.sourceScrapyd,
  demo: texts.sourceDemo,
  retry: texts.sourceRetry,
  adopted: texts.sourceAdopted,
  schedule: texts.sourceSchedule,
  chain: texts.sourceChain,
  crawl: texts.sourceCrawl
}

interface JobArgumentsProps {
  job: Job
  nodeName: (id: string) => string
  onOpen: (id: JobId) => void
}

export function JobArguments({ job, nodeName, onOpen }: JobArgumentsProps) {
  const { nodeId, tags } = job.placement
  const where =
    nodeId !== null
      ? nodeName(nodeId)
      : tags.length > 0
        ? texts.nodesWithTags(tags.map((tag) => `#${tag}`).join(' '))
        : texts.anyNode
  return (
    <>
      <Values title={texts.arguments} values={job.args} secretNames={job.secretNames} none={texts.noArguments} />
      <Values title={texts.settings} values={job.settings} secretNames={job.secretNames} none={texts.noSettings} />
      {Object.keys(job.env).length > 0 && (
        <Values title={texts.environmentVariablesLocal} values={job.env} secretNames={job.secretNames} none="" />
      )}
      <section>
        <h2 className={classes.sectionTitle}>{texts.request}</h2>
        <FieldRow label={texts.queued}>
          {formatInstant(job.queuedAtMs)}, {SOURCE_WORDS[job.source]}
        </FieldRow>
        {job.scheduleId !== null && (
          <FieldRow label={texts.schedule}>
            <JobSchedule job={job} isWhole />
          </FieldRow>
        )}
        {job.userId !== null && (
          <FieldRow label={texts.user}>
            <Link to="/jobs" search={{ user: job.userId }} title={texts.jobsOfUser(job.userId)}>
              {job.userId}
            </Link>
          </FieldRow>
        )}
        <FieldRow label={texts.version}>{job.version ?? texts.versionWhenSent}</FieldRow>
        <FieldRow label={texts.nodes}>{where}</FieldRow>
        <FieldRow label={texts.priority}>{job.priority}</FieldRow>
        <FieldRow label={texts.retry}>{describeRetry(job.retry) ?? texts.none}</FieldRow>
        {job.notBeforeMs !== null && <FieldRow label={texts.startTime}>{formatInstant(job.notBeforeMs)}</FieldRow>}
        {job.expiresAtMs !== null && (
          <FieldRow label={texts.expires}>{texts.expiresAt(formatInstant(job.expiresAtMs))}</FieldRow>
        )}
        {job.noOverlap && <FieldRow label={texts.overlap}>{texts.overlapHint}</FieldRow>}
        {job.after.length > 0 && (
          <FieldRow label={texts.after}>
            <Dependencies after={job.after} onOpen={onOpen} />
          </FieldRow>
        )}
        {job.dedupeKey !== null && (
          <FieldRow label={texts.idempotencyKey}>
            <span className="mono">{job.dedupeKey}</span>
          </FieldRow>
        )}
        {describeRunLimits(job.limits) !== null && (
          <FieldRow label={texts.limits}>{describeRunLimits(job.limits)}</FieldRow>
        )}
        <FieldRow label={texts.jobId}>
          <CopyText value={job.id} what={texts.theJobId} />
        </FieldRow>
        {job.jobid !== job.id && (
          <FieldRow label={texts.scrapydJobId}>
            <CopyText value={job.jobid} what={texts.theJobId} />
          </FieldRow>
        )}
      </section>
    </>
  )
}

const ON_WORDS: Record<Dependency['on'], (job: ReactNode) => ReactNode> = {
  succeeded: texts.dependencySucceeds,
  failed: texts.dependencyFails,
  ended: texts.dependencyEnds
}

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
    <div>
      {ON_WORDS[on](
        <button type="button" className="text-link" onClick={() => onOpen(jobId)}>
          {data === undefined ? shortId(jobId) : `${data.job.project}/${data.job.spider}`}
        </button>
      )}
      {data !== undefined && (
        <>
          {' · '}
          <StatusText status={data.job.status} />
        </>
      )}
    </div>
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
                    <span className="dim inline" title={texts.secretHint}>
                      <IconLock size={13} role="img" aria-label={texts.secret} /> {SECRET_MASK}
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

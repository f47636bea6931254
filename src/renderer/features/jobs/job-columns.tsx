import { IconCopy } from '@tabler/icons-react'
import type { Job } from '../../../shared/contract/index.ts'
import { usePendingCancels } from '../../ui/cancel-grace.tsx'
import { Count } from '../../ui/count.tsx'
import { SpiderName } from '../../ui/spider-name.tsx'
import { StatusText, UnknownText } from '../../ui/status.tsx'
import { RelativeTime, Runtime } from '../../ui/time.tsx'
import type { Column } from '../../ui/table/column.ts'
import { WaitingText } from '../../ui/waiting.tsx'
import { useBulkActs } from './bulk-act-store.ts'
import { CancelCell, type CancelTarget, isCancelling, PendingCancel } from './cancel-cell.tsx'
import classes from './jobs-screen.module.css'
import type { JobActions } from './use-job-actions.ts'
import { texts } from '../../../shared/texts/ui/jobs.ts'

export type AwayOf = (job: Pick<Job, 'nodeId' | 'state' | 'unknownSinceMs'>) => Away | null
export interface Away {
  word: string
  lastSeenAtMs: number | null
  /** When the node stopped responding, which makes its jobs' state unknown. null: it responds, or reports an error. */
  unknownSinceMs: number | null
}

/** A narrow table hides the less important columns first. */
export function jobColumns(
  nodeName: (id: string) => string,
  awayOf: AwayOf,
  isQueue: boolean,
  actions: JobActions | null
): Column<Job>[] {
  const columns: Column<Job>[] = [
    {
      id: 'status',
      header: texts.status,
      width: '114px',
      // In the queue, all rows are queued, so a narrow table gives the space to the waiting reason.
      hideBelowPx: isQueue ? 440 : undefined,
      cell: (job) => <JobStatusCell job={job} away={awayOf(job)} />
    },
    {
      id: 'spider',
      header: texts.spider,
      width: 'minmax(116px, 1.6fr)',
      cell: (job) => (
        <SpiderName project={job.project} spider={job.spider}>
          <Flags job={job} />
        </SpiderName>
      )
    },
    {
      id: 'node',
      header: isQueue ? texts.waitingFor : texts.nodeWaitingFor,
      width: isQueue ? 'minmax(120px, 3fr)' : 'minmax(112px, 1.6fr)',
      hideBelowPx: isQueue ? undefined : 440,
      cell: (job) => <NodeOrWaiting job={job} nodeName={nodeName} awayOf={awayOf} />
    },
    {
      id: 'version',
      header: texts.version,
      width: '150px',
      hideBelowPx: 900,
      cell: (job) => (
        <span className="dim" title={versionWords(job)}>
          {versionWords(job)}
        </span>
      )
    },
    {
      id: 'priority',
      header: texts.priority,
      width: '68px',
      align: 'end',
      hideBelowPx: 820,
      cell: (job) => <span className={job.priority === 0 ? 'faint' : undefined}>{job.priority}</span>
    },
    {
      id: 'runtime',
      header: texts.runtime,
      width: '74px',
      align: 'end',
      hideBelowPx: 540,
      // While the node is unreachable, the job's state is unknown, so the clock stops at the last response.
      cell: (job) => (
        <Runtime startedAtMs={job.startedAtMs} endedAtMs={job.endedAtMs ?? awayOf(job)?.lastSeenAtMs ?? null} />
      )
    },
    {
      id: 'items',
      header: texts.items,
      width: '64px',
      align: 'end',
      hideBelowPx: 760,
      cell: (job) => (hasCounts(job) ? <Count value={job.items} /> : '')
    },
    {
      id: 'errors',
      header: texts.errors,
      width: '58px',
      align: 'end',
      hideBelowPx: 710,
      cell: (job) => (hasCounts(job) ? <Count value={job.errors} tone={job.errors ? 'tone-bad' : 'faint'} /> : '')
    },
    {
      id: 'age',
      header: texts.age,
      width: '64px',
      align: 'end',
      cell: (job) => (
        <span className="dim">
          <RelativeTime atMs={job.queuedAtMs} />
        </span>
      )
    },
    {
      id: 'cancel',
      header: <span className="visually-hidden">{texts.cancel}</span>,
      width: '40px',
      align: 'end',
      cell: (job) => actions && <CancelCell job={job} cancel={actions.cancelOne} />
    }
  ]
  // Waiting jobs have no values in these columns, so the waiting reasons get the space.
  return isQueue ? columns.filter(({ id }) => !RUN_COLUMNS.has(id)) : columns
}

const RUN_COLUMNS: ReadonlySet<string> = new Set(['runtime', 'items', 'errors'])

export function JobStatusCell({ job, away }: { job: CancelTarget; away: Away | null }) {
  const asked = useBulkActs((state) => state.asked.get(job.id))
  const isPending = usePendingCancels(({ byId }) => byId.has(job.id))
  return (
    <span className={classes.status}>
      {asked !== undefined && job.state !== 'ended' ? (
        <StatusText status={job.status} word={asked} />
      ) : away !== null && away.unknownSinceMs !== null ? (
        <UnknownText sinceMs={away.unknownSinceMs} />
      ) : isPending ? (
        <PendingCancel job={job} />
      ) : (
        <StatusText status={job.status} word={isCancelling(job) ? texts.rowCancelling : undefined} />
      )}
    </span>
  )
}

function Flags({ job }: { job: Job }) {
  return (
    <>
      {job.attemptCount > 1 && (
        <span className={`faint ${classes.flag}`} title={texts.attemptCount(job.attemptCount)}>
          ×{job.attemptCount}
        </span>
      )}
      {job.mayHaveRunTwice && (
        <span className={`tone-lost ${classes.flag}`} title={texts.mayHaveRunTwiceHint}>
          <IconCopy size={13} role="img" aria-label={texts.mayHaveRunTwice} />
        </span>
      )}
    </>
  )
}

function NodeOrWaiting({ job, nodeName, awayOf }: { job: Job; nodeName: (id: string) => string; awayOf: AwayOf }) {
  if (job.state === 'queued') {
    return (
      <span className="tone-wait">
        <WaitingText waiting={job.waiting} />
      </span>
    )
  }
  if (job.nodeId === null) return null
  const away = awayOf(job)
  if (away === null) return <span className="dim">{nodeName(job.nodeId)}</span>
  return (
    <span title={texts.lastKnownStateHint}>
      {nodeName(job.nodeId)} <span className="tone-bad">{away.word}</span>
    </span>
  )
}

/** Whether the job has counts. A job that never ran has none, nor does a running job until its log has been read. */
const hasCounts = ({ state, startedAtMs, items, errors }: Job): boolean =>
  (state === 'ended' && startedAtMs !== null) || items !== null || errors !== null

/** The version that ran or will run. A job without a version gets the active one when it is sent. */
function versionWords({ version, sentVersion, state }: Job): string {
  // The node reports no version for an adopted run.
  return (version ?? (state === 'queued' ? texts.activeVersion : sentVersion)) || '–'
}

import { Button, Flex } from '@mantine/core'
import { type Attempt, ATTEMPT_REASONS, type AttemptNumber, type JobDetail } from '../../../shared/contract/index.ts'
import { keptBytesOfCutLog } from '../../../shared/cut-log.ts'
import { formatRuntime, utcDay } from '../../../shared/time.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import { formatBytes, formatMemory, formatSeconds } from '../../ui/numbers.ts'
import { FieldRow } from '../../ui/panel.tsx'
import { EmptyState } from '../../ui/states.tsx'
import { formatInstant } from '../../ui/time.tsx'
import classes from './job-detail-pane.module.css'

interface JobAttemptsProps {
  detail: Pick<JobDetail, 'attempts' | 'timeline'>
  nodeName: (id: string) => string
  onLog: (number: AttemptNumber) => void
}

/** Every attempt to run the job, newest first. */
export function JobAttempts({ detail: { attempts, timeline }, nodeName, onLog }: JobAttemptsProps) {
  if (attempts.length === 0)
    return <EmptyState title="No attempts yet">The job has not been sent to a node.</EmptyState>
  return attempts.toReversed().map((attempt) => (
    <section key={attempt.number} className={`${classes.attempt} box`} aria-label={`Attempt ${attempt.number}`}>
      <header>
        <strong>
          {attempt.number} · {nodeName(attempt.nodeId)}
        </strong>
        <span className={`tone-${toneOf(attempt)}`}>{resultWord(attempt)}</span>
        <span className="grow" />
        <Button variant="subtle" onClick={() => onLog(attempt.number)}>
          Log
        </Button>
      </header>
      {attempt.reason !== null && <FieldRow label="Reason">{attempt.reason}</FieldRow>}
      {meaningOf(attempt) !== null && <p className={`${classes.meaning} dim`}>{meaningOf(attempt)}</p>}
      <FieldRow label="Sent">{formatInstant(attempt.sentAtMs)}</FieldRow>
      {attempt.acceptedAtMs !== null && (
        <FieldRow label="Accepted">{formatGap(attempt.acceptedAtMs - attempt.sentAtMs)} later</FieldRow>
      )}
      {attempt.startedAtMs !== null && (
        <FieldRow label="Ran">
          {attempt.endedAtMs === null
            ? `since ${formatInstant(attempt.startedAtMs)}`
            : formatRuntime(attempt.endedAtMs - attempt.startedAtMs)}
        </FieldRow>
      )}
      {(attempt.exitCode !== null || attempt.signal !== null) && (
        <FieldRow label="Exit">{attempt.signal ?? `code ${attempt.exitCode}`}</FieldRow>
      )}
      {attempt.limitHit !== null && (
        <FieldRow label="Limit">
          <span className="tone-bad">{attempt.limitHit}</span>
        </FieldRow>
      )}
      {attempt.peakMemoryBytes !== null && (
        <FieldRow label="Peak memory">{formatMemory(attempt.peakMemoryBytes)}</FieldRow>
      )}
      {attempt.cpuSeconds !== null && <FieldRow label="CPU time">{formatSeconds(attempt.cpuSeconds)}</FieldRow>}
      {attempt.pid !== null && <FieldRow label="Process">{attempt.pid}</FieldRow>}
      <FieldRow label="Job ID on node">
        <Flex component="span" align="center" gap={4}>
          <span className="mono ellipsis" title={attempt.jobid}>
            {attempt.jobid}
          </span>
          <CopyButton value={attempt.jobid} what="the job ID" />
        </Flex>
      </FieldRow>
      <FieldRow label="Log">{logPlace(attempt, keptBytesOfCutLog(timeline, attempt.number))}</FieldRow>
    </section>
  ))
}

function logPlace({ logArchived, logDeletedAtMs }: Attempt, keptBytes: number | null): string {
  if (logDeletedAtMs !== null) return `deleted by retention on ${utcDay(logDeletedAtMs)}`
  if (logArchived && keptBytes !== null)
    return `archived, incomplete: ${formatBytes(keptBytes)} copied before the node lost the rest`
  return logArchived ? 'archived' : 'on the node'
}

/** `lost` and `absent` have several causes: the reason tells which. */
function resultWord({ result, reason, state }: Attempt): string {
  if (result === 'lost' && reason === ATTEMPT_REASONS.givenUp) return 'given up'
  if (result === 'absent' && reason === ATTEMPT_REASONS.takenBack) return 'withdrawn'
  return result ?? state
}

function meaningOf({ result, reason }: Attempt): string | null {
  if (result === 'lost')
    return reason === ATTEMPT_REASONS.givenUp
      ? 'The node stopped responding, so the job was queued for other nodes. It is unknown whether this run continued.'
      : 'The node accepted the job and later no longer listed it, for example after a restart. It is unknown how far the run got.'
  if (result === 'absent')
    return reason === ATTEMPT_REASONS.takenBack
      ? 'The node did not start the job, so it was removed from the node’s queue before it ran.'
      : 'The job never reached the node and did not run there.'
  return null
}

function toneOf({ result, state }: Attempt): string {
  if (result === 'succeeded') return 'ok'
  if (result === 'failed' || result === 'refused') return 'bad'
  if (result === 'lost' || result === 'unclear') return 'lost'
  if (result !== null) return 'off'
  return state === 'uncertain' ? 'wait' : 'run'
}

function formatGap(gapMs: number): string {
  return gapMs < 1000 ? `${gapMs} ms` : `${(gapMs / 1000).toFixed(1)} s`
}

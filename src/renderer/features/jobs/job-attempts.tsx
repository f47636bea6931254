import { Button, Flex, Group } from '@mantine/core'
import {
  type Attempt,
  type AttemptNumber,
  type AttemptResult,
  type AttemptState,
  type JobDetail
} from '../../../shared/contract/index.ts'
import { keptBytesOfCutLog } from '../../../shared/cut-log.ts'
import { formatRuntime, utcDay } from '../../../shared/time.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import { formatBytes, formatMemory, formatSeconds } from '../../ui/numbers.ts'
import { FieldRow } from '../../ui/panel.tsx'
import { EmptyState } from '../../ui/states.tsx'
import { formatInstant } from '../../ui/time.tsx'
import classes from './job-detail-pane.module.css'
import { texts } from '../../../shared/texts/ui/jobs.ts'

interface JobAttemptsProps {
  detail: Pick<JobDetail, 'attempts' | 'timeline'>
  nodeName: (id: string) => string
  onLog: (number: AttemptNumber) => void
}

export function JobAttempts({ detail: { attempts, timeline }, nodeName, onLog }: JobAttemptsProps) {
  if (attempts.length === 0) return <EmptyState title={texts.noAttemptsYet}>{texts.noAttemptsHint}</EmptyState>
  return attempts.toReversed().map((attempt) => (
    <section key={attempt.number} className={`${classes.attempt} box`} aria-label={texts.attemptLabel(attempt.number)}>
      <Group component="header" gap={10} wrap="nowrap" mb={2}>
        <strong>
          {attempt.number} · {nodeName(attempt.nodeId)}
        </strong>
        <span className={`tone-${toneOf(attempt)}`}>{resultWord(attempt)}</span>
        <span className="grow" />
        <Button variant="subtle" onClick={() => onLog(attempt.number)}>
          {texts.log}
        </Button>
      </Group>
      {attempt.reason !== null && <FieldRow label={texts.reason}>{attempt.reason}</FieldRow>}
      {meaningOf(attempt) !== null && <p className={`${classes.meaning} dim`}>{meaningOf(attempt)}</p>}
      <FieldRow label={texts.sent}>{formatInstant(attempt.sentAtMs)}</FieldRow>
      {attempt.acceptedAtMs !== null && (
        <FieldRow label={texts.accepted}>{texts.gapLater(formatGap(attempt.acceptedAtMs - attempt.sentAtMs))}</FieldRow>
      )}
      {attempt.startedAtMs !== null && (
        <FieldRow label={texts.ran}>
          {attempt.endedAtMs === null
            ? texts.ranSince(formatInstant(attempt.startedAtMs))
            : formatRuntime(attempt.endedAtMs - attempt.startedAtMs)}
        </FieldRow>
      )}
      {(attempt.exitCode !== null || attempt.signal !== null) && (
        <FieldRow label={texts.exit}>{attempt.signal ?? texts.exitCode(attempt.exitCode!)}</FieldRow>
      )}
      {attempt.limitHit !== null && (
        <FieldRow label={texts.limitHit}>
          <span className="tone-bad">{attempt.limitHit}</span>
        </FieldRow>
      )}
      {attempt.peakMemoryBytes !== null && (
        <FieldRow label={texts.peakMemory}>{formatMemory(attempt.peakMemoryBytes)}</FieldRow>
      )}
      {attempt.cpuSeconds !== null && <FieldRow label={texts.cpuTime}>{formatSeconds(attempt.cpuSeconds)}</FieldRow>}
      {attempt.pid !== null && <FieldRow label={texts.process}>{attempt.pid}</FieldRow>}
      <FieldRow label={texts.jobIdOnNode}>
        <Flex component="span" align="center" gap={4}>
          <span className="mono ellipsis" title={attempt.jobid}>
            {attempt.jobid}
          </span>
          <CopyButton value={attempt.jobid} what={texts.theJobId} />
        </Flex>
      </FieldRow>
      <FieldRow label={texts.log}>{logPlace(attempt, keptBytesOfCutLog(timeline, attempt.number))}</FieldRow>
    </section>
  ))
}

function logPlace({ logArchived, logDeletedAtMs }: Attempt, keptBytes: number | null): string {
  if (logDeletedAtMs !== null) return texts.logDeletedOn(utcDay(logDeletedAtMs))
  if (logArchived && keptBytes !== null) return texts.logIncomplete(formatBytes(keptBytes))
  return logArchived ? texts.logArchived : texts.logOnNode
}

const STATE_WORDS: Record<AttemptState, string> = {
  sending: texts.sending,
  uncertain: texts.stateUncertain,
  accepted: texts.stateAccepted,
  running: texts.stateRunning,
  finishing: texts.stateFinishing,
  ended: texts.stateEnded
}
const RESULT_WORDS: Record<AttemptResult, string> = {
  succeeded: texts.succeeded,
  failed: texts.failed,
  cancelled: texts.cancelled,
  lost: texts.lost,
  unclear: texts.unclear,
  refused: texts.resultRefused,
  absent: texts.resultAbsent
}

/** `lost` and `absent` have several causes, which the reason distinguishes. */
function resultWord({ result, reasonCode, state }: Attempt): string {
  if (result === 'lost' && reasonCode === 'reason.given_up') return texts.givenUp
  if (result === 'absent' && reasonCode === 'reason.taken_back') return texts.resultWithdrawn
  return result === null ? STATE_WORDS[state] : RESULT_WORDS[result]
}

function meaningOf({ result, reasonCode }: Attempt): string | null {
  if (result === 'lost') return reasonCode === 'reason.given_up' ? texts.givenUpHint : texts.lostHint
  if (result === 'absent') return reasonCode === 'reason.taken_back' ? texts.withdrawnHint : texts.absentHint
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
  return gapMs < 1000 ? texts.milliseconds(gapMs) : `${(gapMs / 1000).toFixed(1)} s`
}

import type { CSSProperties } from 'react'
import type { JobDetail, Transition, TransitionKind } from '../../../shared/contract/index.ts'
import { formatAge } from '../../../shared/time.ts'
import type { Tone } from '../../ui/status.tsx'
import { STATUS_LOOK } from '../../ui/status.tsx'
import { formatInstant } from '../../ui/time.tsx'
import { WaitingText } from '../../ui/waiting.tsx'
import { evidenceLine, keyWords, timeOfDayMs, valueWords } from './evidence-words.ts'
import { formatDay, formatMoment, localZone } from '../../ui/moment.ts'
import classes from './job-timeline.module.css'
import { texts } from '../../../shared/texts/ui/jobs.ts'

interface JobTimelineProps {
  detail: JobDetail
  nodeName: (id: string) => string
  /** When the job's node stopped responding. null: it responds. */
  unknown: { sinceMs: number; lastSeenAtMs: number | null } | null
}

export function JobTimeline({ detail: { job, timeline }, nodeName, unknown }: JobTimelineProps) {
  const steps = timeline.filter((step, index) => !isRepeated(step, timeline[index + 1]))
  return (
    <ol className={classes.steps}>
      {steps.map((step, index) => {
        const before = steps[index - 1]
        return (
          <li key={step.sequence} {...toned(toneOf(step, job))}>
            <Waited before={before} step={step} />
            <Step step={step} before={before} nodeName={nodeName} />
          </li>
        )
      })}
      {job.state === 'queued' && (
        <li {...toned('wait')}>
          <div className={classes.step}>
            <span>{texts.waiting}</span>
          </div>
          <p className={classes.more}>
            <WaitingText waiting={job.waiting} />
          </p>
        </li>
      )}
      {unknown !== null && (
        <li {...toned('lost')}>
          <div className={classes.step}>
            <span className={`${classes.text} grow break`}>
              {texts.nodeUnreachable(job.nodeId === null ? texts.theNode : nodeName(job.nodeId))}
            </span>
            <time dateTime={new Date(unknown.sinceMs).toISOString()} title={formatInstant(unknown.sinceMs)}>
              {formatMoment(unknown.sinceMs, Date.now())}
            </time>
          </div>
          {unknown.lastSeenAtMs !== null && (
            <p className={classes.more}>{texts.lastResponseAt(formatMoment(unknown.lastSeenAtMs, Date.now()))}</p>
          )}
        </li>
      )}
    </ol>
  )
}

const toned = (tone: Tone = 'off') => ({ 'data-tone': tone, style: { '--tone': `var(--${tone})` } as CSSProperties })

/**
 * Whether the next step repeats this one. An adopted run starts and confirms its attempt at the same time, so one
 * entry is enough.
 */
const isRepeated = (step: Transition, next: Transition | undefined) =>
  next !== undefined && next.text === step.text && next.atMs === step.atMs

interface StepProps {
  step: Transition
  before: Transition | undefined
  nodeName: (id: string) => string
}

function Step({ step, before, nodeName }: StepProps) {
  const evidence = Object.entries(step.evidence)
  const head = (
    <>
      <span className={`${classes.text} grow break`}>{step.text}</span>
      <time dateTime={new Date(step.atMs).toISOString()} title={formatInstant(step.atMs)}>
        {formatStepTime(step.atMs, before?.atMs)}
      </time>
    </>
  )
  const meaning = KIND_WORDS[step.kind]
  const explained = meaning !== undefined && <p className={classes.more}>{meaning}</p>
  if (evidence.length === 0)
    return (
      <>
        <div className={classes.step}>{head}</div>
        {explained}
      </>
    )
  return (
    <details>
      <summary className={classes.step}>
        {head}
        <small className={classes.more}>{evidenceLine(step, nodeName)}</small>
      </summary>
      {explained}
      <dl className={`${classes.evidence} box small`}>
        {evidence.map(([key, value]) => (
          <div key={key}>
            <dt>{keyWords(key)}</dt>
            <dd className="mono">{valueWords(key, value, nodeName)}</dd>
          </div>
        ))}
      </dl>
    </details>
  )
}

function Waited({ before, step }: { before: Transition | undefined; step: Transition }) {
  if (step.kind !== 'sending' || before === undefined || step.atMs - before.atMs < 1000) return null
  return <p className={`${classes.waited} small`}>{texts.waited(formatAge(step.atMs - before.atMs))}</p>
}

const KIND_TONE: Partial<Record<TransitionKind, Tone>> = {
  running: 'run',
  uncertain: 'wait',
  vanished: 'wait',
  refused: 'bad',
  absent: 'wait',
  cancel_asked: 'off',
  cancel_sent: 'off',
  limit_hit: 'bad',
  given_up: 'lost',
  seen_again: 'run',
  log_kept: 'lost',
  taken_back: 'wait'
}

const KIND_WORDS: Partial<Record<TransitionKind, string>> = {
  limit_hit: texts.stepLimitHit,
  released: texts.stepReleased,
  given_up: texts.stepGivenUp,
  seen_again: texts.stepSeenAgain,
  log_kept: texts.stepLogKept,
  taken_back: texts.stepWithdrawn,
  changed: texts.stepChanged
}

function toneOf(step: Transition, job: JobDetail['job']): Tone | undefined {
  if (step.kind === 'ended' && job.outcome !== null) return STATUS_LOOK[job.outcome].tone
  return KIND_TONE[step.kind]
}

/**
 * `03:00:00.012`, or `+9 ms` and `+4.2 s` if the previous step was less than a minute before. Includes the day if it
 * differs from the previous step's or, for the first step, from today.
 */
export function formatStepTime(atMs: number, beforeMs: number | undefined, nowMs = Date.now()): string {
  const sinceMs = beforeMs === undefined ? Number.POSITIVE_INFINITY : atMs - beforeMs
  if (sinceMs >= 0 && sinceMs < 1000) return texts.plusMilliseconds(Math.round(sinceMs))
  if (sinceMs >= 0 && sinceMs < 60_000) return texts.plusSeconds((sinceMs / 1000).toFixed(1))
  const [day, before] = [atMs, beforeMs ?? nowMs].map((oneMs) => formatDay(oneMs, nowMs, localZone()))
  return day === before ? timeOfDayMs.format(atMs) : `${day}, ${timeOfDayMs.format(atMs)}`
}

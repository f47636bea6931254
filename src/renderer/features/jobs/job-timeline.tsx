import type { JobDetail, Transition, TransitionKind } from '../../../shared/contract/index.ts'
import { formatAge } from '../../../shared/time.ts'
import { formatBytes } from '../../ui/numbers.ts'
import type { Tone } from '../../ui/status.tsx'
import { STATUS_LOOK } from '../../ui/status.tsx'
import { formatInstant } from '../../ui/time.tsx'
import { WaitingText } from '../../ui/waiting.tsx'
import classes from './job-timeline.module.css'

interface JobTimelineProps {
  detail: JobDetail
  nodeName: (id: string) => string
  /** Set while its node does not respond; null: the steps are current. */
  unknown: { sinceMs: number; lastSeenAtMs: number | null } | null
}

/** Every transition with its time and evidence, then the current waiting reason, or that the state is unknown. */
export function JobTimeline({ detail: { job, timeline }, nodeName, unknown }: JobTimelineProps) {
  const steps = timeline.filter((step, index) => !isSaidAgain(step, timeline[index + 1]))
  return (
    <ol className={classes.steps}>
      {steps.map((step, index) => {
        const before = steps[index - 1]
        return (
          <li key={step.sequence} data-tone={toneOf(step, job)}>
            <Waited before={before} step={step} />
            <Step step={step} before={before} nodeName={nodeName} />
          </li>
        )
      })}
      {job.state === 'queued' && (
        <li data-tone="wait">
          <div className={classes.step}>
            <span>Waiting</span>
          </div>
          <p className={classes.more}>
            <WaitingText waiting={job.waiting} />
          </p>
        </li>
      )}
      {unknown !== null && (
        <li data-tone="lost">
          <div className={classes.step}>
            <span className={classes.text}>
              {job.nodeId === null ? 'The node' : nodeName(job.nodeId)} is unreachable: state unknown since then
            </span>
            <time dateTime={new Date(unknown.sinceMs).toISOString()} title={formatInstant(unknown.sinceMs)}>
              {clock.format(unknown.sinceMs)}
            </time>
          </div>
          {unknown.lastSeenAtMs !== null && (
            <p className={classes.more}>last response at {clock.format(unknown.lastSeenAtMs)}</p>
          )}
        </li>
      )}
    </ol>
  )
}

/** Taking over a run begins and confirms an attempt at the same moment: the second entry would add nothing. */
const isSaidAgain = (step: Transition, next: Transition | undefined) =>
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
      <span className={classes.text}>{step.text}</span>
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
        <small className={classes.more}>
          {evidence
            .map(([key, value]) => `${wordsOf(key)} ${shorten(valueOf(key, value, nodeName), 60)}`)
            // `Running, pid 5` need not repeat the pid.
            .filter((words) => !step.text.includes(words))
            .join(', ')}
        </small>
      </summary>
      {explained}
      <dl className={classes.evidence}>
        {evidence.map(([key, value]) => (
          <div key={key}>
            <dt>{wordsOf(key)}</dt>
            <dd className="mono">{valueOf(key, value, nodeName)}</dd>
          </div>
        ))}
      </dl>
    </details>
  )
}

/** A noticeable wait between being queued and being sent. */
function Waited({ before, step }: { before: Transition | undefined; step: Transition }) {
  if (step.kind !== 'sending' || before === undefined || step.atMs - before.atMs < 1000) return null
  return <p className={classes.waited}>waited {formatAge(step.atMs - before.atMs)}</p>
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
  taken_back: 'wait'
}

/** What a step of these kinds means, in addition to the engine's text. */
const KIND_WORDS: Partial<Record<TransitionKind, string>> = {
  limit_hit: 'The job exceeded its wall time. Scrapdeck asks it to stop and kills it if it does not.',
  released: 'The job is no longer held: it waits for its turn.',
  given_up: 'The node was given up, so the job was queued for other nodes. It may run twice.',
  seen_again: 'The node lists the job again after it was given up or lost, or lists it twice.',
  taken_back:
    'The node accepted the job but did not start it. It was removed from the node’s queue and did not run there.',
  changed: 'An operator changed the priority, order or placement.'
}

function toneOf(step: Transition, job: JobDetail['job']): Tone | undefined {
  if (step.kind === 'ended' && job.outcome !== null) return STATUS_LOOK[job.outcome].tone
  return KIND_TONE[step.kind]
}

/** `03:00:00.012`, or `+9 ms` and `+4.2 s` if the previous step was less than a minute ago. */
export function formatStepTime(atMs: number, beforeMs: number | undefined): string {
  const sinceMs = beforeMs === undefined ? Number.POSITIVE_INFINITY : atMs - beforeMs
  if (sinceMs >= 0 && sinceMs < 1000) return `+${Math.round(sinceMs)} ms`
  if (sinceMs >= 0 && sinceMs < 60_000) return `+${(sinceMs / 1000).toFixed(1)} s`
  return clock.format(atMs)
}

const clock = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3
})

/** `freeSlots` and `finish_reason` as words. */
function wordsOf(key: string): string {
  return key
    .replace(/_/g, ' ')
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replace(/ at ms$/, ' at')
    .replace(/ ms$/, '')
    .replace(/ bytes$/, '')
}

function valueOf(key: string, value: unknown, nodeName: (id: string) => string): string {
  if (typeof value === 'number' && /(At|Before|Since|Until)Ms$/.test(key)) return clock.format(value)
  if (typeof value === 'number' && key.endsWith('Ms')) return `${value} ms`
  if (key === 'exit') return exitWords(value)
  if (typeof value === 'number' && key.endsWith('Bytes')) return formatBytes(value)
  if (typeof value === 'string') return key === 'nodeId' ? nodeName(value) : value
  if (value === true || value === false) return value ? 'yes' : 'no'
  return value === null ? 'none' : JSON.stringify(value)
}

/** In the local node's format: `{ code: 1, signal: null }`. */
function exitWords(value: unknown): string {
  const { code, signal } = (value ?? {}) as { code?: unknown; signal?: unknown }
  if (typeof signal === 'string') return `signal ${signal}`
  return typeof code === 'number' ? `code ${code}` : JSON.stringify(value)
}

function shorten(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text
}

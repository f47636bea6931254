import { IconCheck, IconCircle, IconClock } from '@tabler/icons-react'
import type { Transition } from '../../../shared/contract/index.ts'
import { stopsOf } from '../../../shared/stop-ladder.ts'
import { formatRuntime } from '../../../shared/time.ts'
import { useNow } from '../../ui/clock.ts'
import { formatInstant } from '../../ui/time.tsx'
import classes from './cancel-steps.module.css'
import { timeOfDay } from './evidence-words.ts'
import { texts } from '../../../shared/texts/ui/jobs.ts'

export interface CancelStep {
  text: string
  state: 'sent' | 'next' | 'later'
  /** null: after the previous step. */
  atMs: number | null
}

/** The signals that were sent, the next signal, and KILL if it is still to come. */
export function listCancelSteps(timeline: readonly Transition[]): CancelStep[] {
  const { sent, next, kill } = stopsOf(timeline)
  const steps = sent.map(({ text, atMs }): CancelStep => ({ text, state: 'sent', atMs }))
  if (next === null) return steps
  const wasKilled = sent.some(({ step }) => step === 'kill')
  steps.push({ text: STEP_TITLES[wasKilled ? 'kill_again' : next.step], state: 'next', atMs: next.atMs })
  if (kill !== null) steps.push({ text: STEP_TITLES.kill, state: 'later', atMs: kill.atMs })
  return steps
}

const STEP_TITLES = { stop_now: texts.stopNowTitle, kill: texts.killTitle, kill_again: texts.killAgainTitle }
const MARKS = { sent: IconCheck, next: IconClock, later: IconCircle }

export function CancelSteps({ timeline }: { timeline: readonly Transition[] }) {
  const steps = listCancelSteps(timeline)
  if (steps.length === 0) {
    return (
      <p className="dim" role="status">
        {texts.cancelRequestedHint}
      </p>
    )
  }
  return (
    <ol className={`${classes.steps} box`} aria-label={texts.cancelSteps}>
      {steps.map(({ text, state, atMs }, index) => {
        const Mark = MARKS[state]
        return (
          <li key={index} data-state={state}>
            <Mark size={14} aria-label={state === 'sent' ? texts.done : state === 'next' ? texts.next : texts.later} />
            <span className="grow">{text}</span>
            {state === 'next' && atMs !== null && <Countdown atMs={atMs} />}
            {atMs === null ? (
              <span className="faint">{texts.afterThat}</span>
            ) : (
              <time dateTime={new Date(atMs).toISOString()} title={formatInstant(atMs)}>
                {timeOfDay.format(atMs)}
              </time>
            )}
          </li>
        )
      })}
    </ol>
  )
}

function Countdown({ atMs }: { atMs: number }) {
  const leftMs = atMs - useNow()
  return (
    <strong role="timer" className={classes.left}>
      {leftMs <= 0 ? texts.now : texts.inTime(formatRuntime(leftMs))}
    </strong>
  )
}

import type { AttemptResult, AttemptState, Job, TransitionKind } from '../../shared/contract/index.ts'

type JobState = Job['state']

interface AttemptRule {
  /** null: before it there was no attempt. */
  from: readonly (AttemptState | null)[]
  /** Empty: the state stays, and only the entry (with what it brings) is written. */
  to: readonly AttemptState[]
  /** What becomes of its job if this is its newest attempt. An older one only tells that it may have run twice. */
  job: JobRule
  /** With `to: ['ended']`: how it may have ended. */
  results?: readonly AttemptResult[]
}

interface JobRule {
  from: readonly (JobState | null)[]
  to: readonly JobState[]
}

export const LIVE_STATES = ['sending', 'uncertain', 'accepted', 'running', 'finishing'] as const
/** Before its node has shown its end. */
export const UNFINISHED_STATES = ['sending', 'uncertain', 'accepted', 'running'] as const

const ANY_JOB: JobRule = { from: ['queued', 'starting', 'running', 'ended'], to: [] }
const LIVE_JOB: JobRule = { from: ['starting', 'running'], to: [] }
const RUNS: JobRule = { from: ['starting', 'running'], to: ['running'] }
/** Which of the two `outcomeOf` decides (after-change.ts). */
const ENDS_OR_GOES_BACK: JobRule = { from: ['starting', 'running'], to: ['ended', 'queued'] }

/**
 * Every change of an attempt, by the kind of its timeline entry: from which states it may come, where it leads, and
 * what becomes of the job. The store asserts it with each change that it applies, the engine's belief
 * (dispatch/live-attempts.ts) with each that it makes, and the simulation's checker reads every timeline by it.
 *
 *   sending --accepted--> accepted --running--> running --finishing--> finishing
 *      |                   ^     |              |     ^                  (states in between may be left out)
 *      |          accepted |     | uncertain    +-----+ vanished: in no list, but its log grows
 *      +- uncertain -> uncertain <+ (it is being taken back)
 *
 *   sending             --refused-->           ended
 *   sending, uncertain  --absent-->            ended
 *   uncertain           --taken_back-->        ended
 *   any live state      --ended, given_up-->   ended
 *   ended               --found_again-->       accepted, running, finishing: while its job waits, not started again
 *
 * The state stays with `cancel_asked`, `cancel_sent`, `limit_hit` and `seen_again`.
 */
export const ATTEMPT_TRANSITIONS = {
  sending: { from: [null], to: ['sending'], job: { from: ['queued'], to: ['starting'] } },
  accepted: { from: ['sending', 'uncertain'], to: ['accepted'], job: LIVE_JOB },
  uncertain: { from: ['sending', 'accepted'], to: ['uncertain'], job: LIVE_JOB },
  running: { from: ['sending', 'uncertain', 'accepted'], to: ['running'], job: RUNS },
  vanished: { from: UNFINISHED_STATES, to: ['running'], job: RUNS },
  finishing: { from: UNFINISHED_STATES, to: ['finishing'], job: RUNS },
  refused: { from: ['sending'], to: ['ended'], job: ENDS_OR_GOES_BACK, results: ['refused'] },
  absent: { from: ['sending', 'uncertain'], to: ['ended'], job: ENDS_OR_GOES_BACK, results: ['absent'] },
  taken_back: { from: ['uncertain'], to: ['ended'], job: ENDS_OR_GOES_BACK, results: ['absent'] },
  given_up: { from: LIVE_STATES, to: ['ended'], job: ENDS_OR_GOES_BACK, results: ['lost'] },
  ended: {
    from: LIVE_STATES,
    to: ['ended'],
    job: ENDS_OR_GOES_BACK,
    results: ['succeeded', 'failed', 'cancelled', 'lost', 'refused']
  },
  found_again: {
    from: ['ended'],
    to: ['accepted', 'running', 'finishing'],
    job: { from: ['queued'], to: ['starting', 'running'] }
  },
  cancel_asked: { from: UNFINISHED_STATES, to: [], job: LIVE_JOB },
  /** Also to a run that came back after its attempt had ended. */
  cancel_sent: { from: [...UNFINISHED_STATES, 'ended'], to: [], job: ANY_JOB },
  limit_hit: { from: ['uncertain', 'accepted', 'running'], to: [], job: LIVE_JOB },
  seen_again: { from: [...LIVE_STATES, 'ended'], to: [], job: ANY_JOB }
} as const satisfies Partial<Record<TransitionKind, AttemptRule>>

/**
 * What is written of a job alone; the rest it does with its newest attempt.
 *
 *   queued --sending--> starting --running, vanished, finishing--> running
 *    |  ^  ^                |                                        |
 *    |  |  +----------------+--- an end, and it is tried again ------+
 *    |  |                   +--- an end, and it is not --------------+---> ended
 *    |  +--- restored (a cancel is undone) ----------------------------- ended
 *    +------ ended: cancelled, skipped or expired in the queue --------> ended
 *
 *   queued --found_again--> starting, running
 */
export const JOB_TRANSITIONS = {
  queued: { from: [null], to: ['queued'] },
  released: { from: ['queued'], to: [] },
  changed: { from: ['queued'], to: [] },
  cancel_asked: LIVE_JOB,
  ended: { from: ['queued'], to: ['ended'] },
  restored: { from: ['ended'], to: ['queued'] }
} as const satisfies Partial<Record<TransitionKind, JobRule>>

/** What can happen to an attempt. */
export type AttemptEvent = keyof typeof ATTEMPT_TRANSITIONS
/** What ends one. */
export type EndingEvent = {
  [Event in AttemptEvent]: (typeof ATTEMPT_TRANSITIONS)[Event] extends { to: readonly ['ended'] } ? Event : never
}[AttemptEvent]
/** What leaves its state as it is. */
export type StayingEvent = {
  [Event in AttemptEvent]: (typeof ATTEMPT_TRANSITIONS)[Event] extends { to: readonly [] } ? Event : never
}[AttemptEvent]
/** What moves a live one to another live state. */
export type MovingEvent = Exclude<AttemptEvent, EndingEvent | StayingEvent | 'sending' | 'found_again'>

/** Where an attempt may be after an event; empty: there is no such transition. */
export function attemptStatesAfter(from: AttemptState | null, event: TransitionKind): readonly AttemptState[] {
  return statesAfter(attemptRule(event), from)
}

/** Where a job may be after an event of its own, or of its newest attempt; empty: there is no such transition. */
export function jobStatesAfter(
  from: JobState | null,
  event: TransitionKind,
  options: { newestAttempt: boolean }
): readonly JobState[] {
  const rule = options.newestAttempt ? attemptRule(event)?.job : (JOB_TRANSITIONS as RulesByKind<JobRule>)[event]
  return statesAfter(rule, from)
}

/**
 * Throws where the table has no such transition: that is an error of ours, whatever a node may do. `to` absent: the
 * state stays.
 */
export function assertTransition(
  from: AttemptState,
  { kind, to = from, result }: { kind: TransitionKind; to?: AttemptState; result?: AttemptResult }
): void {
  const rule = attemptRule(kind)
  const isLegal =
    rule !== undefined &&
    statesAfter(rule, from).includes(to) &&
    (rule.results === undefined ? result === undefined : result !== undefined && rule.results.includes(result))
  if (isLegal) return
  const how = result === undefined ? '' : ` (${result})`
  throw new Error(`No attempt goes from ${from} to ${to}${how} by ${kind}: see job-rules/transitions.ts`)
}

type RulesByKind<Rule> = Partial<Record<TransitionKind, Rule>>

function attemptRule(event: TransitionKind): AttemptRule | undefined {
  return (ATTEMPT_TRANSITIONS as RulesByKind<AttemptRule>)[event]
}

function statesAfter<State>(
  rule: { from: readonly (State | null)[]; to: readonly State[] } | undefined,
  from: State | null
): readonly State[] {
  if (rule === undefined || !rule.from.includes(from)) return []
  return rule.to.length > 0 || from === null ? rule.to : [from]
}

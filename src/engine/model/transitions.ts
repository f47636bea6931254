import { OUTCOMES } from '../../shared/choices.ts'
import type { AttemptResult, AttemptState, Job, TransitionKind } from '../../shared/contract/index.ts'

type JobState = Job['state']

interface AttemptRule {
  /** null: the attempt does not exist yet. */
  from: readonly (AttemptState | null)[]
  /** Empty: the state does not change, and only the entry and its details are written. */
  to: readonly AttemptState[]
  /**
   * The effect on the job if this is its newest attempt. An older attempt can only flag that the job may have run
   * twice.
   */
  job: JobRule
  results?: readonly AttemptResult[]
}

interface JobRule {
  from: readonly (JobState | null)[]
  to: readonly JobState[]
}

export const LIVE_STATES = ['sending', 'uncertain', 'accepted', 'running', 'finishing'] as const
/** Live states in which the node has not reported the end yet. */
export const UNFINISHED_STATES = ['sending', 'uncertain', 'accepted', 'running'] as const

const ANY_JOB: JobRule = { from: ['queued', 'starting', 'running', 'ended'], to: [] }
const LIVE_JOB: JobRule = { from: ['starting', 'running'], to: [] }
const RUNS: JobRule = { from: ['starting', 'running'], to: ['running'] }
/** `jobOutcomeAfter` (after-change.ts) decides between the two. */
const ENDS_OR_GOES_BACK: JobRule = { from: ['starting', 'running'], to: ['ended', 'queued'] }

/**
 * Every attempt change, by the kind of its timeline entry: allowed source states, target states, and the effect on the
 * job. The store and `LiveAttempts` (dispatch/live-attempts.ts) check each change against this table, and the
 * simulation's checker checks every timeline.
 *
 * sending --accepted--> accepted --running--> running --finishing--> finishing
 * |                   ^     |              |     ^                  (states in between can be skipped)
 * |          accepted |     | uncertain    +-----+ vanished: in no list, but its log grows
 * +- uncertain -> uncertain <+ (it is being withdrawn)
 *
 * sending             --refused-->           ended
 * sending, uncertain  --absent-->            ended
 * uncertain           --taken_back-->        ended
 * any live state      --ended, given_up-->   ended
 * ended               --found_again-->       accepted, running, finishing: only if its job is queued, not restarted
 *
 * `cancel_asked`, `cancel_sent`, `limit_hit`, `seen_again` and `log_kept` leave the state unchanged.
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
    results: [...OUTCOMES, 'refused']
  },
  found_again: {
    from: ['ended'],
    to: ['accepted', 'running', 'finishing'],
    job: { from: ['queued'], to: ['starting', 'running'] }
  },
  cancel_asked: { from: UNFINISHED_STATES, to: [], job: LIVE_JOB },
  /** Also allowed for a run that reappears after its attempt ended. */
  cancel_sent: { from: [...UNFINISHED_STATES, 'ended'], to: [], job: ANY_JOB },
  limit_hit: { from: ['uncertain', 'accepted', 'running'], to: [], job: LIVE_JOB },
  seen_again: { from: [...LIVE_STATES, 'ended'], to: [], job: ANY_JOB },
  log_kept: { from: ['ended'], to: [], job: ANY_JOB }
} as const satisfies Partial<Record<TransitionKind, AttemptRule>>

/**
 * Job changes that do not come from an attempt. All others follow the job's newest attempt.
 *
 *   queued --sending--> starting --running, vanished, finishing--> running
 *    |  ^  ^                |                                        |
 *    |  |  +----------------+--- attempt ended, job is retried ------+
 *    |  |                   +--- attempt ended, job is not retried --+---> ended
 *    |  +--- restored (a cancel is undone) ----------------------------- ended
 *    +------ ended: cancelled, skipped or expired in the queue, or -----> ended
 *            failed there: no node can import its egg
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

export type AttemptEvent = keyof typeof ATTEMPT_TRANSITIONS
export type EndingEvent = {
  [Event in AttemptEvent]: (typeof ATTEMPT_TRANSITIONS)[Event] extends { to: readonly ['ended'] } ? Event : never
}[AttemptEvent]
export type StayingEvent = {
  [Event in AttemptEvent]: (typeof ATTEMPT_TRANSITIONS)[Event] extends { to: readonly [] } ? Event : never
}[AttemptEvent]
export type MovingEvent = Exclude<AttemptEvent, EndingEvent | StayingEvent | 'sending' | 'found_again'>

/** Empty: there is no such transition. */
export function attemptStatesAfter(from: AttemptState | null, event: TransitionKind): readonly AttemptState[] {
  return statesAfter(attemptRule(event), from)
}

/** The state after an event of the job itself or of its newest attempt. Empty: there is no such transition. */
export function jobStatesAfter(
  from: JobState | null,
  event: TransitionKind,
  options: { newestAttempt: boolean }
): readonly JobState[] {
  const rule = options.newestAttempt ? attemptRule(event)?.job : (JOB_TRANSITIONS as RulesByKind<JobRule>)[event]
  return statesAfter(rule, from)
}

/** Throws if the table has no such transition, which is always a bug in Scrapdeck. No `to`: the state is unchanged. */
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
  throw new Error(`No attempt goes from ${from} to ${to}${how} by ${kind}: see model/transitions.ts`)
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

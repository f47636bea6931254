import type { Attempt, AttemptState, Job, Transition, TransitionKind } from '../../src/shared/contract/index.ts'
import { attemptStatesAfter, jobStatesAfter } from '../../src/engine/model/transitions.ts'

/**
 * Transitions that can occur only once in each life of an attempt. An attempt that is found again starts another
 * life.
 */
const ONCE_A_LIFE: TransitionKind[] = ['vanished', 'limit_hit']

/**
 * Describes what in a timeline violates the table of transitions (I4). An entry can lead to several states, so this
 * tracks all possible ones. The stored state must be among them at the end.
 */
export function findIllegalTransitions(
  job: Pick<Job, 'state'>,
  attempts: readonly Attempt[],
  timeline: readonly Transition[]
): string[] {
  return [
    ...attempts.flatMap((attempt) => findInAttempt(attempt, timeline)),
    ...findInJob(job, timeline),
    ...attempts.flatMap((attempt) => findRepeated(attempt, timeline))
  ]
}

function findInAttempt({ number, state }: Attempt, timeline: readonly Transition[]): string[] {
  let possible: (AttemptState | null)[] = [null]
  let last = 'nothing'
  for (const { kind, attemptNumber } of timeline) {
    if (attemptNumber !== number) continue
    possible = possible.flatMap((one) => attemptStatesAfter(one, kind))
    if (possible.length === 0) return [`attempt ${number} is ${kind} after ${last}`]
    last = kind
  }
  return possible.includes(state) ? [] : [`attempt ${number} is ${state}, and the last that is told of it is ${last}`]
}

function findInJob({ state }: Pick<Job, 'state'>, timeline: readonly Transition[]): string[] {
  let possible: (Job['state'] | null)[] = [null]
  let last = 'nothing'
  let newest: number | null = null
  for (const { kind, attemptNumber } of timeline) {
    if (kind === 'sending') newest = attemptNumber
    // Only the newest attempt determines the job's state.
    if (attemptNumber !== null && attemptNumber !== newest) continue
    const newestAttempt = attemptNumber !== null
    possible = [...new Set(possible.flatMap((one) => jobStatesAfter(one, kind, { newestAttempt })))]
    if (possible.length === 0) return [`the job is ${kind} after ${last}`]
    last = kind
  }
  return possible.includes(state) ? [] : [`the job is ${state}, and the last that is told of it is ${last}`]
}

function findRepeated({ number }: Attempt, timeline: readonly Transition[]): string[] {
  const own = timeline.filter(({ attemptNumber }) => attemptNumber === number).map(({ kind }) => kind)
  const times = (kind: TransitionKind) => own.filter((one) => one === kind).length
  const lives = 1 + times('found_again')
  const again = own.some((kind, index) => kind === 'seen_again' && own[index + 1] === kind)
  return [
    ...ONCE_A_LIFE.filter((kind) => times(kind) > lives).map(
      (kind) => `attempt ${number} is ${kind} ${times(kind)} times`
    ),
    ...(again ? [`attempt ${number} is seen_again twice running`] : [])
  ]
}

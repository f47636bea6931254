import { isScrapdeckError } from '../../shared/errors.ts'
import type { LateCause } from '../../shared/texts/en-schedules.ts'
import { encode, say } from '../../shared/texts/message.ts'
import type { NewFiring } from '../model/records.ts'
import { decideOverlap, type Fate, type LiveFiring } from './fates.ts'
import type { LiveJobs } from './live-jobs.ts'
import { type JobMaker, makeFiring } from './make-firing.ts'
import { WEIGHT_AT_ONCE } from './template.ts'
import { type DecidedFirings, judgeDue, type ScheduleState } from './schedule-state.ts'

interface Surroundings {
  nowMs: number
  cause: LateCause
  /** Whether the engine has just started and may not know the nodes' projects yet. If so, retry what is not found. */
  isSettling: boolean
  live: Pick<LiveJobs, 'readFirings'>
  maker: JobMaker
}

/** Decides the due times of a schedule in order. Writes nothing. Rejects if the decision must be retried. */
export async function decideFirings(
  state: ScheduleState,
  { nowMs, cause, isSettling, live, maker }: Surroundings
): Promise<DecidedFirings> {
  const { stored } = state
  const { overlap, maxRuns } = stored.settings
  const { fates, doneUntilMs } = judgeDue(state, { nowMs, cause })
  const decided: DecidedFirings = { state, firings: [], cancels: [], doneUntilMs, weight: 0 }
  let running: LiveFiring[] | null = null
  let runCount = stored.runCount
  for (const fate of fates) {
    if (fate.state !== 'fired') add(withoutJobs(fate, fate))
    else if (maxRuns !== null && runCount >= maxRuns) {
      const message = say('firing.max_runs', { runs: maxRuns })
      add(withoutJobs(fate, { state: 'skipped', reason: 'max_runs', message }))
    } else {
      running ??= overlap === 'allow' ? [] : await live.readFirings(stored.id)
      await fire(fate, running)
      if (decided.weight > WEIGHT_AT_ONCE && fate !== fates.at(-1)) {
        decided.doneUntilMs = fate.nominalMs.at(-1)!
        break
      }
    }
  }
  const last = decided.firings.at(-1)
  if (last !== undefined) last.doneUntilMs = decided.doneUntilMs
  return decided

  async function fire(fate: Fate, before: LiveFiring[]): Promise<void> {
    const nominalMs = fate.nominalMs[0]!
    const decision = decideOverlap(overlap, before)
    if (decision.kind === 'skip') {
      return add(withoutJobs(fate, { state: 'skipped', reason: 'overlap', message: decision.message }))
    }
    const { after, cancel } = decision
    const isBuffered = after.length > 0 && cancel.length === 0
    const asked = {
      nominalMs,
      origin: 'tick' as const,
      backfillId: null,
      after,
      doneUntilMs: nominalMs,
      reason: isBuffered ? ('buffered' as const) : fate.reason,
      message:
        after.length === 0
          ? fate.message
          : say(isBuffered ? 'firing.buffered' : 'firing.cancels', {
              fired: fate.message,
              runOfMs: before.at(-1)!.nominalMs
            })
    }
    try {
      const { firing, weight } = await makeFiring(stored, state.moments, asked, { maker, nowMs })
      if (cancel.length > 0) decided.cancels.push({ index: decided.firings.length, jobIds: cancel })
      decided.firings.push(firing)
      decided.weight += weight
      before.push({ nominalMs, jobIds: firing.jobs.map(({ id }) => id) })
      runCount += 1
    } catch (error) {
      if (!isScrapdeckError(error) || (isSettling && error.code.endsWith('_NOT_FOUND'))) throw error
      const message = say('firing.refused', { error: error.message })
      add(withoutJobs(fate, { state: 'failed', reason: 'refused', message }))
    }
  }

  function add(row: NewFiring): void {
    const before = decided.firings.at(-1)
    const isAlike =
      before?.state === row.state && before.reason === row.reason && encode(before.message) === encode(row.message)
    if (!isAlike) return void decided.firings.push(row)
    before.count += row.count
    before.nominalMs = row.nominalMs
    before.doneUntilMs = row.doneUntilMs
  }

  function withoutJobs({ nominalMs }: Fate, result: Pick<NewFiring, 'state' | 'reason' | 'message'>): NewFiring {
    const { state: fate, reason, message } = result
    const newest = { nominalMs: nominalMs.at(-1)!, doneUntilMs: nominalMs.at(-1)!, count: nominalMs.length }
    const row = { scheduleId: stored.id, origin: 'tick', backfillId: null, atMs: nowMs } as const
    return { ...row, ...newest, state: fate, reason, message, jobs: [] }
  }
}

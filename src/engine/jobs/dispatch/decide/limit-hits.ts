import type { RunLimits } from '../../../../shared/contract/index.ts'
import { BAN_RESPONSES_MIN } from '../../../../shared/run-limits.ts'
import { wallLimitHit } from '../../../../shared/texts/limit-hits.ts'
import { type Message, say } from '../../../../shared/texts/message.ts'
import type { LogProgress } from '../../../runs/log-collector/log-collector.ts'

export interface LimitFacts {
  ranMs: number
  /** Null: the run's log has not been read yet. All limits except the wall time need it. */
  log: LogProgress | null
}

const BANS = ['403', '429', '503'] as const

/** Returns the limit that a run exceeded, as in `error limit of 10 (logged 14)`. Null: none. */
export function findHeldLimitHit(runLimits: RunLimits, { ranMs, log }: LimitFacts): Message | null {
  const { wallSeconds, maxBanPercent, maxErrors, noProgressSeconds } = runLimits
  if (wallSeconds != null && ranMs >= wallSeconds * 1000) {
    return wallLimitHit(wallSeconds, ranMs)
  }
  if (log === null) return null
  const { responses, errors, stillMs } = log
  const all = Object.values(responses).reduce((sum, count) => sum + count, 0)
  const banned = BANS.reduce((sum, status) => sum + (responses[status] ?? 0), 0)
  if (maxBanPercent != null && all >= BAN_RESPONSES_MIN && banned * 100 > maxBanPercent * all) {
    // Rounded up, so that the share never looks equal to the limit.
    const percent = Math.ceil((banned * 100) / all)
    const limit = say('reason.ban_limit', { percent: maxBanPercent })
    return say('limit_hit.banned', { limit, percent, responses: all })
  }
  if (maxErrors != null && errors > maxErrors) {
    return say('limit_hit.logged', { limit: say('reason.error_limit', { max: maxErrors }), errors })
  }
  if (noProgressSeconds != null && stillMs !== null && stillMs >= noProgressSeconds * 1000) {
    const limit = say('reason.progress_limit', { seconds: noProgressSeconds })
    return say('limit_hit.still', { limit, seconds: Math.floor(stillMs / 1000) })
  }
  return null
}

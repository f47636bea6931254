import type { OutcomeRules } from '../../../shared/contract/index.ts'
import { asParam, type Message, say } from '../../../shared/texts/message.ts'
import type { ScrapyStats } from '../../runs/log-parser/closing-stats.ts'
import type { Judgement } from './outcome.ts'

/** `words` is the reason with the value that broke the rule, as in `more than 10 errors (had 14)`. */
export type RuledJudgement = Judgement & { words: Message }

/**
 * Count rules apply only to a run that would have succeeded or whose outcome is unclear. `finishReasons` also turns
 * a run that failed only by its finish_reason into a success. Figures that are missing from the log break no rule.
 */
export function applyOutcomeRules(
  judgement: Judgement,
  rules: OutcomeRules | null,
  { hasFailedExit }: { hasFailedExit: boolean }
): RuledJudgement {
  if (rules === null) return { ...judgement, words: judgement.reason }
  const { finishReason } = judgement
  const isFinishReason = finishReason !== null && asParam(judgement.reason) === finishReason
  const isAccepted = isFinishReason && rules.finishReasons?.includes(finishReason) === true
  const isForgiven = judgement.outcome === 'failed' && isAccepted && !hasFailedExit
  const { outcome } = judgement
  if (outcome !== 'succeeded' && outcome !== 'unclear' && !isForgiven) return { ...judgement, words: judgement.reason }
  const broken = findBroken(judgement, rules, isFinishReason && !isAccepted ? finishReason : null)
  if (broken !== null) return { ...judgement, outcome: 'failed', ...broken }
  return { ...judgement, outcome: isForgiven ? 'succeeded' : outcome, killingLine: null, words: judgement.reason }
}

/**
 * Checks for responses first, because a lack of them breaks all other rules too, then for errors, which explain the
 * most.
 */
function findBroken(
  { counts: { errors, items, pages }, stats }: Judgement,
  { requireResponse, maxErrors, minItems, minPages, finishReasons }: OutcomeRules,
  otherReason: string | null
): { reason: Message; words: Message } | null {
  const counted = (reason: Message, count: number) => ({ reason, words: say('ended.count', { reason, count }) })
  const failed = requireResponse === true && items === 0 && stats !== null ? requestsInVain(stats, errors) : 0
  if (failed > 0) {
    const reason = say('reason.no_response')
    return { reason, words: say('ended.failed_requests', { reason, failed }) }
  }
  if (maxErrors != null && errors !== null && errors > maxErrors) {
    return counted(say('reason.errors_above', { max: maxErrors }), errors)
  }
  if (minItems != null && items !== null && items < minItems) {
    return counted(say('reason.items_below', { min: minItems }), items)
  }
  if (minPages != null && pages !== null && pages < minPages) {
    return counted(say('reason.pages_below', { min: minPages }), pages)
  }
  if (finishReasons != null && otherReason !== null) {
    const reason = say('reason.finish_reason', { finishReason: otherReason })
    return { reason, words: say('ended.expected', { reason, finishReasons }) }
  }
  return null
}

/** Scrapy raises these while it reads a response. */
const ANSWERED = /(?:CancelledError|StopDownload|_newclient\.ResponseFailed|ResponseDataLossError)$/

/**
 * Counts requests that failed without a response. Excludes those that Scrapy refused to send (offsite, …) and those
 * that the project's code dropped without an error.
 */
function requestsInVain(stats: ScrapyStats, errors: number | null): number {
  const count = (key: string) => (typeof stats[key] === 'number' ? stats[key] : 0)
  if (count('downloader/response_count') > 0 || count('response_received_count') > 0) return 0
  let failed = count('downloader/exception_count')
  for (const [key, value] of Object.entries(stats)) {
    const type = /^downloader\/exception_type_count\/(.+)/.exec(key)?.[1]
    if (type === undefined || typeof value !== 'number') continue
    if (ANSWERED.test(type)) return 0
    const isOwn = !/^(?:twisted|scrapy|OpenSSL|builtins)\./.test(type)
    if (type === 'scrapy.exceptions.IgnoreRequest' || (isOwn && errors === 0)) failed -= value
  }
  return failed
}

import type { Job } from '../../shared/contract/index.ts'
import type { Code } from '../../shared/texts/message.ts'
import { texts } from '../../shared/texts/ui/outcomes.ts'

/** `zyte`: the outcome that Scrapy Cloud shows in the same case (Zyte's help, "Understanding job outcomes"). */
export interface OutcomeReason {
  label: string
  hint: string
  zyte: string | null
}

type Entry = readonly [label: string, hint: string, zyte: string | null]

/** Scrapy's own finish_reasons. */
const OF_SCRAPY: Readonly<Record<string, Entry>> = {
  finished: [texts.finished, texts.finishedHint, 'finished'],
  closespider_itemcount: [texts.itemLimit, texts.itemLimitHint, 'closespider_itemcount'],
  closespider_pagecount: [texts.pageLimit, texts.pageLimitHint, 'closespider_pagecount'],
  closespider_timeout: [texts.timeLimit, texts.timeLimitHint, 'closespider_timeout'],
  closespider_timeout_no_item: [texts.noItems, texts.noItemsHint, 'closespider_timeout_no_item'],
  closespider_errorcount: [texts.tooManyErrors, texts.errorCountHint, 'closespider_errorcount'],
  memusage_exceeded: [texts.memoryExceeded, texts.memoryUsageHint, 'memusage_exceeded'],
  shutdown: [texts.shutDown, texts.shutDownHint, 'shutdown'],
  cancelled: [texts.cancelledRun, texts.cancelledHint, 'cancelled'],
  no_reason: [texts.noReason, texts.noReasonHint, 'no_reason']
}

const STALLED: Entry = [texts.stalled, texts.stalledHint, 'cancelled (stalled)']
const MEMORY: Entry = [texts.memoryExceeded, texts.memoryExceededHint, 'memusage_exceeded']
const LIMIT: Entry = [texts.limitExceeded, texts.limitExceededHint, null]
// oxlint-disable-next-line scrapdeck-texts/no-bare-sentences -- Scrapy Cloud's own word for the outcome
const OUT_OF_MEMORY: Entry = [texts.killed, texts.outOfMemoryHint, 'killed by oom']

const OF_CODE: { [C in Code]?: Entry } = {
  'reason.cancelled': [texts.cancelledRun, texts.cancelledHint, 'cancelled'],
  'reason.cancelled_before_start': [texts.cancelledRun, texts.cancelledBeforeStartHint, 'cancelled'],
  'reason.progress_limit': STALLED,
  'reason.silence_limit': STALLED,
  'reason.wall_time_limit': [texts.timeExceeded, texts.timeExceededHint, 'cancelled (24h limit)'],
  'reason.memory_limit': MEMORY,
  'reason.pod_memory_limit': MEMORY,
  'reason.error_limit': [texts.tooManyErrors, texts.errorLimitHint, null],
  'reason.ban_limit': [texts.banned, texts.bannedHint, 'banned'],
  'reason.cpu_time_limit': LIMIT,
  'reason.log_size_limit': LIMIT,
  'reason.no_response': [texts.noResponse, texts.noResponseHint, null],
  'reason.errors_above': [texts.tooManyErrors, texts.errorsAboveHint, null],
  'reason.items_below': [texts.fewItems, texts.fewItemsHint, 'slybot_fewitems_scraped'],
  'reason.pages_below': [texts.fewPages, texts.fewPagesHint, null],
  'reason.finish_reason': [texts.otherFinishReason, texts.otherFinishReasonHint, null],
  'reason.out_of_memory': OUT_OF_MEMORY,
  'reason.killed': [texts.killed, texts.killedHint, null],
  'reason.exit_code': ['', texts.exitCodeHint, 'failed'],
  'reason.no_closing_stats': ['', texts.noClosingStatsHint, 'failed'],
  'reason.end_hidden': [texts.quietLog, texts.quietLogHint, null],
  'reason.log_refused': [texts.logRefused, texts.logRefusedHint, null],
  'reason.log_not_whole': [texts.logNotRead, texts.logNotReadHint, null],
  'reason.no_log': [texts.noLog, texts.noLogHint, 'failed'],
  'reason.expired': [texts.expired, texts.expiredHint, null]
}

/** null: the spider's own reason, or one that needs no explanation. An empty label adds nothing to the reason. */
export function explainReason({
  reason,
  reasonCode: code,
  reasonParams: params = {}
}: Pick<Job, 'reason' | 'reasonCode' | 'reasonParams'>): OutcomeReason | null {
  const entry = code === undefined ? ofScrapy(reason ?? '') : ofCode(code, params)
  if (entry === undefined) return null
  const [label, hint, zyte] = entry
  return { label, hint, zyte }
}

const ofScrapy = (reason: string): Entry | undefined =>
  Object.hasOwn(OF_SCRAPY, reason) ? OF_SCRAPY[reason] : undefined

function ofCode(code: string, params: Readonly<Record<string, unknown>>): Entry | undefined {
  if (code === 'reason.killed' && params['signal'] === 'SIGKILL') return OUT_OF_MEMORY
  if (code === 'reason.exit_code' && params['exitCode'] === 0) return [texts.finished, texts.exitedHint, 'finished']
  return Object.hasOwn(OF_CODE, code) ? OF_CODE[code as Code] : undefined
}

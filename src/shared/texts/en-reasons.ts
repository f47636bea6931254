import { formatMegabytes } from '../run-limits.ts'
import { formatDuration } from '../time.ts'
import type { JobId, Outcome } from '../contract/index.ts'
import { several, type Words } from './parts.ts'

interface InSeconds {
  limit: Words
  seconds: number
}
interface InMegabytes {
  limit: Words
  megabytes: number
}

/** Why attempts and jobs ended. Scrapy's own finish_reasons are external texts. */
export const reasons = {
  'reason.cancelled': () => 'cancelled',
  'reason.cancelled_while_queued': () => 'cancelled while queued',
  'reason.cancelled_before_start': () => 'cancelled before it started',
  'reason.skipped': ({ jobId, outcome }: { jobId: JobId | null; outcome: Outcome }) =>
    `skipped: ${jobId ?? 'another job'} ended as ${outcome}`,
  'reason.unknown': () => 'for an unknown reason',
  'reason.expired': () => 'expired',
  'reason.egg_not_importable': () => 'egg cannot be imported',
  'reason.by_plugin': () => 'plugin',
  'reason.not_sent': () => 'not sent',
  'reason.secret_unreadable': () => 'secret unreadable',
  'reason.refused': () => 'refused',
  'reason.unknown_spider': () => 'unknown spider',

  'reason.never_arrived': () => 'never arrived',
  'reason.taken_back': () => 'withdrawn',
  'reason.taken_by_other_node': () => 'taken by another node',
  'reason.node_forgot': () => 'forgotten by the node',
  'reason.node_removed': () => 'node removed',
  'reason.node_off': () => 'node turned off',
  'reason.given_up': () => 'given up',
  'reason.scrapyd_kept_no_log': () => 'Scrapyd kept no log',

  'reason.exit_code': ({ exitCode }: { exitCode: number }) => `exit code ${exitCode}`,
  'reason.killed': ({ signal }: { signal: string }) => `killed by ${signal}`,
  'reason.ended_unexplained': () => 'ended for an unknown reason',
  'reason.out_of_memory': () => 'out of memory (MemoryError)',
  'reason.no_closing_stats': () => 'ended without closing stats',
  'reason.end_hidden': () => 'end not visible in the log',
  'reason.log_not_whole': () => 'log not fully read',
  'reason.log_refused': () => 'log refused',
  'reason.no_log': () => 'no log',

  'reason.no_response': () => 'no response at all',
  'reason.errors_above': ({ max }: { max: number }) => `more than ${several(max, 'error')}`,
  'reason.items_below': ({ min }: { min: number }) => `fewer than ${several(min, 'item')}`,
  'reason.pages_below': ({ min }: { min: number }) => `fewer than ${several(min, 'page')}`,
  'reason.finish_reason': ({ finishReason }: { finishReason: string }) => `finish reason ${finishReason}`,
  /** A reason with details from the log or node, for the timeline. */
  'ended.count': ({ reason, count }: { reason: Words; count: number }) => `${reason} (had ${count})`,
  'ended.failed_requests': ({ reason, failed }: { reason: Words; failed: number }) =>
    `${reason} (${failed} failed ${failed === 1 ? 'request' : 'requests'})`,
  'ended.expected': ({ reason, finishReasons }: { reason: Words; finishReasons: readonly string[] }) =>
    `${reason} (expected ${finishReasons.join(' or ')})`,
  'ended.node_said': ({ reason, error }: { reason: Words; error: Words }) => `${reason} (${error})`,

  'reason.wall_time_limit': ({ seconds }: { seconds: number }) => `wall time limit of ${formatDuration(seconds)}`,
  'reason.silence_limit': ({ seconds }: { seconds: number }) => `silence limit of ${formatDuration(seconds)}`,
  'reason.progress_limit': ({ seconds }: { seconds: number }) => `progress limit of ${formatDuration(seconds)}`,
  'reason.cpu_time_limit': ({ seconds }: { seconds: number }) => `CPU time limit of ${formatDuration(seconds)}`,
  'reason.memory_limit': ({ megabytes }: { megabytes: number }) => `memory limit of ${formatMegabytes(megabytes)}`,
  'reason.pod_memory_limit': () => 'memory limit of its pod',
  'reason.log_size_limit': ({ megabytes }: { megabytes: number }) => `log size limit of ${formatMegabytes(megabytes)}`,
  'reason.ban_limit': ({ percent }: { percent: number }) => `ban limit of ${percent} %`,
  'reason.error_limit': ({ max }: { max: number }) => `error limit of ${max}`,
  'reason.kubernetes': () => 'Kubernetes',
  /** A limit and what exceeded it. The job's reason is only `limit`, so that it is the same for every hit. */
  'limit_hit.ran': ({ limit, seconds }: InSeconds) => `${limit} (ran ${formatDuration(seconds)})`,
  'limit_hit.silent': ({ limit, seconds }: InSeconds) => `${limit} (no new log line for ${formatDuration(seconds)})`,
  'limit_hit.still': ({ limit, seconds }: InSeconds) => `${limit} (no new page or item for ${formatDuration(seconds)})`,
  'limit_hit.used_time': ({ limit, seconds }: InSeconds) => `${limit} (used ${formatDuration(seconds)})`,
  'limit_hit.ended_by_kernel': ({ limit }: { limit: Words }) => `${limit} (ended by the kernel)`,
  'limit_hit.used_memory': ({ limit, megabytes }: InMegabytes) => `${limit} (used ${formatMegabytes(megabytes)})`,
  'limit_hit.log_grew': ({ limit, megabytes }: InMegabytes) => `${limit} (grew to ${formatMegabytes(megabytes)})`,
  'limit_hit.banned': ({ limit, percent, responses }: { limit: Words; percent: number; responses: number }) =>
    `${limit} (${percent} % of ${responses} responses were 403, 429 or 503)`,
  'limit_hit.logged': ({ limit, errors }: { limit: Words; errors: number }) => `${limit} (logged ${errors})`,
  'limit_hit.kubernetes_said': ({ limit, why }: { limit: Words; why: string }) => `${limit} (${why})`
}

import { formatBytes } from '../format-bytes.ts'
import { formatDuration, formatWait } from '../time.ts'
import { countOf, several, utcMinute, type Words } from './parts.ts'

const MOODS = {
  critical: 'Critical',
  warning: 'Warning',
  info: 'Info',
  resolved: 'Resolved',
  test: 'Test'
}
export type Mood = keyof typeof MOODS

const durationOf = (ms: number): string => formatDuration(Math.round(ms / 1_000))

export const mails = {
  'mail.subject': ({ headline }: { headline: string }) => `[Scrapdeck] ${headline}`,
  'mail.mood': ({ mood }: { mood: Mood }) => MOODS[mood],
  'mail.headline': ({ mood, title }: { mood: Mood; title: string }) => `${MOODS[mood]}: ${title}`,
  'mail.channel_test': () => 'Channel test',
  'mail.alerts': ({ alerts }: { alerts: number }) => `${alerts} alerts`,
  'mail.firing': () => 'Firing',
  'mail.resolved': () => 'Resolved',
  'mail.count_firing': ({ alerts }: { alerts: number }) => `${alerts} firing`,
  'mail.count_resolved': ({ alerts }: { alerts: number }) => `${alerts} resolved`,
  'mail.and_more': ({ alerts }: { alerts: number }) => `and ${alerts} more`,
  'mail.more_of_rule': ({ alerts, rule }: { alerts: number; rule: string }) => `${alerts} more alerts from ${rule}`,
  /** `at`: a formatted time, or empty if the time follows. */
  'mail.since': ({ at }: { at: string }) => `since ${at}`,
  'mail.resolved_after': ({ durationMs }: { durationMs: number }) => `resolved after ${formatWait(durationMs)}`,
  'mail.from_to': ({ fromMs, untilMs }: { fromMs: number; untilMs: number }) =>
    `${utcMinute(fromMs)} to ${utcMinute(untilMs)}`,
  'mail.open': () => 'Open in Scrapdeck',
  'mail.open_job': () => 'Open job',
  'mail.job': ({ jobId }: { jobId: string }) => `Job ${jobId}`,
  'mail.log': ({ subject }: { subject: string }) => `Last log lines of ${subject}`,
  'mail.log_of_job': ({ subject, jobId }: { subject: string; jobId: string }) =>
    `Last log lines of ${subject}, job ${jobId}`,

  'mail_fact.rule': () => 'Rule',
  'mail_fact.owner': () => 'Owner',
  'mail_fact.reminder': () => 'Reminder',
  'mail_fact.still_firing': () => 'Still firing',
  'mail_fact.limit': () => 'Limit reached',
  'mail_fact.to_do': () => 'What to do',
  'mail.rule_unnamed': () => 'unnamed',
  'mail.not_acknowledged': () => 'not acknowledged yet',
  'mail.reminder': () => 'Not acknowledged yet',
  'mail.reported_before': ({ alerts }: { alerts: number }) => `${alerts} reported earlier`,
  'mail.held': ({ all, untilMs }: { all: boolean; untilMs: number }) =>
    `${all ? 'all messages' : 'non-critical messages'} are held until ${utcMinute(untilMs)}`,

  'report.name': () => 'Report',
  'report.title': (of: { isWeekly: boolean; runs: number; failed: number; newErrors: number }) =>
    `${of.isWeekly ? 'Weekly' : 'Daily'} report: ${several(of.runs, 'run')}, ${countOf(of.failed)} failed, ${several(of.newErrors, 'new error')}`,
  /** `failing`: `shop/prices (3)`. `slowest`: the spider with the longest median run; null: no spider ran. */
  'report.summary': (of: {
    failing: readonly string[]
    unusual: number
    slowest: string | null
    medianMs: number
    down: readonly string[]
  }) =>
    [
      of.failing.length > 0 ? `Failing: ${of.failing.join(', ')}` : 'Nothing failed',
      ...(of.unusual > 0 ? [`${several(of.unusual, 'spider')} with unusual runs`] : []),
      ...(of.slowest === null ? [] : [`slowest: ${of.slowest}, ${durationOf(of.medianMs)}`]),
      ...(of.down.length > 0 ? [`down: ${of.down.join(', ')}`] : [])
    ].join('; '),
  'report_fact.time': () => 'Time',
  'report_fact.runs': () => 'Runs',
  'report_fact.before': () => 'Previous period',
  'report_fact.alerts': () => 'Alerts',
  'report_fact.queue': () => 'Queue',
  'report_fact.storage': () => 'Storage',
  'report_fact.note': () => 'Note',
  'report.runs': (of: { succeeded: number; failed: number; lost: number; cancelled: number; unclear: number }) => {
    const unclear = of.unclear > 0 ? `, ${countOf(of.unclear)} unclear` : ''
    return `${countOf(of.succeeded)} succeeded, ${countOf(of.failed)} failed, ${countOf(of.lost)} lost, ${countOf(of.cancelled)} cancelled${unclear}`
  },
  'report.before': ({ runs, failed }: { runs: number; failed: number }) =>
    `${several(runs, 'run')}, ${countOf(failed)} failed or lost`,
  'report.alerts': ({ fired }: { fired: number }) => `${countOf(fired)} fired`,
  'report.queue': ({ jobs }: { jobs: number }) => `${several(jobs, 'job')} waiting`,
  'report.storage': (of: { databaseBytes: number; logBytes: number; freePercent: number | null }) => {
    const free = of.freePercent === null ? '' : `, ${of.freePercent} % of the disk free`
    return `database ${formatBytes(of.databaseBytes)}, logs ${formatBytes(of.logBytes)}${free}`
  },
  'report.cut': () => 'there were too many jobs to scan all of them',
  'report_part.down': () => 'Nodes down',
  'report_part.failing': () => 'Failing spiders',
  'report_part.errors': ({ errors, unlisted }: { errors: number; unlisted: boolean }) =>
    unlisted ? `New errors (${countOf(errors)})` : 'New errors',
  'report_part.unusual': () => 'Unusual runs',
  'report_part.slowest': () => 'Slowest spiders',
  'report.failing': ({ failed, runs, reason }: { failed: number; runs: number; reason: Words }) =>
    `${failed} of ${several(runs, 'run')}; last: ${reason}`,
  'report.error': ({ runs }: { runs: number }) => `in ${several(runs, 'run')}`,
  'report.slowest': ({ medianMs, longestMs, runs }: { medianMs: number; longestMs: number; runs: number }) =>
    `median ${durationOf(medianMs)}, longest ${durationOf(longestMs)}, ${several(runs, 'run')}`
}

import type {
  Alert,
  AlertChannel,
  AlertDigest,
  AlertRuleSettings,
  AlertScope,
  AlertTargetKind,
  QuietHours
} from '../../../shared/contract/index.ts'
import { ALERT_WATCHES, type AlertSubject, type AlertUnit, type AlertWatch } from '../../../shared/alert-watches.ts'
import { formatDuration, WEEKDAYS } from '../../../shared/time.ts'
import { formatCount, plural } from '../../ui/numbers.ts'

export const SUBJECT_TITLES: Record<AlertSubject, string> = {
  spider: 'Spiders',
  job: 'Jobs',
  error: 'Errors',
  schedule: 'Schedules',
  node: 'Nodes',
  service: 'Scrapdeck'
}

export const UNIT_WORDS: Record<Exclude<AlertUnit, 'yes_no'>, string> = {
  runs: 'runs',
  items: 'items',
  errors: 'errors',
  jobs: 'jobs',
  percent: '%',
  hours: 'hours',
  days: 'days'
}

export const COMPARISONS = { at_least: 'at least', at_most: 'at most' } as const

/** Names of what a scope names by id. */
export interface Names {
  node: (id: string) => string
  schedule: (id: string) => string
}

/** `spider prices/otto on node us-2`, or `whatever`: what a scope names, the widest thing first. */
export function scopeWords(scope: AlertScope, names: Names): string | null {
  const { project, spider, scheduleId, nodeId, nodeTag } = scope
  const words = [
    spider !== null && project !== null
      ? `${project}/${spider}`
      : spider !== null
        ? `spider ${spider}`
        : project !== null && `project ${project}`,
    scheduleId !== null && `schedule ${names.schedule(scheduleId)}`,
    nodeId !== null && `node ${names.node(nodeId)}`,
    nodeTag !== null && `nodes with the tag ${nodeTag}`
  ].filter((word) => word !== false)
  return words.length === 0 ? null : words.join(', ')
}

type Condition = Pick<AlertRuleSettings, 'watch' | 'comparison' | 'threshold' | 'forSeconds'> & AlertScope

/** When a rule tells, after "Tell when": `the last 3 runs of prices/otto fail or are lost`. */
export function conditionWords(rule: Condition, names: Names): string {
  const { comparison, threshold, forSeconds } = rule
  const spider = spiderWords(rule)
  const node = nodeWords(rule, names)
  const onNode = rule.nodeId === null && rule.nodeTag === null ? '' : ` on ${node}`
  const run = `a run of ${spider}${onNode}`
  const job = `a job of ${spider}${onNode}`
  const amount = `${COMPARISONS[comparison]} ${formatCount(threshold)}`
  const amountOf = (noun: string) => `${COMPARISONS[comparison]} ${plural(threshold, noun)}`
  const lasting = forSeconds > 0 ? ` for ${formatDuration(forSeconds)}` : ''
  const words: Record<AlertWatch, () => string> = {
    spider_fails: () =>
      (threshold <= 1
        ? `${run} fails or is lost`
        : `the last ${threshold} runs of ${spider}${onNode} fail or are lost`) + lasting,
    spider_items: () =>
      `${run} has ${comparison === 'at_most' && threshold === 0 ? 'no items' : amountOf('item')}${lasting}`,
    spider_errors: () => `${run} logs ${amountOf('error')}${lasting}`,
    spider_unusual: () => `${run} succeeds, but unlike the earlier ones${lasting}`,
    spider_overdue: () => `${spider} has not succeeded for ${formatDuration(threshold * 3_600)}${lasting}`,
    job_runs_long: () => `${job} runs${lasting === '' ? '' : lasting.replace('for', 'for longer than')}`,
    job_waits_long: () => `${job} waits${lasting === '' ? '' : lasting.replace('for', 'for longer than')}`,
    error_appears: () =>
      `a new error${rule.project === null ? '' : ` of ${rule.project}`} appears${
        threshold <= 1 ? '' : ` in ${amount} jobs`
      }, or a resolved one again${lasting}`,
    schedule_misses: () =>
      `${rule.scheduleId === null ? `a schedule${rule.project === null ? '' : ` of ${rule.project}`}` : names.schedule(rule.scheduleId)} misses its time, fails or pauses itself${lasting}`,
    node_down: () => `${node} does not respond${lasting}`,
    node_stuck: () => `${node} accepts jobs but starts none${lasting}`,
    queue_length: () => `${amount} jobs wait${lasting}`,
    disk_free: () => `${amount} % of the disk of the service is free${lasting}`,
    certificate_days: () => `the certificate of the service expires within ${plural(threshold, 'day')}${lasting}`,
    service_problem: () => `the service itself has a problem${lasting}`
  }
  return words[rule.watch]()
}

const spiderWords = ({ project, spider }: AlertScope): string =>
  project !== null && spider !== null
    ? `${project}/${spider}`
    : spider !== null
      ? `spider ${spider}`
      : project !== null
        ? `any spider of ${project}`
        : 'any spider'

const nodeWords = ({ nodeId, nodeTag }: AlertScope, names: Names): string =>
  nodeId !== null ? names.node(nodeId) : nodeTag !== null ? `a node with the tag ${nodeTag}` : 'a node'

/** As a sentence begins, unless it begins with the name of a spider, a node or a schedule. */
export const capitalised = (text: string): string =>
  /^(an?|any|the|at|all|of|fired|not|project|node|nodes|schedule|spider) /.test(text)
    ? text.charAt(0).toUpperCase() + text.slice(1)
    : text

/** The figure of an alert, with its unit; null: it says nothing that the text does not. */
export function valueWords({ watch, value }: Pick<Alert, 'watch' | 'value'>): string | null {
  const { unit } = ALERT_WATCHES[watch]
  if (unit === 'yes_no') return null
  return unit === 'percent' ? `${formatCount(value)} %` : plural(value, UNIT_WORDS[unit].replace(/s$/, ''))
}

/** Why no messages are sent about an alert: a word, and a sentence. */
export const MUTED: Record<NonNullable<Alert['muted']>, { word: string; text: string }> = {
  silenced: { word: 'silenced', text: 'A silence matches this alert, so no messages are sent.' },
  node_down: {
    word: 'node down',
    text: 'Its node is down, which another alert reports, so no messages are sent.'
  },
  node_cordoned: { word: 'node cordoned', text: 'Its node is cordoned, so no messages are sent.' }
}

export const FLAPPING_TEXT =
  'It stopped and began again several times within an hour. It stays firing until it is quiet for 10 minutes, without messages in between.'

/** Kinds of channels, in the order of the choice. */
export const CHANNEL_KINDS: Record<AlertTargetKind, string> = {
  email: 'E-mail',
  slack: 'Slack',
  telegram: 'Telegram',
  discord: 'Discord',
  teams: 'Microsoft Teams',
  pagerduty: 'PagerDuty',
  webhook: 'Webhook',
  command: 'Command',
  plugin: 'Plugin',
  desktop: 'Desktop notification'
}

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
/** As weeks are written: Monday first. */
export const WEEK = [1, 2, 3, 4, 5, 6, 0] as const
export const dayWord = (day: number): string => DAYS[day] ?? ''
export const dayName = (day: number): string => WEEKDAYS[day] ?? ''

/** `each day at 08:00 (Europe/Berlin)`, `each Monday at 08:00 (UTC)` */
export const digestWords = ({ every, at, zone, weekday }: AlertDigest): string =>
  `each ${every === 'day' ? 'day' : dayName(weekday)} at ${at} (${zone})`

/** `22:00 to 07:00, Mon Tue Wed Thu Fri (Europe/Berlin)` */
export function quietWords({ from, until, days, zone }: QuietHours): string {
  const when =
    days.length === 7
      ? 'every day'
      : WEEK.filter((day) => days.includes(day))
          .map(dayWord)
          .join(' ')
  return `${from} to ${until}, ${when} (${zone})`
}

export const limitWords = (messagesPerHour: number | null): string | null =>
  messagesPerHour === null ? null : `at most ${plural(messagesPerHour, 'message')} an hour`

/** `12 messages are held by the limit, the next until 14:05` */
export const heldWords = ({ messages, nextAtMs }: NonNullable<AlertChannel['held']>): string =>
  messages === 1
    ? `1 message is held by the limit until ${timeOfDay(nextAtMs)}`
    : `${formatCount(messages)} messages are held by the limit, the next until ${timeOfDay(nextAtMs)}`

const timeOfDay = (atMs: number): string =>
  new Date(atMs).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })

/** `45 s`, `2 h 5 min`: seconds only where there are no minutes. */
export const lengthWords = (durationMs: number): string =>
  formatDuration(durationMs < 60_000 ? Math.round(durationMs / 1000) : Math.round(durationMs / 60_000) * 60)

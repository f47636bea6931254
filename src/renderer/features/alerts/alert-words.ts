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
import { formatDuration } from '../../../shared/time.ts'
import { locale } from '../../../shared/locale.ts'
import { texts } from '../../../shared/texts/ui/alerts.ts'
import { texts as calendar } from '../../../shared/texts/ui/calendar.ts'

export const SUBJECT_TITLES: Record<AlertSubject, string> = {
  spider: texts.spiders,
  job: texts.jobs,
  error: texts.errors,
  schedule: texts.schedules,
  node: texts.nodes,
  service: texts.scrapdeck
}

export const UNIT_WORDS: Record<Exclude<AlertUnit, 'yes_no'>, string> = {
  runs: texts.runsUnit,
  items: texts.itemsUnit,
  errors: texts.errorsUnit,
  jobs: texts.jobsUnit,
  percent: '%',
  hours: texts.hoursUnit,
  days: texts.daysUnit
}

export const COMPARISONS = { at_least: texts.atLeast, at_most: texts.atMost } as const

export interface Names {
  node: (id: string) => string
  schedule: (id: string) => string
}

/** `prices/otto, node us-2`. null: everything. */
export function scopeWords(scope: AlertScope, names: Names): string | null {
  const { project, spider, scheduleId, nodeId, nodeTag } = scope
  const words = [
    spider !== null && project !== null
      ? `${project}/${spider}`
      : spider !== null
        ? texts.spiderScope(spider)
        : project !== null && texts.projectNamed(project),
    scheduleId !== null && texts.scheduleScope(names.schedule(scheduleId)),
    nodeId !== null && texts.nodeNamed(names.node(nodeId)),
    nodeTag !== null && texts.nodeTagScope(nodeTag)
  ].filter((word) => word !== false)
  return words.length === 0 ? null : words.join(', ')
}

type Condition = Pick<AlertRuleSettings, 'watch' | 'comparison' | 'threshold' | 'forSeconds'> & AlertScope

/** The condition of a rule, worded to follow its label: `the last 3 runs of prices/otto fail or are lost`. */
export function conditionWords(rule: Condition, names: Names): string {
  const { comparison, threshold, project, scheduleId } = rule
  const spider = spiderWords(rule)
  const node = nodeWords(rule, names)
  const onNode = rule.nodeId === null && rule.nodeTag === null ? null : node
  const run = texts.runOf(spider, onNode)
  const job = texts.jobOf(spider, onNode)
  const words: Record<AlertWatch, () => string> = {
    spider_fails: () => (threshold <= 1 ? texts.whenRunFails(run, rule) : texts.whenLastRunsFail(spider, onNode, rule)),
    spider_items: () =>
      comparison === 'at_most' && threshold === 0 ? texts.whenNoItems(run, rule) : texts.whenItems(run, rule),
    spider_errors: () => texts.whenErrors(run, rule),
    spider_unusual: () => texts.whenUnusual(run, rule),
    spider_overdue: () => texts.whenOverdue(spider, rule),
    job_runs_long: () => texts.whenRunsLong(job, rule),
    job_waits_long: () => texts.whenWaitsLong(job, rule),
    error_appears: () => texts.whenErrorAppears(project, rule),
    schedule_misses: () =>
      texts.whenScheduleMisses(scheduleId === null ? texts.anySchedule(project) : names.schedule(scheduleId), rule),
    node_down: () => texts.whenNodeDown(node, rule),
    node_stuck: () => texts.whenNodeStuck(node, rule),
    queue_length: () => texts.whenJobsWait(rule),
    disk_free: () => texts.whenDiskFree(rule),
    certificate_days: () => texts.whenCertificateExpires(rule),
    service_problem: () => texts.whenServiceProblem(rule)
  }
  return words[rule.watch]()
}

const spiderWords = ({ project, spider }: AlertScope): string =>
  project !== null && spider !== null
    ? `${project}/${spider}`
    : spider !== null
      ? texts.spiderScope(spider)
      : project !== null
        ? texts.anySpiderOf(project)
        : texts.anySpider

const nodeWords = ({ nodeId, nodeTag }: AlertScope, names: Names): string =>
  nodeId !== null ? names.node(nodeId) : nodeTag !== null ? texts.anyNodeTagged(nodeTag) : texts.anyNode

/** Capitalizes the first letter, unless the text starts with the name of a spider, node or schedule. */
export const capitalised = (text: string): string =>
  /^(an?|any|the|at|all|of|fired|not|project|node|nodes|schedule|spider) /.test(text)
    ? text.charAt(0).toUpperCase() + text.slice(1)
    : text

/** The figure of an alert, with its unit. null: the alert's text already contains it. */
export function valueWords({ watch, value }: Pick<Alert, 'watch' | 'value'>): string | null {
  const { unit } = ALERT_WATCHES[watch]
  return unit === 'yes_no' ? null : texts.figureOf(value, unit)
}

export const MUTED: Record<NonNullable<Alert['muted']>, { word: string; text: string }> = {
  silenced: { word: texts.silencedWord, text: texts.silencedHint },
  node_down: {
    word: texts.nodeDownWord,
    text: texts.nodeDownHint
  },
  node_cordoned: { word: texts.nodeCordonedWord, text: texts.nodeCordonedHint }
}

export const FLAPPING_TEXT = texts.flappingHint

/** The names of the channel kinds, in the order of the select. */
export const CHANNEL_KINDS: Record<AlertTargetKind, string> = {
  email: texts.email,
  slack: texts.slack,
  telegram: texts.telegram,
  discord: texts.discord,
  teams: texts.microsoftTeams,
  pagerduty: 'PagerDuty',
  webhook: texts.webhook,
  command: texts.command,
  plugin: texts.plugin,
  desktop: texts.desktopNotification
}

const DAYS = [texts.sun, texts.mon, texts.tue, texts.wed, texts.thu, texts.fri, texts.sat]
export const WEEK = [1, 2, 3, 4, 5, 6, 0] as const
export const dayWord = (day: number): string => DAYS[day] ?? ''
export const dayName = (day: number): string => calendar.weekday(day)

/** `each day at 08:00 (Europe/Berlin)`, `each Monday at 08:00 (UTC)` */
export const digestWords = ({ every, at, zone, weekday }: AlertDigest): string =>
  every === 'day' ? texts.dailyReport(at, zone) : texts.weeklyReport(dayName(weekday), at, zone)

/** `22:00 to 07:00, Mon Tue Wed Thu Fri (Europe/Berlin)` */
export function quietWords({ from, until, days, zone }: QuietHours): string {
  const when =
    days.length === 7
      ? texts.everyDay
      : WEEK.filter((day) => days.includes(day))
          .map(dayWord)
          .join(' ')
  return texts.quietHoursAt(from, until, when, zone)
}

export const limitWords = (messagesPerHour: number | null): string | null =>
  messagesPerHour === null ? null : texts.messagesLimit(messagesPerHour)

/** `12 messages are held by the limit, the next until 14:05` */
export const heldWords = ({ messages, nextAtMs }: NonNullable<AlertChannel['held']>): string =>
  texts.messagesHeld(messages, timeOfDay(nextAtMs))

const timeOfDay = (atMs: number): string =>
  new Date(atMs).toLocaleTimeString(locale(), { hour: '2-digit', minute: '2-digit' })

/** `45 s`, `2 h 5 min`: seconds only below a minute. */
export const lengthWords = (durationMs: number): string =>
  formatDuration(durationMs < 60_000 ? Math.round(durationMs / 1000) : Math.round(durationMs / 60_000) * 60)

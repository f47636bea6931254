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
import { texts } from '../../../shared/texts/ui/alerts.ts'

export const SUBJECT_TITLES: Record<AlertSubject, string> = {
  spider: texts.spiders,
  job: texts.jobs,
  error: texts.errors,
  schedule: texts.schedules,
  node: texts.nodes,
  service: texts.scrapdeck
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

export const COMPARISONS = { at_least: texts.atLeast, at_most: texts.atMost } as const

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
        ? texts.spider(spider)
        : project !== null && texts.project(project),
    scheduleId !== null && texts.schedule(names.schedule(scheduleId)),
    nodeId !== null && texts.node(names.node(nodeId)),
    nodeTag !== null && texts.nodesWithTheTag(nodeTag)
  ].filter((word) => word !== false)
  return words.length === 0 ? null : words.join(', ')
}

type Condition = Pick<AlertRuleSettings, 'watch' | 'comparison' | 'threshold' | 'forSeconds'> & AlertScope

/** When a rule tells, after "Tell when": `the last 3 runs of prices/otto fail or are lost`. */
export function conditionWords(rule: Condition, names: Names): string {
  const { comparison, threshold, forSeconds } = rule
  const spider = spiderWords(rule)
  const node = nodeWords(rule, names)
  const onNode = rule.nodeId === null && rule.nodeTag === null ? '' : texts.on(node)
  const run = texts.aRunOf(spider, onNode)
  const job = texts.aJobOf(spider, onNode)
  const amount = `${COMPARISONS[comparison]} ${formatCount(threshold)}`
  const amountOf = (noun: string) => `${COMPARISONS[comparison]} ${plural(threshold, noun)}`
  const lasting = forSeconds > 0 ? texts.forIt(formatDuration(forSeconds)) : ''
  const words: Record<AlertWatch, () => string> = {
    spider_fails: () =>
      (threshold <= 1 ? texts.failsOrIsLost(run) : texts.theLastRunsOfFailOr(threshold, spider, onNode)) + lasting,
    spider_items: () =>
      `${run} has ${comparison === 'at_most' && threshold === 0 ? texts.noItems : amountOf('item')}${lasting}`,
    spider_errors: () => `${run} logs ${amountOf('error')}${lasting}`,
    spider_unusual: () => texts.succeedsButUnlikeTheEarlier(run, lasting),
    spider_overdue: () => texts.hasNotSucceededFor(spider, formatDuration(threshold * 3_600), lasting),
    job_runs_long: () => `${job} runs${lasting === '' ? '' : lasting.replace('for', texts.forLongerThan)}`,
    job_waits_long: () => `${job} waits${lasting === '' ? '' : lasting.replace('for', texts.forLongerThan)}`,
    error_appears: () =>
      `a new error${rule.project === null ? '' : texts.of(rule.project)} appears${
        threshold <= 1 ? '' : texts.inJobs(amount)
      }, or a resolved one again${lasting}`,
    schedule_misses: () =>
      `${rule.scheduleId === null ? `a schedule${rule.project === null ? '' : texts.of(rule.project)}` : names.schedule(rule.scheduleId)} misses its time, fails or pauses itself${lasting}`,
    node_down: () => texts.doesNotRespond(node, lasting),
    node_stuck: () => texts.acceptsJobsButStartsNone(node, lasting),
    queue_length: () => texts.jobsWait(amount, lasting),
    disk_free: () => texts.ofTheDiskOfTheService(amount, lasting),
    certificate_days: () => texts.theCertificateOfTheService(threshold, lasting),
    service_problem: () => texts.theServiceItselfHasAProblem(lasting)
  }
  return words[rule.watch]()
}

const spiderWords = ({ project, spider }: AlertScope): string =>
  project !== null && spider !== null
    ? `${project}/${spider}`
    : spider !== null
      ? texts.spider(spider)
      : project !== null
        ? texts.anySpiderOf(project)
        : texts.anySpider

const nodeWords = ({ nodeId, nodeTag }: AlertScope, names: Names): string =>
  nodeId !== null ? names.node(nodeId) : nodeTag !== null ? texts.aNodeWithTheTag(nodeTag) : 'a node'

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
  silenced: { word: 'silenced', text: texts.aSilenceMatchesThisAlertSo },
  node_down: {
    word: texts.nodeDown,
    text: texts.itsNodeIsDownWhichAnother
  },
  node_cordoned: { word: texts.nodeCordoned, text: texts.itsNodeIsCordonedSoNo }
}

export const FLAPPING_TEXT = texts.itStoppedAndBeganAgainSeveral

/** Kinds of channels, in the order of the choice. */
export const CHANNEL_KINDS: Record<AlertTargetKind, string> = {
  email: 'E-mail',
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
      ? texts.everyDay
      : WEEK.filter((day) => days.includes(day))
          .map(dayWord)
          .join(' ')
  return texts.to(from, until, when, zone)
}

export const limitWords = (messagesPerHour: number | null): string | null =>
  messagesPerHour === null ? null : texts.atMostMessageAnHour(messagesPerHour)

/** `12 messages are held by the limit, the next until 14:05` */
export const heldWords = ({ messages, nextAtMs }: NonNullable<AlertChannel['held']>): string =>
  messages === 1
    ? texts.n1MessageIsHeldByThe(timeOfDay(nextAtMs))
    : texts.messagesAreHeldByTheLimit(messages, timeOfDay(nextAtMs))

const timeOfDay = (atMs: number): string =>
  new Date(atMs).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })

/** `45 s`, `2 h 5 min`: seconds only where there are no minutes. */
export const lengthWords = (durationMs: number): string =>
  formatDuration(durationMs < 60_000 ? Math.round(durationMs / 1000) : Math.round(durationMs / 60_000) * 60)

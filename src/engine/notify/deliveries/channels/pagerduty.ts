import type { AlertNews, AlertSeverity } from '../../../../shared/contract/index.ts'
import { textOf } from '../../../../shared/texts/message.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { SendResult } from '../plan-try.ts'
import type { Post } from '../post.ts'
import type { Sender } from './message.ts'
import { postJson } from './post-json.ts'
import { alertsLink, jobLink, type Links, oneLine, subjectOf } from './words.ts'

/** The Events API v2 (github.com/PagerDuty/api-schema, reference/events-v2). `summary` has at most 1,024 characters. */
export interface PagerDutyEvent {
  event_action: 'trigger' | 'resolve'
  /** PagerDuty merges events with the same key into one alert. */
  dedup_key: string
  payload?: {
    summary: string
    source: string
    severity: AlertSeverity
    timestamp?: string
    component?: string
    group?: string
    class?: string
    custom_details: Record<string, unknown>
  }
  client?: string
  client_url?: string
  links?: { href: string; text: string }[]
}

const SUMMARY_MAX = 1_024
const SOURCE_MAX = 255
/** The time limit for all events of a message. If it is exceeded, the next attempt sends all events again. */
const TIME_LIMIT_MS = 60_000

/**
 * Returns the events of a message, triggers first. Alerts beyond the listed ones share one PagerDuty alert until no
 * alert of the group is firing.
 */
export function pagerDutyEvents(news: AlertNews, links: Links): PagerDutyEvent[] {
  const group = `${news.groupId} more`.slice(-SOURCE_MAX)
  const rest = news.moreFiring > 0 ? [restEvent(news, group, links)] : []
  const isQuiet = news.kind !== 'test' && news.firing.length + news.moreFiring + news.stillFiring === 0
  return [
    ...news.firing.map((alert) => triggerOf(news, alert, links)),
    ...rest,
    ...news.resolved.map(({ id }) => resolveOf(id)),
    // PagerDuty accepts an unknown key and changes nothing.
    ...(isQuiet ? [resolveOf(group)] : []),
    // A test must not continue to page after it ends.
    ...(news.kind === 'test' ? news.firing.map(({ id }) => resolveOf(id)) : [])
  ]
}

const resolveOf = (dedup_key: string): PagerDutyEvent => ({ event_action: 'resolve', dedup_key })

function triggerOf(news: AlertNews, alert: AlertNews['firing'][number], links: Links): PagerDutyEvent {
  const { labels } = alert
  const link = jobLink(links, alert)
  return {
    event_action: 'trigger',
    dedup_key: alert.id,
    payload: {
      summary: oneLine(alert.text, SUMMARY_MAX) || oneLine(`${news.ruleName}: ${alert.subject}`, SUMMARY_MAX),
      source: subjectOf(alert, SOURCE_MAX),
      severity: alert.severity,
      timestamp: new Date(alert.firedAtMs).toISOString(),
      class: alert.watch,
      ...(labels.project !== null && { group: labels.project }),
      ...(labels.spider !== null && { component: oneLine(labels.spider, SOURCE_MAX) }),
      custom_details: { rule: oneLine(news.ruleName, 200), owner: oneLine(news.owner, 200), value: alert.value, labels }
    },
    ...clientOf(links),
    ...(link !== null && { links: [{ href: link, text: textOf('mail.open_job') }] })
  }
}

const restEvent = (news: AlertNews, dedup_key: string, links: Links): PagerDutyEvent => ({
  event_action: 'trigger',
  dedup_key,
  payload: {
    summary: oneLine(textOf('mail.more_of_rule', { alerts: news.moreFiring, rule: news.ruleName }), SUMMARY_MAX),
    source: 'Scrapdeck',
    severity: news.severity,
    custom_details: { rule: oneLine(news.ruleName, 200), owner: oneLine(news.owner, 200) }
  },
  ...clientOf(links)
})

function clientOf(links: Links) {
  const url = alertsLink(links)
  return { client: 'Scrapdeck', ...(url !== null && { client_url: url }) }
}

/** Sends the events one after another. A retry sends all of them again, and PagerDuty recognizes their keys. */
export const pagerDutySender =
  (post: Post, links: Links, clock: Clock): Sender<'pagerduty'> =>
  async ({ target, news, secret, say }) => {
    const startedMs = clock.monotonicMs()
    const events = pagerDutyEvents(news, links)
    let last: SendResult = { isGood: true, answer: 'nothing to send' }
    for (const [at, event] of events.entries()) {
      if (clock.monotonicMs() - startedMs > TIME_LIMIT_MS)
        return { isGood: false, answer: `${at} of ${events.length} events were sent; the rest follows` }
      const shown = URL.parse(target.url)?.origin ?? ''
      const body = { routing_key: secret, ...event }
      last = await postJson(post, { url: target.url, shown: `${shown}/…`, body, secret, say })
      if (!last.isGood) return last
    }
    return last
  }

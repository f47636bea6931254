import type { AlertLabels, AlertNews, AlertSeverity, AlertView } from '../../../../shared/contract/index.ts'
import { mendOf, rankOf } from '../../../../shared/alert-watches.ts'
import type { Mood } from '../../../../shared/texts/en-mails.ts'
import { type Message, say, textOf, writtenAs } from '../../../../shared/texts/message.ts'
import { utcMinute } from '../../../../shared/texts/parts.ts'
import { showUnseen } from '../../../../shared/unseen.ts'

/** The URL of the app. null: unknown, so messages have no links. */
export interface Links {
  base: string | null
}

const MOOD_SIGNS: Record<Mood, string> = { critical: '🔴', warning: '🟠', info: '🔵', resolved: '🟢', test: '⚪' }
const TITLE_MAX = 200
const INDENTATION_MAX = 24
const TERMINAL = /\u001b\[[0-9;?]*[ -/]*[@-~]/g

export const moodOf = ({ kind, firing, severity }: AlertNews): Mood =>
  kind === 'test' ? 'test' : firing.length > 0 ? severity : 'resolved'

export const wordOf = (mood: Mood): string => textOf('mail.mood', { mood })
export const signOf = (mood: Mood): string => MOOD_SIGNS[mood]

/** One line for display, without control characters. Ends with `…` if the text was longer. */
export function oneLine(text: string, most: number): string {
  // Cuts the text first, because the part that is never shown can be long.
  const shown = text
    .slice(0, most * 4)
    .replaceAll(TERMINAL, '')
    .replaceAll(/\s+/g, ' ')
  return cut(showUnseen(shown.trim()), most)
}

/** Like `oneLine`, but keeps the indentation that makes a traceback readable. */
export function logLine(text: string, most: number): string {
  const indentation = /^[ \t]*/.exec(text)![0]
  const shown = indentation.replaceAll('\t', '    ').slice(0, INDENTATION_MAX)
  const words = oneLine(text.slice(indentation.length), most - shown.length)
  return words === '' ? '' : `${shown}${words}`
}

/** Cuts a text to at most this many UTF-16 units, without half a character at the end. */
export function cut(text: string, most: number): string {
  const whole = text.toWellFormed()
  if (whole.length <= most) return whole
  return `${whole.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

/** The subject of an alert. Never empty, because most services refuse an empty subject. */
export const subjectOf = ({ subject }: AlertView, most: number): string => oneLine(subject, most) || 'Scrapdeck'

export function titleOf(alerts: number, first: Message): Pick<AlertNews, 'title' | 'titleCode' | 'titleParams'> {
  const said = writtenAs('title', alerts === 1 ? first : say('alert.several', { alerts, first }))
  return { ...said, title: cut(said.title, TITLE_MAX) }
}

/** `alerts`: not empty. */
export const worstOf = (alerts: readonly Pick<AlertView, 'severity'>[]): AlertSeverity =>
  alerts.map(({ severity }) => severity).reduce((one, other) => (rankOf(one) >= rankOf(other) ? one : other))

/** `Critical: north is down: connection refused` */
export function headlineOf(news: AlertNews): string {
  return textOf('mail.headline', { mood: moodOf(news), title: oneLine(news.title, TITLE_MAX) })
}

/** In UTC, because most services cannot convert a time to the reader's zone. */
export const timesOf = ({ firedAtMs, resolvedAtMs }: AlertView): string =>
  resolvedAtMs === null
    ? textOf('mail.since', { at: utcMinute(firedAtMs) })
    : textOf('mail.resolved_after', { durationMs: resolvedAtMs - firedAtMs })

export interface Section {
  label: string
  isFiring: boolean
  alerts: AlertView[]
  more: number
}

/**
 * Firing and resolved alerts, without empty sections. If there is a single alert whose text equals the title, its text
 * is omitted.
 */
export function sectionsOf({ title, firing, resolved, moreFiring, moreResolved }: AlertNews): Section[] {
  const isOnly = firing.length + resolved.length + moreFiring + moreResolved === 1
  const shown = (alerts: AlertView[]) =>
    alerts.map((alert) => (isOnly && alert.text === title ? { ...alert, text: '' } : alert))
  return [
    { label: textOf('mail.firing'), isFiring: true, alerts: shown(firing), more: moreFiring },
    { label: textOf('mail.resolved'), isFiring: false, alerts: shown(resolved), more: moreResolved }
  ].filter(({ alerts, more }) => alerts.length + more > 0)
}

/** As many lines as fit into `room`, and a line with the number of omitted alerts. */
export function linesOf({ alerts, more }: Section, room: number, lineOf: (alert: AlertView) => string): string[] {
  const lines: string[] = []
  let length = 0
  for (const alert of alerts) {
    const line = lineOf(alert)
    if (length + line.length + 1 > room) break
    lines.push(line)
    length += line.length + 1
  }
  const left = more + alerts.length - lines.length
  return left > 0 ? [...lines, textOf('mail.and_more', { alerts: left })] : lines
}

/** `Rule: Node down`, `Owner: crawl team`. */
export function factsOf({
  ruleName,
  owner,
  stillFiring,
  kind,
  firing,
  limit
}: AlertNews): [name: string, value: string][] {
  return [
    [textOf('mail_fact.rule'), oneLine(ruleName, 200) || textOf('mail.rule_unnamed')],
    [textOf('mail_fact.owner'), oneLine(owner, 200)],
    [textOf('mail_fact.reminder'), kind === 'repeat' ? textOf('mail.not_acknowledged') : ''],
    [textOf('mail_fact.still_firing'), stillFiring > 0 ? textOf('mail.reported_before', { alerts: stillFiring }) : ''],
    // Explains the silence that follows, which users could otherwise mistake for a quiet system.
    [textOf('mail_fact.limit'), limit ? textOf('mail.held', { all: limit.all, untilMs: limit.heldUntilMs }) : ''],
    [textOf('mail_fact.to_do'), whatToDo(firing)]
  ].filter((fact): fact is [string, string] => fact[1] !== '')
}

/** The advice for all firing alerts. Empty if their watches differ. */
function whatToDo(firing: readonly AlertView[]): string {
  const watches = new Set(firing.map(({ watch }) => watch))
  const [watch] = watches
  return watch === undefined || watches.size > 1 ? '' : (mendOf(watch) ?? '')
}

export const alertsLink = ({ base }: Links): string | null => (base === null ? null : `${base}/#/alerts`)

export function jobLink({ base }: Links, { labels }: { labels: Pick<AlertLabels, 'jobId'> }): string | null {
  return base === null || labels.jobId === null ? null : `${base}/#/job/${encodeURIComponent(labels.jobId)}`
}

import type {
  AlertEvidence,
  AlertFigureHistory,
  AlertLogExcerpt,
  AlertNews,
  AlertView
} from '../../../../shared/contract/index.ts'
import { textOf } from '../../../../shared/texts/message.ts'
import {
  button,
  card,
  chart,
  escapeHtml,
  facts,
  heading,
  listing,
  logLines,
  note,
  paragraph,
  pill,
  sourceLine
} from './email-html.ts'
import { NO_EVIDENCE } from './evidence.ts'
import {
  alertsLink,
  cut,
  factsOf,
  headlineOf,
  jobLink,
  type Links,
  logLine,
  moodOf,
  oneLine,
  type Section,
  sectionsOf,
  timesOf,
  wordOf,
  subjectOf
} from './words.ts'

const SUBJECT_MAX = 200
const NAME_MAX = 200
const TEXT_MAX = 600
const LOG_LINES_MAX = 30
const LOG_LINE_MAX = 300
const BARS_MAX = 48
/**
 * The maximum size of the alerts. Gmail hides everything beyond 102 KB. The other parts of the email take up to a
 * quarter of that.
 */
const ALERTS_MAX_BYTES = 50_000
const LOG_MAX_BYTES = 24_000

/** Renders an email as text and as HTML. Foreign text is escaped, and nothing is loaded from elsewhere. */
export function renderEmail(
  news: AlertNews,
  links: Links,
  evidence: AlertEvidence = NO_EVIDENCE
): { subject: string; html: string; text: string } {
  const subject = cut(textOf('mail.subject', { headline: headlineOf(news) }), SUBJECT_MAX)
  const shown = { log: shownLog(evidence.log), history: shownHistory(evidence.history) }
  return { subject, html: htmlOf(news, links, subject, shown), text: plainOf(news, links, shown) }
}

function shownLog(log: AlertLogExcerpt | null): AlertLogExcerpt | null {
  const lines: string[] = []
  let bytes = 0
  for (const line of (log?.lines ?? []).slice(-LOG_LINES_MAX).toReversed()) {
    const shown = logLine(line, LOG_LINE_MAX)
    bytes += Buffer.byteLength(escapeHtml(shown))
    if (bytes > LOG_MAX_BYTES) break
    lines.unshift(shown)
  }
  if (log === null || lines.length === 0) return null
  return { ...log, subject: oneLine(log.subject, NAME_MAX), lines }
}

function shownHistory(history: AlertFigureHistory | null): AlertFigureHistory | null {
  const bars = (history?.bars ?? []).filter(({ value }) => Number.isFinite(value)).slice(-BARS_MAX)
  return history === null || bars.length < 2 ? null : { ...history, title: oneLine(history.title, NAME_MAX), bars }
}

function htmlOf(news: AlertNews, links: Links, subject: string, { log, history }: AlertEvidence): string {
  const mood = moodOf(news)
  const sections = sectionsOf(news)
  const link = alertsLink(links)
  const room = { bytes: ALERTS_MAX_BYTES }
  const parts = [
    pill(wordOf(mood), mood),
    heading(oneLine(news.title, SUBJECT_MAX)),
    facts(factsOf(news)),
    ...sections.map((section) => sectionHtml(section, sections.length > 1, links, room)),
    ...(history === null ? [] : [paragraph(history.title), chart(history, mood)]),
    ...(log === null ? [] : [logHtml(log, links)]),
    ...(link === null ? [] : [button(link, textOf('mail.open'))])
  ]
  return card({ subject, preview: preview(news), mood, parts })
}

/** If there are several alerts, readers must see which run the log belongs to. */
function logHtml({ subject, jobId, lines }: AlertLogExcerpt, links: Links): string {
  const url = jobLink(links, { labels: { jobId } })
  const source = sourceLine(textOf('mail.job', { jobId }), url === null ? null : { url, text: textOf('mail.open_job') })
  return [paragraph(textOf('mail.log', { subject })), logLines(lines), source].join('')
}

/** The text that mail programs show after the subject in a list of emails. */
const preview = (news: AlertNews): string =>
  sectionsOf(news)
    .map(({ isFiring, alerts, more }) =>
      textOf(isFiring ? 'mail.count_firing' : 'mail.count_resolved', { alerts: alerts.length + more })
    )
    .join(', ')

function sectionHtml(section: Section, isLabelled: boolean, links: Links, room: { bytes: number }): string {
  const { label, isFiring, alerts, more } = section
  const rows: string[] = []
  for (const alert of alerts) {
    const link = jobLink(links, alert)
    const row = listing({
      mood: isFiring ? alert.severity : 'resolved',
      name: escapeHtml(subjectOf(alert, NAME_MAX)),
      text: escapeHtml(oneLine(alert.text, TEXT_MAX)),
      times: timesOf(alert),
      link: link === null ? null : { url: link, text: textOf('mail.open_job') }
    })
    room.bytes -= Buffer.byteLength(row)
    if (room.bytes < 0) break
    rows.push(row)
  }
  const left = more + alerts.length - rows.length
  const title = isLabelled ? paragraph(label) : ''
  return [title, ...rows, left > 0 ? note(textOf('mail.and_more', { alerts: left })) : ''].join('')
}

function plainOf(news: AlertNews, links: Links, { log, history }: AlertEvidence): string {
  const link = alertsLink(links)
  const facts = factsOf(news).map(([name, value]) => `${name}: ${value}`)
  const sections = sectionsOf(news).map(({ label, alerts, more, isFiring }) =>
    [
      `${label}:`,
      ...alerts.map((alert) => lineOf(alert, isFiring, links)),
      ...(more > 0 ? [textOf('mail.and_more', { alerts: more })] : [])
    ].join('\n')
  )
  return [
    headlineOf(news),
    facts.join('\n'),
    ...sections,
    ...(history === null ? [] : [`${history.title}:\n  ${history.caption}\n  ${textOf('mail.from_to', history)}`]),
    ...(log === null
      ? []
      : [
          [
            `${textOf('mail.log_of_job', { subject: log.subject, jobId: log.jobId })}:`,
            ...log.lines.map((line) => `  ${line}`)
          ].join('\n')
        ]),
    ...(link === null ? [] : [link])
  ]
    .filter((part) => part !== '')
    .join('\n\n')
    .concat('\n')
}

function lineOf(alert: AlertView, isFiring: boolean, links: Links): string {
  const link = jobLink(links, alert)
  const text = oneLine(alert.text, TEXT_MAX)
  const severity = isFiring ? `${wordOf(alert.severity)}, ` : ''
  const name = subjectOf(alert, NAME_MAX)
  const lines = [`- ${name} (${severity}${timesOf(alert)})`, ...(text === '' ? [] : [`  ${text}`])]
  return [...lines, ...(link === null ? [] : [`  ${link}`])].join('\n')
}

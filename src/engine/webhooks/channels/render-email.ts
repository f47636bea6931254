import type { AlertNews, AlertView } from '../../../shared/contract/index.ts'
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
  pill
} from './email-html.ts'
import {
  alertsLink,
  cut,
  factsOf,
  headlineOf,
  jobLink,
  type Links,
  moodOf,
  oneLine,
  type Section,
  sectionsOf,
  timesOf,
  wordOf,
  subjectOf
} from './words.ts'

/** What only an e-mail has room for. */
export interface EmailExtra {
  /** The last lines of the run's log. */
  logTail: readonly string[]
  /** The watched figure until now, oldest first. */
  history: readonly number[]
}

const SUBJECT_MAX = 200
const NAME_MAX = 200
const TEXT_MAX = 600
const LOG_LINES_MAX = 30
const LOG_LINE_MAX = 200
const HISTORY_MAX = 60
/** Gmail hides what is beyond 102 KB. The rest of the message has up to half as much. */
const ALERTS_MAX_BYTES = 50_000

/** Both parts of an e-mail. Text of others is escaped, and nothing is loaded from elsewhere. */
export function renderEmail(
  news: AlertNews,
  links: Links,
  extra: EmailExtra = { logTail: [], history: [] }
): { subject: string; html: string; text: string } {
  const subject = cut(`[Scrapdeck] ${headlineOf(news)}`, SUBJECT_MAX)
  const log = extra.logTail.slice(-LOG_LINES_MAX).map((line) => oneLine(line, LOG_LINE_MAX))
  const history = extra.history.filter((value) => Number.isFinite(value)).slice(-HISTORY_MAX)
  return { subject, html: htmlOf(news, links, subject, log, history), text: textOf(news, links, log, history) }
}

function htmlOf(news: AlertNews, links: Links, subject: string, log: string[], history: number[]): string {
  const mood = moodOf(news)
  const sections = sectionsOf(news)
  const link = alertsLink(links)
  const room = { bytes: ALERTS_MAX_BYTES }
  const parts = [
    pill(wordOf(mood), mood),
    heading(oneLine(news.title, SUBJECT_MAX)),
    facts(factsOf(news)),
    ...sections.map((section) => sectionHtml(section, sections.length > 1, links, room)),
    ...(history.length > 1 ? [chart(history, mood, rangeWords(history))] : []),
    ...(log.length > 0 ? [paragraph('Last lines of the log'), logLines(log)] : []),
    ...(link === null ? [] : [button(link, 'Open in Scrapdeck')])
  ]
  return card({ subject, preview: preview(news), mood, parts })
}

/** What lists of messages show behind the subject. */
const preview = (news: AlertNews): string =>
  sectionsOf(news)
    .map(({ label, alerts, more }) => `${alerts.length + more} ${label.toLowerCase()}`)
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
      link: link === null ? null : { url: link, text: 'Open job' }
    })
    room.bytes -= Buffer.byteLength(row)
    if (room.bytes < 0) break
    rows.push(row)
  }
  const left = more + alerts.length - rows.length
  const title = isLabelled ? paragraph(label) : ''
  return [title, ...rows, left > 0 ? note(`and ${left} more`) : ''].join('')
}

function textOf(news: AlertNews, links: Links, log: string[], history: number[]): string {
  const link = alertsLink(links)
  const facts = factsOf(news).map(([name, value]) => `${name}: ${value}`)
  const sections = sectionsOf(news).map(({ label, alerts, more, isFiring }) =>
    [
      `${label}:`,
      ...alerts.map((alert) => lineOf(alert, isFiring, links)),
      ...(more > 0 ? [`and ${more} more`] : [])
    ].join('\n')
  )
  return [
    headlineOf(news),
    facts.join('\n'),
    ...sections,
    ...(history.length > 1 ? [rangeWords(history)] : []),
    ...(log.length > 0 ? [['Last lines of the log:', ...log.map((line) => `  ${line}`)].join('\n')] : []),
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

/** `Last 24 values: 0 to 1,204; now 3` */
function rangeWords(history: readonly number[]): string {
  const words = (value: number) => value.toLocaleString('en-US', { maximumFractionDigits: 2 })
  const range = `${words(Math.min(...history))} to ${words(Math.max(...history))}`
  return `Last ${history.length} values: ${range}; now ${words(history.at(-1)!)}`
}

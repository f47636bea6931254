import type { AlertNews, AlertReport } from '../../../../shared/contract/index.ts'
import type { Mood } from '../../../../shared/texts/en-mails.ts'
import { type Message, plain, render, say, textOf } from '../../../../shared/texts/message.ts'
import { button, card, escapeHtml, facts, heading, listing, paragraph, pill } from './email-html.ts'
import { newsOf } from './message.ts'
import { cut, type Links, oneLine } from './words.ts'

const DAY_MS = 86_400_000
const SUBJECT_MAX = 200
const NAME_MAX = 200
const TEXT_MAX = 300

export function reportIn(body: string): AlertReport | null {
  const { type, data } = JSON.parse(body) as { type?: string; data?: AlertReport }
  return type === 'digest' && data !== undefined ? data : null
}

const sumOf = (runs: AlertReport['runs']): number => Object.values(runs).reduce((sum, ended) => sum + ended, 0)
const badOf = ({ failed, lost }: AlertReport['runs']): number => failed + lost
const nameOf = ({ project, spider }: { project: string; spider: string }): string => `${project}/${spider}`

const titleOf = ({ fromMs, untilMs, runs, newErrors }: AlertReport): Message =>
  say('report.title', {
    isWeekly: untilMs - fromMs > DAY_MS,
    runs: sumOf(runs),
    failed: badOf(runs),
    newErrors: newErrors.count
  })

const moodOfReport = (report: AlertReport): Mood =>
  badOf(report.runs) > 0 || report.newErrors.count > 0 ? 'info' : 'resolved'

/** A one-line summary with the worst severity, for channels that support only alerts. */
export function newsOfReport(report: AlertReport): AlertNews {
  const [slowest] = report.slowest
  const text = say('report.summary', {
    failing: report.failing.slice(0, 3).map((one) => `${nameOf(one)} (${one.failed})`),
    unusual: report.unusual.length,
    slowest: slowest === undefined ? null : nameOf(slowest),
    medianMs: slowest?.medianMs ?? 0,
    down: report.service?.nodesDown.slice(0, 5) ?? []
  })
  const [title, subject] = [titleOf(report), say('report.name')]
  return newsOf('report', { ruleName: '', title, subject, text, value: 0, atMs: report.untilMs })
}

interface Part {
  title: string
  rows: { mood: Mood; name: string; text: string }[]
}

function factsOfReport(report: AlertReport): [name: string, value: string][] {
  const { runs, runsBefore, service, fromMs, untilMs } = report
  const facts: [name: string, value: string][] = [
    [textOf('report_fact.time'), textOf('mail.from_to', { fromMs, untilMs })],
    [textOf('report_fact.runs'), textOf('report.runs', runs)],
    [textOf('report_fact.before'), textOf('report.before', { runs: sumOf(runsBefore), failed: badOf(runsBefore) })]
  ]
  if (service !== null) {
    const { alertsFired: fired, queued: jobs, databaseBytes, logBytes, diskFreePercent: freePercent } = service
    facts.push(
      [textOf('report_fact.alerts'), textOf('report.alerts', { fired })],
      [textOf('report_fact.queue'), textOf('report.queue', { jobs })],
      [textOf('report_fact.storage'), textOf('report.storage', { databaseBytes, logBytes, freePercent })]
    )
  }
  if (!report.isComplete) facts.push([textOf('report_fact.note'), textOf('report.cut')])
  return facts
}

function partsOf({ failing, newErrors, unusual, slowest, service }: AlertReport): Part[] {
  const { count: errors, groups } = newErrors
  return [
    {
      title: textOf('report_part.down'),
      rows: (service?.nodesDown ?? []).map((name) => ({ mood: 'critical' as const, name, text: '' }))
    },
    {
      title: textOf('report_part.failing'),
      rows: failing.map((one) => ({
        mood: 'warning' as const,
        name: nameOf(one),
        text: textOf('report.failing', {
          failed: one.failed,
          runs: one.runs,
          reason: plain(one.reason)
        })
      }))
    },
    {
      title: textOf('report_part.errors', { errors, unlisted: errors > groups.length }),
      rows: groups.map(({ project, title, runs }) => ({
        mood: 'warning' as const,
        name: `${project}: ${title}`,
        text: textOf('report.error', { runs })
      }))
    },
    {
      title: textOf('report_part.unusual'),
      rows: unusual.map((one) => ({ mood: 'info' as const, name: nameOf(one), text: one.text }))
    },
    {
      title: textOf('report_part.slowest'),
      rows: slowest.map((one) => ({
        mood: 'test' as const,
        name: nameOf(one),
        text: textOf('report.slowest', { medianMs: one.medianMs, longestMs: one.longestMs, runs: one.runs })
      }))
    }
  ].filter(({ rows }) => rows.length > 0)
}

export function renderReport(report: AlertReport, links: Links): { subject: string; html: string; text: string } {
  const title = render(titleOf(report))
  const subject = cut(textOf('mail.subject', { headline: title }), SUBJECT_MAX)
  const mood = moodOfReport(report)
  const parts = partsOf(report).map(({ title: part, rows }) => ({
    title: part,
    rows: rows.map((row) => ({ ...row, name: oneLine(row.name, NAME_MAX), text: oneLine(row.text, TEXT_MAX) }))
  }))
  const [about, link] = [factsOfReport(report), links.base === null ? null : `${links.base}/#/alerts`]
  const html = card({
    subject,
    mood,
    preview: about[1]![1],
    parts: [
      ...[pill(textOf('report.name'), mood), heading(title), facts(about)],
      ...parts.flatMap(({ title: part, rows }) => [
        paragraph(part),
        ...rows.map(({ mood: own, name, text }) =>
          listing({ mood: own, name: escapeHtml(name), text: escapeHtml(text), times: '', link: null })
        )
      ]),
      ...(link === null ? [] : [button(link, textOf('mail.open'))])
    ]
  })
  const lines = parts.map(({ title: part, rows }) =>
    [`${part}:`, ...rows.map(({ name, text }) => `- ${name}${text === '' ? '' : `: ${text}`}`)].join('\n')
  )
  const text = [title, about.map(([name, value]) => `${name}: ${value}`).join('\n'), ...lines, link ?? '']
  return { subject, html, text: `${text.filter((one) => one !== '').join('\n\n')}\n` }
}

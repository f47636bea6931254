import type { AlertId, AlertNews, AlertReport, AlertRuleId } from '../../../../shared/contract/index.ts'
import { formatBytes } from '../../../../shared/format-bytes.ts'
import { formatDuration } from '../../../../shared/time.ts'
import { button, card, escapeHtml, facts, heading, listing, paragraph, pill } from './email-html.ts'
import { cut, type Links, type Mood, oneLine, utcTime } from './words.ts'

const DAY_MS = 86_400_000
const SUBJECT_MAX = 200
const NAME_MAX = 200
const TEXT_MAX = 300

/** The report in a recorded message; null: it is about alerts. */
export function reportIn(body: string): AlertReport | null {
  const { type, data } = JSON.parse(body) as { type?: string; data?: AlertReport }
  return type === 'digest' && data !== undefined ? data : null
}

const number = (value: number): string => value.toLocaleString('en-US')
const count = (value: number, one: string, many = `${one}s`): string => `${number(value)} ${value === 1 ? one : many}`
const time = (durationMs: number): string => formatDuration(Math.round(durationMs / 1_000))
const sumOf = (runs: AlertReport['runs']): number => Object.values(runs).reduce((sum, ended) => sum + ended, 0)
const badOf = ({ failed, lost }: AlertReport['runs']): number => failed + lost

function titleOf(report: AlertReport): string {
  const isWeek = report.untilMs - report.fromMs > DAY_MS
  const { runs, newErrors } = report
  const parts = [count(sumOf(runs), 'run'), `${number(badOf(runs))} failed`, count(newErrors.count, 'new error')]
  return `${isWeek ? 'Weekly' : 'Daily'} report: ${parts.join(', ')}`
}

const moodOfReport = (report: AlertReport): Mood =>
  badOf(report.runs) > 0 || report.newErrors.count > 0 ? 'info' : 'resolved'

/** For channels that only support alerts: a one-line summary with its worst severity. */
export function newsOfReport(report: AlertReport): AlertNews {
  const worst = report.failing.slice(0, 3).map(({ project, spider, failed }) => `${project}/${spider} (${failed})`)
  const [slowest] = report.slowest
  const down = report.service?.nodesDown ?? []
  const text = [
    worst.length > 0 ? `Failing: ${worst.join(', ')}` : 'Nothing failed',
    ...(report.unusual.length > 0 ? [`${count(report.unusual.length, 'spider')} unlike usual`] : []),
    ...(slowest === undefined ? [] : [`slowest: ${slowest.project}/${slowest.spider}, ${time(slowest.medianMs)}`]),
    ...(down.length > 0 ? [`down: ${down.slice(0, 5).join(', ')}`] : [])
  ].join('; ')
  const id = 'report'.padEnd(32, '0')
  return {
    ...{ kind: 'report', ruleId: id as AlertRuleId, groupId: id, ruleName: '', owner: '', severity: 'info' },
    ...{ title: titleOf(report), resolved: [], moreFiring: 0, moreResolved: 0, stillFiring: 0 },
    firing: [
      {
        ...{ id: id as AlertId, severity: 'info', watch: 'service_problem', subject: 'Report', text, value: 0 },
        labels: {
          ...{ project: null, spider: null, jobId: null, scheduleId: null, errorGroupId: null, nodeId: null },
          nodeTags: []
        },
        ...{ firedAtMs: report.untilMs, resolvedAtMs: null }
      }
    ]
  }
}

interface Part {
  title: string
  rows: { mood: Mood; name: string; text: string }[]
}

function factsOfReport(report: AlertReport): [name: string, value: string][] {
  const { runs, runsBefore, service, fromMs, untilMs } = report
  const storage = service === null ? [] : [`database ${formatBytes(service.databaseBytes)}`]
  if (service !== null) storage.push(`logs ${formatBytes(service.logBytes)}`)
  if (service !== null && service.diskFreePercent !== null)
    storage.push(`${service.diskFreePercent} % of the disk free`)
  const outcomes = [`${number(runs.succeeded)} succeeded`, `${number(runs.failed)} failed`, `${number(runs.lost)} lost`]
  const unclear = runs.unclear > 0 ? `, ${number(runs.unclear)} unclear` : ''
  return [
    ['Time', `${utcTime(fromMs)} to ${utcTime(untilMs)}`],
    ['Runs', `${outcomes.join(', ')}, ${number(runs.cancelled)} cancelled${unclear}`],
    ['Before', `${count(sumOf(runsBefore), 'run')}, ${number(badOf(runsBefore))} failed or lost`],
    ...(service === null
      ? []
      : [
          ['Alerts', `${number(service.alertsFired)} fired`] as [string, string],
          ['Queue', `${count(service.queued, 'job')} waiting`] as [string, string],
          ['Storage', storage.join(', ')] as [string, string]
        ]),
    ...(report.isComplete ? [] : [['Note', 'there were too many jobs to look at all of them'] as [string, string]])
  ]
}

function partsOf({ failing, newErrors, unusual, slowest, service }: AlertReport): Part[] {
  const nameOf = ({ project, spider }: { project: string; spider: string }) => `${project}/${spider}`
  return [
    {
      title: 'Nodes that are down',
      rows: (service?.nodesDown ?? []).map((name) => ({ mood: 'critical' as const, name, text: '' }))
    },
    {
      title: 'Failing spiders',
      rows: failing.map((one) => ({
        ...{ mood: 'warning' as const, name: nameOf(one) },
        text: `${one.failed} of ${count(one.runs, 'run')}; last: ${one.reason}`
      }))
    },
    {
      title: newErrors.count > newErrors.groups.length ? `New errors (${number(newErrors.count)})` : 'New errors',
      rows: newErrors.groups.map(({ project, title, runs }) => ({
        ...{ mood: 'warning' as const, name: `${project}: ${title}`, text: `in ${count(runs, 'run')}` }
      }))
    },
    {
      title: 'Unlike earlier runs',
      rows: unusual.map((one) => ({ mood: 'info' as const, name: nameOf(one), text: one.text }))
    },
    {
      title: 'Slowest spiders',
      rows: slowest.map((one) => ({
        ...{ mood: 'test' as const, name: nameOf(one) },
        text: `usually ${time(one.medianMs)}, longest ${time(one.longestMs)}, ${count(one.runs, 'run')}`
      }))
    }
  ].filter(({ rows }) => rows.length > 0)
}

/** Both parts of an e-mail. Foreign text is escaped, and nothing is loaded from elsewhere. */
export function renderReport(report: AlertReport, links: Links): { subject: string; html: string; text: string } {
  const title = titleOf(report)
  const subject = cut(`[Scrapdeck] ${title}`, SUBJECT_MAX)
  const mood = moodOfReport(report)
  const parts = partsOf(report).map(({ title: part, rows }) => ({
    title: part,
    rows: rows.map((row) => ({ ...row, name: oneLine(row.name, NAME_MAX), text: oneLine(row.text, TEXT_MAX) }))
  }))
  const [about, link] = [factsOfReport(report), links.base === null ? null : `${links.base}/#/alerts`]
  const html = card({
    ...{ subject, mood, preview: about[1]![1] },
    parts: [
      ...[pill('Report', mood), heading(title), facts(about)],
      ...parts.flatMap(({ title: part, rows }) => [
        paragraph(part),
        ...rows.map(({ mood: own, name, text }) =>
          listing({ mood: own, name: escapeHtml(name), text: escapeHtml(text), times: '', link: null })
        )
      ]),
      ...(link === null ? [] : [button(link, 'Open in Scrapdeck')])
    ]
  })
  const lines = parts.map(({ title: part, rows }) =>
    [`${part}:`, ...rows.map(({ name, text }) => `- ${name}${text === '' ? '' : `: ${text}`}`)].join('\n')
  )
  const text = [title, about.map(([name, value]) => `${name}: ${value}`).join('\n'), ...lines, link ?? '']
  return { subject, html, text: `${text.filter((one) => one !== '').join('\n\n')}\n` }
}

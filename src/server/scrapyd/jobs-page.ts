import type { ProjectName } from '../../shared/contract/index.ts'
import { twoDigits } from '../../shared/time.ts'
import type { ScrapydJobs, ScrapydRun } from '../../engine/api/scrapyd-commands/scrapyd-shapes.ts'
import { fileUrl, formatLocalTime } from './describe-jobs.ts'
import { escapeHtml } from '../html.ts'

const COLUMNS = ['Project', 'Spider', 'Job', 'PID', 'Start', 'Runtime', 'Finish', 'Log', 'Items', 'Cancel'] as const
type Row = Partial<Record<(typeof COLUMNS)[number], string>>

export interface JobsPageOptions {
  /** The path prefix that a proxy removed. Every link starts with it. */
  base: string
  hasLogs: boolean
  hasItems: boolean
  hasCancel: boolean
  nowMs: number
}

/** Scrapyd 1.6's `/jobs` in the format that ScrapydWeb parses (scrapyd-protocol.md, 7.3 and 7.4). */
export function jobsPage(jobs: ScrapydJobs, options: JobsPageOptions): string {
  const columns = COLUMNS.filter(
    (column) => (column !== 'Items' || options.hasItems) && (column !== 'Cancel' || options.hasCancel)
  )
  const base = escapeHtml(options.base)
  const names = ({ project, spider, jobid }: { project: ProjectName; spider: string; jobid: string }): Row => ({
    Project: escapeHtml(project),
    Spider: escapeHtml(spider),
    Job: escapeHtml(jobid)
  })
  const cancel = ({ project, jobid }: { project: ProjectName; jobid: string }): string => `
                <form method="post" onsubmit="return confirm('Are you sure?');" action="${base}/cancel.json">
                <input type="hidden" name="project" value="${escapeHtml(project)}">
                <input type="hidden" name="job" value="${escapeHtml(jobid)}">
                <input type="submit" style="float: left;" value="Cancel">
                </form>
                `
  const link = (text: string, url: string | null) =>
    url === null ? '' : `<a href="${base}${escapeHtml(url)}">${text}</a>`
  const links = (run: ScrapydRun): Row => ({
    Log: link('Log', options.hasLogs ? fileUrl('logs', run, run.logFile) : null),
    Items: link('Items', options.hasItems ? fileUrl('items', run, run.itemsFile) : null)
  })
  const row = (cells: Row) => `            <tr>
${columns.map((column) => `                <td>${cells[column] ?? ''}</td>`).join('\n')}
            </tr>`
  const section = (title: string, rows: Row[]) => `        <tbody>
            <tr>
                <th colspan="${columns.length}">${title}</th>
            </tr>
${rows.map(row).join('\n')}
        </tbody>`
  const sections = [
    section(
      'Pending',
      jobs.pending.map((job) => ({ ...names(job), Cancel: cancel(job) }))
    ),
    section(
      'Running',
      jobs.running.map((job) => ({
        ...names(job),
        PID: job.pid === null ? '' : String(job.pid),
        Start: formatSeconds(job.startedAtMs),
        Runtime: formatRuntime(options.nowMs - (job.startedAtMs ?? options.nowMs)),
        ...links(job),
        Cancel: cancel(job)
      }))
    ),
    section(
      'Finished',
      jobs.finished.map((job) => ({
        ...names(job),
        Start: formatSeconds(job.startedAtMs ?? job.endedAtMs),
        Runtime: formatRuntime(job.endedAtMs - (job.startedAtMs ?? job.endedAtMs)),
        Finish: formatSeconds(job.endedAtMs),
        ...links(job)
      }))
    )
  ]
  return `<!DOCTYPE html>
<html lang="en">
<head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Scrapyd</title>
    <style>
        body { font-family: system-ui, sans-serif; }
        table { border-collapse: collapse; }
        th, td { border-style: solid; border-width: 1px; }
        tbody > tr:first-child { background-color: #eee; }
        th, td { padding: .5rem; }
        td:nth-child(2), td:nth-child(3) { word-break: break-all; }
    </style>
</head>
<body>
    <h1>Jobs</h1>
    <p><a href="./">Go up</a></p>
    <table id="jobs">
        <thead>
            <tr>
${columns.map((column) => `                <th>${column}</th>`).join('\n')}
            </tr>
        </thead>
${sections.join('\n')}
    </table>
</body>
</html>
`
}

function formatSeconds(atMs: number | null): string {
  return formatLocalTime(atMs)?.slice(0, 19) ?? ''
}

/** Formats a duration like Python's timedelta, without microseconds: `0:00:07`, `1 day, 2:03:04`. */
function formatRuntime(durationMs: number): string {
  const seconds = Math.max(0, Math.floor(durationMs / 1000))
  const days = Math.floor(seconds / 86_400)
  const clock = `${Math.floor(seconds / 3600) % 24}:${twoDigits(Math.floor(seconds / 60) % 60)}:${twoDigits(seconds % 60)}`
  return days === 0 ? clock : `${days} ${days === 1 ? 'day' : 'days'}, ${clock}`
}
